package memory_test

import (
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/storetest"
)

func TestConformance(t *testing.T) {
	for _, evidence := range []store.EvidenceKind{store.EvidenceProof, store.EvidenceSession, store.EvidenceNone} {
		t.Run(string(evidence), func(t *testing.T) { storetest.Run(t, storetest.Memory(evidence)) })
	}
}

package memory_test

import (
	"testing"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/storetest"
)

func TestConformance(t *testing.T) {
	for _, evidence := range []store.EvidenceKind{store.EvidenceProof, store.EvidenceSession, store.EvidenceNone} {
		t.Run(string(evidence), func(t *testing.T) {
			e := storetest.Memory(evidence)
			if evidence != store.EvidenceProof {
				// What the evidence is has no say in what the big cases show.
				e.Quick = 10
			}
			storetest.Run(t, e)
		})
	}
}

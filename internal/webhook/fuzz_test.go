package webhook_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/internal/webhook"
)

// What was signed is verified, and nothing else: not another body, id, time or signature.
func FuzzVerify(f *testing.F) {
	key := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	secret, err := webhook.ParseSecret(key)
	if err != nil {
		f.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	f.Add("msg_1", "1800000000", "v1,AAAA v1a,BB v1,", []byte("{}"))
	f.Add("msg.1", "-1", "v1", []byte(nil))
	f.Add("m", "99999999999999999999", strings.Repeat("v1,AA== ", 1000), []byte("x"))
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		h := http.Header{}
		h.Set(webhook.HeaderID, id)
		h.Set(webhook.HeaderTimestamp, timestamp)
		h.Set(webhook.HeaderSignature, signature)
		if _, err := webhook.Verify([]webhook.Secret{secret}, h, body, now, time.Minute); err == nil {
			t.Errorf("a signature that nobody made fits: %q", signature)
		}
		good, err := webhook.Sign([]webhook.Secret{secret}, id, now, body)
		if err != nil {
			return // an id that cannot be signed
		}
		h.Set(webhook.HeaderTimestamp, fmt.Sprint(now.Unix()))
		h.Set(webhook.HeaderSignature, signature+" "+good)
		if got, err := webhook.Verify([]webhook.Secret{secret}, h, body, now, time.Minute); err != nil || got.ID != id {
			t.Errorf("Verify of what was signed = %+v, %v", got, err)
		}
		if _, err := webhook.Verify([]webhook.Secret{secret}, h, append([]byte("x"), body...), now, time.Minute); err == nil {
			t.Error("another body passes")
		}
	})
}

// No error repeats a secret, and none prints itself.
func FuzzParseSecret(f *testing.F) {
	f.Add("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 24)))
	f.Add("whsec_short")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := webhook.ParseSecret(text)
		bare := strings.TrimPrefix(text, "whsec_")
		if len(bare) < 12 {
			return
		}
		if err != nil && strings.Contains(err.Error(), bare) {
			t.Errorf("ParseSecret tells it: %v", err)
		}
		if shown := fmt.Sprintf("%v %+v %#v %s", s, s, s, &s); strings.Contains(shown, bare) {
			t.Errorf("a secret prints as %s", shown)
		}
	})
}

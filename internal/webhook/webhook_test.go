package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/internal/webhook"
)

// The published vector of Standard Webhooks.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime      = 1614265330
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func secret(t *testing.T, text string) webhook.Secret {
	t.Helper()
	s, err := webhook.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestThePublishedVectorIsSignedAndVerified(t *testing.T) {
	t.Parallel()
	for _, text := range []string{vectorSecret, strings.TrimPrefix(vectorSecret, "whsec_")} {
		s := secret(t, text)
		at := time.Unix(vectorTime, 0)
		got, err := webhook.Sign([]webhook.Secret{s}, vectorID, at, []byte(vectorBody))
		if err != nil || got != vectorSignature {
			t.Errorf("Sign = %q, %v; want %q", got, err, vectorSignature)
		}
		h := headers(vectorID, fmt.Sprint(vectorTime), vectorSignature)
		v, err := webhook.Verify([]webhook.Secret{s}, h, []byte(vectorBody), at.Add(time.Minute), 5*time.Minute)
		if err != nil || v.ID != vectorID || !v.At.Equal(at) {
			t.Errorf("Verify = %+v, %v; want it to pass", v, err)
		}
	}
}

func headers(id, timestamp, signature string) http.Header {
	h := http.Header{}
	h.Set(webhook.HeaderID, id)
	h.Set(webhook.HeaderTimestamp, timestamp)
	h.Set(webhook.HeaderSignature, signature)
	return h
}

func TestWhatWasChangedOrIsOldIsRefused(t *testing.T) {
	t.Parallel()
	s := secret(t, vectorSecret)
	other := secret(t, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	at := time.Unix(vectorTime, 0)
	stamp := fmt.Sprint(vectorTime)
	for _, c := range []struct {
		name    string
		secrets []webhook.Secret
		h       http.Header
		body    string
		now     time.Time
		want    error
	}{
		{"another body", []webhook.Secret{s}, headers(vectorID, stamp, vectorSignature), "{}", at, webhook.ErrSignature},
		{"another id", []webhook.Secret{s}, headers("msg_x", stamp, vectorSignature), vectorBody, at, webhook.ErrSignature},
		{"another time", []webhook.Secret{s}, headers(vectorID, fmt.Sprint(vectorTime+1), vectorSignature), vectorBody, at, webhook.ErrSignature},
		{"another secret", []webhook.Secret{other}, headers(vectorID, stamp, vectorSignature), vectorBody, at, webhook.ErrSignature},
		{"another version", []webhook.Secret{s}, headers(vectorID, stamp, "v2"+vectorSignature[2:]), vectorBody, at, webhook.ErrSignature},
		{"too old", []webhook.Secret{s}, headers(vectorID, stamp, vectorSignature), vectorBody, at.Add(6 * time.Minute), webhook.ErrTimestamp},
		{"from the future", []webhook.Secret{s}, headers(vectorID, stamp, vectorSignature), vectorBody, at.Add(-6 * time.Minute), webhook.ErrTimestamp},
		{"no time", []webhook.Secret{s}, headers(vectorID, "soon", vectorSignature), vectorBody, at, webhook.ErrHeaders},
		{"no headers", []webhook.Secret{s}, http.Header{}, vectorBody, at, webhook.ErrHeaders},
		{"an id with a dot", []webhook.Secret{s}, headers("a.b", stamp, vectorSignature), vectorBody, at, webhook.ErrHeaders},
	} {
		if _, err := webhook.Verify(c.secrets, c.h, []byte(c.body), c.now, 5*time.Minute); !errors.Is(err, c.want) {
			t.Errorf("%s: Verify = %v, want %v", c.name, err, c.want)
		}
	}
}

func TestSecretsCanBeRotated(t *testing.T) {
	t.Parallel()
	old, next := secret(t, vectorSecret), secret(t, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	at := time.Unix(vectorTime, 0)
	both, err := webhook.Sign([]webhook.Secret{next, old}, vectorID, at, []byte(vectorBody))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]webhook.Secret{"old": old, "new": next} {
		if _, err := webhook.Verify([]webhook.Secret{s}, headers(vectorID, fmt.Sprint(vectorTime), both), []byte(vectorBody), at, time.Minute); err != nil {
			t.Errorf("a receiver with the %s secret: Verify = %v, want it to pass", name, err)
		}
	}
}

func TestASecretIsCheckedAndNotShown(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "whsec_", "whsec_AAAA", "whsec_!!!", "whsec_" + strings.Repeat("AAAA", 22)} {
		_, err := webhook.ParseSecret(text)
		if !errors.Is(err, webhook.ErrSecret) || text != "" && text != "whsec_" && strings.Contains(err.Error(), strings.TrimPrefix(text, "whsec_")) {
			t.Errorf("ParseSecret(%q) = %v, want ErrSecret without the text", text, err)
		}
	}
	s := secret(t, vectorSecret)
	if text := fmt.Sprintf("%v %+v %#v %s", s, s, s, s); strings.Contains(text, "MfKQ") || strings.Contains(text, "49") {
		t.Errorf("a secret shows itself: %s", text)
	}
	if _, err := webhook.Sign(nil, "id", time.Now(), nil); !errors.Is(err, webhook.ErrSecret) {
		t.Errorf("Sign without a secret = %v, want ErrSecret", err)
	}
	if _, err := webhook.Sign([]webhook.Secret{s}, "a.b", time.Now(), nil); !errors.Is(err, webhook.ErrHeaders) {
		t.Errorf("Sign with a dot in the id = %v, want ErrHeaders", err)
	}
}

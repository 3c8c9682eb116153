package web

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/outlast-go/outlast/kernel"
)

// An address of any kind is a filter that leads back to itself, and asks the kernel for what can be asked, or is ErrInvalid.
func FuzzFilter(f *testing.F) {
	f.Add("state=failed&kind=mail*&label=a%3Db&after=2026-01-31&order=oldest&cursor=x")
	f.Add("state=x&group=y&unique=z")
	f.Add("q=%3Cscript%3E&label=%3D")
	f.Fuzz(func(t *testing.T, query string) {
		v, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		filter := readFilter(v)
		link, err := url.Parse(filter.Link())
		if err != nil || link.Path != "/tasks" || link.Host != "" || link.Fragment != "" {
			t.Fatalf("%q leads to %q, %v", query, filter.Link(), err)
		}
		if again := readFilter(link.Query()); !reflect.DeepEqual(again, filter) {
			t.Errorf("%q reads as %+v, and then as %+v", query, filter, again)
		}
		if _, err := filter.kernel([]string{"mail.send", "mail.check"}); err != nil && !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("%q = %v; want ErrInvalid", query, err)
		}
	})
}

// Rates that are read are written so that they read the same.
func FuzzRates(f *testing.F) {
	f.Add("100/1m0s+10 100/1h")
	f.Add("1/m 0/s +/")
	f.Add("5/-1s")
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := readRates(text)
		if err != nil {
			if !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("readRates(%q) = %v; want ErrInvalid", text, err)
			}
			return
		}
		if again, err := readRates(rateText(rates)); err != nil || !reflect.DeepEqual(again, rates) {
			t.Errorf("readRates(%q) = %v, %v; want %v", rateText(rates), again, err, rates)
		}
	})
}

// A payload of any kind is shown as text, not much longer than the bound, and without what is called a secret or stands as a
// password in a URL.
func FuzzReadable(f *testing.F) {
	const secret = "hunter2hunter2"
	f.Add([]byte(`{"a":[{"x-api-key":"` + secret + `"}]}`))
	f.Add([]byte(`{"url":"https://u:` + secret + `@h/?token=x"}` + "\nbody"))
	f.Add([]byte("see https://u:" + secret + "@h/%zz"))
	f.Add([]byte(strings.Repeat("1\n", 30000)))
	f.Add([]byte{0, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		text := readable(data)
		if !utf8.ValidString(text) || len(text) > 40*len(data)+shownMost+200 {
			t.Errorf("%q is shown in %d bytes", data, len(text))
		}
		password := url.QueryEscape(string(data)) + secret
		for _, given := range []string{`{"my-Token":["` + secret + `"]}`, `["https://u:` + password + `@h/x y"]`, "at ftp://u:" + password + "@h now"} {
			if got := readable([]byte(given)); strings.Contains(got, secret) {
				t.Errorf("%q is shown as %q", given, got)
			}
		}
	})
}

// A cookie that anybody may have made is a notice or none.
func FuzzNotice(f *testing.F) {
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"Text":"Done.","Undo":{"Path":"/x"}}`)))
	f.Add("!")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"Text":7}`)))
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header["Cookie"] = []string{noticeCookie + "=" + value}
		q := &request{r: r}
		if n := q.takeNotice(httptest.NewRecorder()); n != nil && n.Text == "" {
			t.Errorf("%q is a notice of nothing", value)
		}
	})
}

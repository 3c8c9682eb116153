package seal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/seal"
)

const about = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c/args"

func ring(t testing.TB, lines ...string) *seal.Ring {
	t.Helper()
	if len(lines) == 0 {
		lines = []string{seal.NewKey()}
	}
	r, err := seal.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatalf("Parse = %v, want no error", err)
	}
	return r
}

func sealed(t testing.TB, r *seal.Ring, plain []byte) []byte {
	t.Helper()
	text, err := r.Seal(about, plain)
	if err != nil {
		t.Fatalf("Seal = %v, want no error", err)
	}
	return text
}

func TestWhatWasSealedOpens(t *testing.T) {
	t.Parallel()
	r := ring(t)
	big := make([]byte, 5<<20)
	_, _ = rand.Read(big)
	for name, plain := range map[string][]byte{"empty": {}, "short": []byte("hunter2"), "big": big} {
		text := sealed(t, r, plain)
		if len(text) != len(plain)+seal.Overhead || len(plain) > 0 && bytes.Contains(text, plain) {
			t.Errorf("%s: %d bytes for %d, want %d more and nothing in the clear", name, len(text), len(plain), seal.Overhead)
		}
		got, err := r.Open(about, text)
		if err != nil || got == nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: Open = %d bytes, %v, want the %d that were sealed", name, len(got), err, len(plain))
		}
	}
	if a, b := sealed(t, r, []byte("same")), sealed(t, r, []byte("same")); bytes.Equal(a[9:25], b[9:25]) || bytes.Equal(a[25:], b[25:]) {
		t.Error("the same text sealed twice looks the same")
	}
}

func TestEveryChangedBitIsNoticed(t *testing.T) {
	t.Parallel()
	r := ring(t)
	text := sealed(t, r, []byte("attack at dawn"))
	for i := range text {
		for bit := range 8 {
			text[i] ^= 1 << bit
			if got, err := r.Open(about, text); !errors.Is(err, seal.ErrForged) && !errors.Is(err, seal.ErrUnknownKey) || got != nil {
				t.Errorf("byte %d, bit %d: Open = %q, %v, want nothing and an error", i, bit, got, err)
			}
			text[i] ^= 1 << bit
		}
	}
	for n := range text {
		if _, err := r.Open(about, text[:n]); !errors.Is(err, seal.ErrForged) {
			t.Errorf("cut to %d bytes: Open = %v, want ErrForged", n, err)
		}
	}
	if _, err := r.Open(about, append(bytes.Clone(text), 0)); !errors.Is(err, seal.ErrForged) {
		t.Errorf("lengthened: Open = %v, want ErrForged", err)
	}
}

func TestATextOpensInItsOwnPlaceAlone(t *testing.T) {
	t.Parallel()
	r := ring(t)
	text := sealed(t, r, []byte("x"))
	for _, other := range []string{"", about + "x", about[1:], strings.Replace(about, "args", "result", 1), strings.Replace(about, "0197", "0198", 1)} {
		if _, err := r.Open(other, text); !errors.Is(err, seal.ErrForged) {
			t.Errorf("Open as %q = %v, want ErrForged", other, err)
		}
	}
}

func TestTheFirstKeySealsAndAllOpen(t *testing.T) {
	t.Parallel()
	old, recent := seal.NewKey(), seal.NewKey()
	before, after, rid := ring(t, old), ring(t, recent, old), ring(t, recent)
	text, next := sealed(t, before, []byte("x")), sealed(t, after, []byte("x"))
	if got, err := after.Open(about, text); err != nil || string(got) != "x" {
		t.Errorf("Open of the old key's text = %q, %v, want x", got, err)
	}
	if got, err := rid.Open(about, next); err != nil || string(got) != "x" {
		t.Errorf("Open of the new key's text = %q, %v, want x", got, err)
	}
	if !after.Stale(text) || after.Stale(next) || !after.Stale(nil) || before.Stale(text) {
		t.Error("Stale does not tell texts of the first key from others")
	}
	_, err := rid.Open(about, text)
	if !errors.Is(err, seal.ErrUnknownKey) || !strings.Contains(err.Error(), old[:16]) || !strings.Contains(err.Error(), "key file") {
		t.Errorf("Open without the key = %v, want its id and what to do", err)
	}
}

func TestARingNeverShowsItsKeys(t *testing.T) {
	t.Parallel()
	line := seal.NewKey()
	_, code, _ := strings.Cut(line, ":")
	r := ring(t, line)
	_, unknown := ring(t).Open(about, sealed(t, r, nil))
	_, forged := r.Open("elsewhere", sealed(t, r, nil))
	_, twice := seal.Parse(line + "\n" + line)
	_, wrong := seal.Parse("0123456789abcdef:" + code)
	_, bare := seal.Parse(code)
	for _, text := range []string{
		fmt.Sprint(r), fmt.Sprintf("%v %+v %#v %s %q %x %d", r, r, r, r, r, r, r), r.LogValue().String(),
		fmt.Sprint(unknown), fmt.Sprint(forged), fmt.Sprint(twice), fmt.Sprint(wrong), fmt.Sprint(bare),
	} {
		if strings.Contains(text, code) || strings.Contains(text, code[:12]) {
			t.Errorf("%q shows the key", text)
		}
	}
	if !strings.Contains(fmt.Sprint(r), line[:16]) {
		t.Errorf("a ring prints as %v, want the ids of its keys", r)
	}
}

func TestAKeyRingThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	line := seal.NewKey()
	for name, text := range map[string]string{
		"nothing": "", "comments": "# none\n\n", "no id": line[17:], "cut": line[:len(line)-5], "twice": line + "," + line,
		"mistyped": line[:20] + "AAAA" + line[24:], "foreign id": seal.NewKey()[:17] + line[17:], "odd id": "zz" + line[2:],
	} {
		if _, err := seal.Parse(text); !errors.Is(err, seal.ErrKeys) {
			t.Errorf("%s: Parse = %v, want ErrKeys", name, err)
		}
	}
	if _, err := seal.Parse("# fine\n\n" + line + "\nnonsense"); err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("Parse = %v, want the number of the line", err)
	}
}

func TestAKeyFileIsReadWhenStrangersCannot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := seal.FromFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("FromFile without a file = %v, want ErrNotExist", err)
	}
	if err := os.WriteFile(path, []byte(seal.NewFile()+seal.NewKey()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, fine := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o644: false, 0o660: false, 0o604: false, 0o602: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		r, err := seal.FromFile(path)
		if fine && (err != nil || len(r.IDs()) != 2) || !fine && (!errors.Is(err, seal.ErrKeys) || !strings.Contains(err.Error(), "chmod 600")) {
			t.Errorf("mode %o: FromFile = %v, %v", mode, r, err)
		}
	}
	if _, err := seal.FromFile(t.TempDir()); !errors.Is(err, seal.ErrKeys) {
		t.Errorf("FromFile of a folder = %v, want ErrKeys", err)
	}
}

func TestKeysComeFromTheEnvironment(t *testing.T) {
	a, b := seal.NewKey(), seal.NewKey()
	for _, between := range []string{",", " ", "\n", ", "} {
		t.Setenv("OUTLAST_TEST_KEYS", a+between+b)
		if r, err := seal.FromEnv("OUTLAST_TEST_KEYS"); err != nil || len(r.IDs()) != 2 || r.IDs()[0] != a[:16] {
			t.Errorf("FromEnv with %q between = %v, %v, want both, the first one first", between, r, err)
		}
	}
	if _, err := seal.FromEnv("OUTLAST_TEST_NO_KEYS"); !errors.Is(err, seal.ErrKeys) || !strings.Contains(err.Error(), "OUTLAST_TEST_NO_KEYS") {
		t.Errorf("FromEnv of what is not set = %v, want its name", err)
	}
}

func FuzzOpen(f *testing.F) {
	r := ring(f)
	f.Add(about, []byte{})
	f.Add(about, sealed(f, r, nil))
	f.Add("", sealed(f, r, []byte("hello")))
	f.Fuzz(func(t *testing.T, place string, text []byte) {
		got, err := r.Open(place, text)
		if err == nil && (place != about || len(text) != len(got)+seal.Overhead) {
			t.Errorf("Open of %x as %q = %q, want an error", text, place, got)
		}
		again, err := r.Seal(place, text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Open(place, again); err != nil || !bytes.Equal(got, text) {
			t.Errorf("Open of what was sealed = %x, %v, want %x", got, err, text)
		}
	})
}

func BenchmarkSealAndOpen(b *testing.B) {
	r := ring(b)
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			plain := make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := r.Open(about, sealed(b, r, plain)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A key file that cannot be read says where, and shows nothing of a key; one that can gives keys that open what they seal.
func FuzzParse(f *testing.F) {
	good := seal.NewKey()
	f.Add(good, "# a comment\n", ",")
	f.Add(good[:40], "", "\n")
	f.Add("0123456789abcdef:AAAA", "\r\n", " ")
	f.Fuzz(func(t *testing.T, word, before, between string) {
		text := before + word + between + good
		r, err := seal.Parse(text)
		if err != nil {
			if _, code, ok := strings.Cut(word, ":"); ok && len(code) > 12 && strings.Contains(err.Error(), code) || strings.Contains(err.Error(), good[17:]) {
				t.Errorf("Parse shows a key: %v", err)
			}
			if !errors.Is(err, seal.ErrKeys) {
				t.Errorf("Parse = %v; want ErrKeys", err)
			}
			return
		}
		sealed, err := r.Seal("x", []byte(word))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Open("x", sealed); err != nil || string(got) != word {
			t.Errorf("Open = %q, %v", got, err)
		}
		if shown := fmt.Sprintf("%v %+v %#v", r, r, r); strings.Contains(shown, good[17:]) {
			t.Errorf("a ring prints its keys: %s", shown)
		}
	})
}

// Two texts are never sealed under the same key and nonce: salt and nonce are made anew for each, by chance.
func TestNoTwoTextsShareSaltAndNonce(t *testing.T) {
	t.Parallel()
	r := ring(t)
	salts, nonces := map[string]bool{}, map[string]bool{}
	const n = 50_000
	for range n {
		text := sealed(t, r, nil)
		salts[string(text[9:25])] = true
		nonces[string(text[25:37])] = true
	}
	if len(salts) != n || len(nonces) != n {
		t.Errorf("%d texts have %d salts and %d nonces", n, len(salts), len(nonces))
	}
}

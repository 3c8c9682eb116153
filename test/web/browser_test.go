package web_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// browser is a window of Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context // it is the window: chromedp keeps it there
}

// watch runs before every page's own script, and is not bound by the page's policy. It writes down what nobody should see.
const watch = `window.__trouble = [];
addEventListener("securitypolicyviolation", (e) => __trouble.push("the policy has refused " + e.violatedDirective + " " + e.blockedURI + " " + e.sample));
addEventListener("error", (e) => __trouble.push("error: " + e.message));
addEventListener("unhandledrejection", (e) => __trouble.push("rejection: " + e.reason));
for (const name of ["alert", "confirm", "prompt"]) window[name] = (text) => { __trouble.push("a script has called " + name + "(" + text + ")"); };`

// openBrowser starts Chromium. It ends with the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not there: run test/servers/install.sh, or install the package chromium")
	}
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1360, 900), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil { // starts it, without a limit, which would be its end
		t.Fatalf("chromium does not start: %v", err)
	}
	b := &browser{t: t, ctx: ctx}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) run(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("browser: %v; the page says:\n%s", err, b.says())
	}
}

// says is the beginning of what the page shows.
func (b *browser) says() string {
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 1500)`))
	return text
}

// open goes to a page.
func (b *browser) open(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS("main")))
}

// eval runs a script of the test's in the page.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("browser: %s: %v; the page says:\n%s", script, err, b.says())
	}
	return v
}

// until waits for a condition of the page, whatever is loaded meanwhile.
func (b *browser) until(what, script string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for ctx.Err() == nil {
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+script+")"))
		if err == nil && is {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
	b.t.Fatalf("it never came that %s; the page says:\n%s", what, b.says())
}

// quiet fails the test if anything was refused by the policy, thrown, or run that a task carried.
func (b *browser) quiet(where string) {
	b.t.Helper()
	for _, line := range eval[[]string](b, `window.__trouble`) {
		b.t.Errorf("%s: %s", where, line)
	}
	if eval[bool](b, `window.__xss !== undefined`) {
		b.t.Errorf("%s: a script has run that a task carried", where)
	}
}

// setLook sets the size of the window, and whether the system prefers dark.
func (b *browser) setLook(width, height int64, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.run(chromedp.EmulateViewport(width, height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
		b.t.Fatal(err)
	}
}

// shots is where pictures go: nowhere, unless they are asked for.
var shots = os.Getenv("OUTLAST_SCREENSHOTS")

// shoot takes a picture of what is seen, with few colours: small files.
func (b *browser) shoot(name string) {
	b.t.Helper()
	if shots == "" {
		return
	}
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	small := image.NewPaletted(img.Bounds(), palette(img))
	draw.Draw(small, small.Bounds(), img, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shots, name+".png"), out.Bytes(), 0o644); err != nil { //nolint:gosec // a picture for everybody
		b.t.Fatal(err)
	}
}

// palette is the colours that a picture has most of.
func palette(img image.Image) color.Palette {
	count := map[color.RGBA]int{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			c, ok := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			if ok {
				count[c]++
			}
		}
	}
	list := make([]color.RGBA, 0, len(count))
	for c := range count {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b color.RGBA) int { return count[b] - count[a] })
	var p color.Palette
	for _, c := range list {
		if len(p) == 256 {
			break
		}
		if !slices.ContainsFunc(p, func(have color.Color) bool { return near(have, c) }) {
			p = append(p, c)
		}
	}
	return p
}

// near reports whether nobody could tell two colours apart.
func near(a color.Color, b color.RGBA) bool {
	r, g, bl, _ := a.RGBA()
	d := func(x uint32, y uint8) int { return max(int(x>>8)-int(y), int(y)-int(x>>8)) }
	return d(r, b.R)+d(g, b.G)+d(bl, b.B) < 14
}

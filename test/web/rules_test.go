package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/web"
)

// faults are what can be wrong with a page: what the check says, and a script that does it to a good page.
var faults = []struct{ says, plant string }{
	{"no language", `document.documentElement.removeAttribute("lang")`},
	{"a language that is none", `document.documentElement.lang = "english please"`},
	{"no title", `document.title = ""`},
	{"no viewport", `document.querySelector("meta[name=viewport]").remove()`},
	{"no zoom", `document.querySelector("meta[name=viewport]").content = "width=device-width, user-scalable=no"`},
	{"the page is loaded anew by itself", `document.head.insertAdjacentHTML("beforeend", '<meta http-equiv="refresh" content="999">')`},
	{"not exactly one h1", `document.querySelector("h1").remove()`},
	{"not exactly one main", `add("<main></main>")`},
	{"a landmark comes twice", `document.body.insertAdjacentHTML("beforeend", "<header>x</header>")`},
	{"no way past the menu", `document.getElementById("main").id = "other"`},
	{"a heading skips a level", `add("<h4>deep</h4>")`},
	{"an empty heading", `add("<h2></h2>")`},
	{"an id comes twice", `add('<p id="body">x</p>')`},
	{"aria-labelledby names nothing", `add('<section aria-labelledby="nothing">x</section>')`},
	{"aria-describedby names nothing", `add('<p aria-describedby="nothing">x</p>')`},
	{"a tabindex above 0", `add('<p tabindex="3">x</p>')`},
	{"hidden from readers, and has the focus", `add('<p aria-hidden="true"><a href="/">x</a></p>')`},
	{"all is hidden from readers", `document.body.setAttribute("aria-hidden", "true")`},
	{"outside of all landmarks", `document.body.insertAdjacentHTML("beforeend", "<p>lost</p>")`},
	{"a nav without a name", `add("<nav>x</nav>")`},
	{"two navs of one name", `add('<nav aria-label="Pages">x</nav>')`},
	{"two regions of one name", `add('<section aria-label="Twin">x</section><section aria-label="Twin">x</section>')`},
	{"a role that is none", `add('<p role="knob">x</p>')`},
	{"a role without its aria-checked", `add('<p role="switch">x</p>')`},
	{"a control without a role", `add('<button role="none">x</button>')`},
	{"an attribute that is none", `add('<p aria-lable="x">x</p>')`},
	{"a value that is none", `add('<p aria-busy="perhaps">x</p>')`},
	{"has no name", `add("<button></button>")`},
	{"has no name", `add('<a href="/"></a>')`},
	{"has no name", `add("<details><summary></summary>x</details>")`},
	{"has no name", `document.querySelector("dialog").removeAttribute("aria-label")`},
	{"has no label", `add("<input>")`},
	{"has no label", `add("<select><option>x</option></select>")`},
	{"more than one label", `add('<label for="two">a</label><label for="two">b</label><input id="two">')`},
	{"an autocomplete that is none", `add('<label>a <input autocomplete="whatever"></label>')`},
	{"moves or sounds by itself", `add("<marquee>x</marquee>")`},
	{"a picture without a role", `add("<svg></svg>")`},
	{"no alt", `add('<img src="/static/icon.svg">')`},
	{"a frame without a name", `add("<iframe></iframe>")`},
	{"one control in another", `add('<a href="/">x <span></span></a>'), document.querySelector("main a:last-of-type").append(document.createElement("button"))`},
	{"too small to press", `add('<p><button class="tiny">x</button><button class="tiny">y</button></p>'), shrink(".tiny")`},
	{"a link that looks like text", `add('<p>some words and <a class="plain" href="/">a link</a></p>'), document.querySelector(".plain").style.cssText = "text-decoration: none"`},
	{"a table without a caption", `add('<table><thead><tr><th scope="col">x</th></tr></thead></table>')`},
	{"a th without a scope", `add('<table><caption>x</caption><thead><tr><th>x</th></tr></thead></table>')`},
	{"a table without headers", `add("<table><caption>x</caption><tbody><tr><td>x</td></tr></tbody></table>")`},
	{"a column without a name", `add('<table><caption>x</caption><thead><tr><th scope="col"></th></tr></thead></table>')`},
	{"headers that name nothing", `add('<table><caption>x</caption><thead><tr><th scope="col">x</th></tr></thead><tbody><tr><td headers="q9">x</td></tr></tbody></table>')`},
	{"cells in a table of", `add('<table><caption>x</caption><thead><tr><th scope="col">x</th></tr></thead><tbody><tr><td>x</td><td>y</td></tr></tbody></table>')`},
	{"not an li in a list", `add("<ul><p>x</p></ul>")`},
	{"an li in no list", `add("<div><li>x</li></div>")`},
	{"not a dt or dd in a dl", `add("<dl><p>x</p></dl>")`},
	{"a dt or dd in no dl", `add("<div><dd>x</dd></div>")`},
	{"scrolls, and keys cannot", `add('<pre class="long">' + "x".repeat(5000) + "</pre>"), document.querySelector(".long").style.cssText = "overflow: auto; white-space: pre; width: 90px"`},
	{"contrast 1.", `add('<p class="pale">pale</p>'), document.querySelector(".pale").style.cssText = "color: #ccc; background: #fff"`},
	{"contrast in a picture", `add('<figure class="fig"><svg role="img" aria-label="x" viewBox="0 0 9 9"><text class="dim">x</text></svg></figure>'), document.querySelector(".fig").style.background = "#fff", document.querySelector(".dim").style.fill = "#ddd"`},
}

// planting is what the scripts above use.
const planting = `const add = (html) => document.getElementById("body").insertAdjacentHTML("beforeend", html);
const shrink = (q) => document.querySelectorAll(q).forEach((e) => { e.style.cssText = "min-height: 0; height: 10px; width: 10px; padding: 0; margin: 0; font-size: 6px; border: 0"; });`

// The check of accessibility finds each of its faults on a page that has it, and none on the same page without.
func TestEveryRuleCanFail(t *testing.T) {
	w := newWorld(t, engines[0], 200, web.Config{})
	b := openBrowser(t)
	b.open(w.url + "/tasks")
	if found := eval[[]string](b, accessible); len(found) > 0 {
		t.Fatalf("the page has faults before one was planted: %q", found)
	}
	for _, f := range faults {
		b.open(w.url + "/tasks")
		found := eval[[]string](b, fmt.Sprintf("(() => { %s %s; return %s; })()", planting, f.plant, accessible))
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, f.says) }) {
			t.Errorf("%s\nis not found out as %q, but as %q", f.plant, f.says, found)
		}
	}
	for _, rule := range rulesOf(accessible) {
		if !slices.ContainsFunc(faults, func(f struct{ says, plant string }) bool {
			return strings.Contains(f.says, rule) || strings.Contains(rule, f.says)
		}) {
			t.Errorf("nothing shows that the rule %q can fail", rule)
		}
	}
}

// rulesOf lists what a check can say.
func rulesOf(script string) (list []string) {
	for _, part := range strings.Split(script, `say("`)[1:] {
		text, _, _ := strings.Cut(part, `"`)
		if text = strings.TrimRight(text, " :,"); text != "a row of" && text != "" {
			list = append(list, text)
		}
	}
	return list
}

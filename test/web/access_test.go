package web_test

// accessible lists what keeps people from using a page: contrast, names, labels, roles, headings, landmarks, tables, references, sizes. It asks the same
// questions as the rules of axe-core that are serious or critical and can apply here; TestEveryRuleCanFail plants a fault for each. axe-core itself
// looks as well where OUTLAST_AXE names its file: make axe.
const accessible = `(() => {
  const problems = [];
  const say = (rule, e) => problems.push(rule + ": " + (e ? e.outerHTML.slice(0, 140) : ""));
  const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getClientRects().length > 0;
  const all = (q, root = document) => [...root.querySelectorAll(q)];

  // The document
  if (!document.documentElement.lang) say("no language");
  if (!document.title.trim()) say("no title");
  if (all("h1").filter(seen).length !== 1) say("not exactly one h1");
  if (all("main").length !== 1) say("not exactly one main");
  for (const q of ["body > header, [role=banner]", "body > footer, [role=contentinfo]"]) if (all(q).length > 1) say("a landmark comes twice", all(q)[1]);
  const skip = document.querySelector("a.skip");
  if (!skip || !document.getElementById(skip.hash.slice(1))) say("no way past the menu");
  else if (!/^[a-z]{2,3}(-[A-Za-z0-9]+)*$/.test(document.documentElement.lang)) say("a language that is none");
  for (const e of all("body [lang]")) if (!/^[a-z]{2,3}(-[A-Za-z0-9]+)*$/.test(e.lang)) say("a language that is none", e);
  const view = document.querySelector("meta[name=viewport]");
  if (!view) say("no viewport");
  else if (/user-scalable=(no|0)|maximum-scale=[01]\b/.test(view.content.replace(/\s/g, ""))) say("no zoom");
  if (document.querySelector("meta[http-equiv=refresh]")) say("the page is loaded anew by itself");
  let level = 0;
  for (const h of all("main h1, main h2, main h3, main h4")) {
    const n = +h.tagName[1];
    if (n > level + 1) say("a heading skips a level", h);
    if (!h.textContent.trim()) say("an empty heading", h);
    level = n;
  }
  const ids = new Set();
  for (const e of all("[id]")) { if (ids.has(e.id)) say("an id comes twice", e); ids.add(e.id); }
  for (const name of ["aria-labelledby", "aria-describedby"]) for (const e of all("[" + name + "]"))
    for (const id of e.getAttribute(name).split(" ")) if (!document.getElementById(id)) say(name + " names nothing", e);
  for (const e of all("body *")) if (e.tabIndex > 0) say("a tabindex above 0", e);
  const stops = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]";
  for (const e of all("[aria-hidden=true]")) for (const f of [e, ...all(stops, e)]) if (f.matches(stops) && f.tabIndex >= 0) say("hidden from readers, and has the focus", f);
  if (document.body.getAttribute("aria-hidden") === "true") say("all is hidden from readers");
  // All text lies in a landmark.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && seen(e) && !e.closest("header, nav, main, dialog, .skip, script")) say("outside of all landmarks", e);
  }
  const navs = all("nav").map((n) => n.getAttribute("aria-label"));
  if (navs.some((n) => !n)) say("a nav without a name");
  if (new Set(navs).size !== navs.length) say("two navs of one name: " + navs);
  const regions = all("section[aria-label], section[aria-labelledby], [role=region]").map((e) => e.getAttribute("aria-label") || document.getElementById(e.getAttribute("aria-labelledby"))?.textContent.trim());
  if (new Set(regions).size !== regions.length) say("two regions of one name: " + regions);

  // Roles
  const roles = "alert alertdialog banner button cell checkbox columnheader complementary contentinfo definition dialog form grid group heading img link list listitem log main " +
    "menu menubar menuitem meter navigation none note presentation progressbar radio region row rowgroup rowheader search separator status switch tab table tablist tabpanel term textbox timer tooltip tree";
  for (const e of all("[role]")) {
    if (!roles.split(" ").includes(e.getAttribute("role"))) say("a role that is none", e);
    for (const [role, need] of [["checkbox", "aria-checked"], ["switch", "aria-checked"], ["heading", "aria-level"], ["meter", "aria-valuenow"]])
      if (e.getAttribute("role") === role && !e.hasAttribute(need)) say("a role without its " + need, e);
    if (["none", "presentation"].includes(e.getAttribute("role")) && e.matches(stops)) say("a control without a role", e);
  }
  const arias = ["label", "labelledby", "describedby", "hidden", "current", "live", "expanded", "controls", "checked", "level", "valuenow", "valuemin", "valuemax", "valuetext", "sort", "busy", "modal", "disabled", "selected", "pressed", "atomic"];
  const bools = ["hidden", "busy", "modal", "disabled", "atomic"];
  for (const e of all("*")) for (const a of e.attributes) {
    if (!a.name.startsWith("aria-")) continue;
    const n = a.name.slice(5);
    if (!arias.includes(n)) say("an attribute that is none: " + a.name, e);
    else if (bools.includes(n) && !["true", "false"].includes(a.value)) say("a value that is none: " + a.name, e);
    else if (n === "current" && !["page", "step", "location", "date", "time", "true", "false"].includes(a.value)) say("a value that is none: " + a.name, e);
  }

  // Names
  const name = (e) => {
    const by = e.getAttribute("aria-labelledby");
    if (by) return by.split(" ").map((i) => document.getElementById(i)?.textContent ?? "").join(" ").trim();
    if (e.getAttribute("aria-label")) return e.getAttribute("aria-label").trim();
    if (e.labels?.length) return [...e.labels].map((l) => l.textContent).join(" ").trim();
    return (e.textContent || e.title || e.alt || "").trim();
  };
  for (const e of all("a[href], button, summary, [role=region], [role=img], [role=group], section[aria-labelledby], dialog")) if (!name(e)) say("has no name", e);
  for (const e of all("input:not([type=hidden]), select, textarea")) if (!e.labels?.length && !e.getAttribute("aria-label")) say("has no label", e);
  for (const e of all("svg")) if (e.getAttribute("aria-hidden") !== "true" && e.getAttribute("role") !== "img") say("a picture without a role", e);
  for (const e of all("img, input[type=image]")) if (!e.hasAttribute("alt")) say("no alt", e);
  for (const e of all("iframe")) if (!name(e)) say("a frame without a name", e);
  for (const e of all("input, select, textarea")) if (e.labels?.length > 1) say("more than one label", e);
  for (const e of all("[autocomplete]")) if (!["on", "off", "username", "current-password", "email", "name"].includes(e.autocomplete || e.getAttribute("autocomplete"))) say("an autocomplete that is none", e);
  for (const e of all("audio[autoplay], video[autoplay], marquee, blink")) say("moves or sounds by itself", e);
  for (const e of all("button button, a a, a button, button a, summary a, summary button, a input, button input, [role=img] a, [role=img] button")) say("one control in another", e);
  // What is pressed is 24 px large, or has that much room around it. Links in a line of text are as high as it is.
  const inText = (e) => e.matches("a, label a") && !e.matches(".button") && getComputedStyle(e).display.startsWith("inline");
  const targets = all("a[href], button, input:not([type=hidden]), select, textarea, summary").filter((e) => seen(e) && !e.closest(".unseen, .skip"));
  const boxes = targets.map((e) => e.getBoundingClientRect());
  targets.forEach((e, i) => {
    const r = boxes[i];
    if (r.width >= 23.5 && r.height >= 23.5 || inText(e)) return;
    const x = r.left + r.width / 2, y = r.top + r.height / 2;
    if (boxes.some((o, j) => j !== i && Math.hypot(Math.max(o.left - x, 0, x - o.right), Math.max(o.top - y, 0, y - o.bottom)) < 12)) say("too small to press, " + Math.round(r.width) + "×" + Math.round(r.height), e);
  });
  // A link among words differs from them by more than its colour, or by a colour that stands out.
  for (const e of all("main p a[href], main li a[href]")) {
    const own = [...e.parentElement.childNodes].some((n) => n.nodeType === 3 && n.data.trim().length > 2), s = getComputedStyle(e);
    if (own && seen(e) && !s.textDecorationLine.includes("underline") && !s.borderBottomWidth.replace("0px", "") && !e.matches(".button")) say("a link that looks like text", e);
  }

  // Tables and lists
  for (const t of all("table")) {
    if (!t.caption) say("a table without a caption", t);
    for (const h of all("th", t)) if (!h.scope) say("a th without a scope", h);
    for (const c of all("[headers]", t)) for (const id of c.getAttribute("headers").split(" ")) if (!t.querySelector("#" + CSS.escape(id))) say("headers that name nothing", c);
    if (!t.tHead) { say("a table without headers", t); continue; }
    for (const h of all("thead th", t)) if (!h.textContent.trim() && !h.querySelector("[aria-label]")) say("a column without a name", h);
    const n = t.tHead.rows[0].cells.length;
    for (const r of all("tbody tr", t)) if (r.cells.length !== n) say("a row of " + r.cells.length + " cells in a table of " + n, r);
  }
  for (const l of all("ul, ol")) for (const c of l.children) if (c.tagName !== "LI") say("not an li in a list", c);
  for (const l of all("li")) if (!l.parentElement.matches("ul, ol, menu")) say("an li in no list", l);
  for (const l of all("dt, dd")) if (!l.parentElement.matches("dl, dl > div")) say("a dt or dd in no dl", l);
  for (const d of all("dl")) for (const c of d.children) if (!["DT", "DD", "DIV"].includes(c.tagName)) say("not a dt or dd in a dl", c);
  for (const e of all(".scroll, pre")) if (e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0) say("scrolls, and keys cannot", e);

  // Contrast
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "#000"; canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const back = (e) => {
    let stack = [];
    for (let p = e; p; p = p.parentElement) { const c = rgba(getComputedStyle(p).backgroundColor); if (c[3] > 0) stack.push(c); if (c[3] === 1) break; }
    return stack.reverse().reduce((under, c) => over(c, under), [255, 255, 255, 1]);
  };
  const light = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const told = new Set();
  const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (text.nextNode()) {
    const e = text.currentNode.parentElement;
    if (!text.currentNode.data.trim() || !seen(e) || e.closest(".unseen, .skip, script, option, svg")) continue;
    const s = getComputedStyle(e), b = back(e), f = over(rgba(s.color), b), r = ratio(f, b);
    const large = parseFloat(s.fontSize) >= 24 || parseFloat(s.fontSize) >= 18.66 && +s.fontWeight >= 700;
    const key = e.className + s.color + b;
    if (r < (large ? 3 : 4.5) && !told.has(key)) { told.add(key); say("contrast " + r.toFixed(2), e); }
  }
  for (const e of all("svg text")) {
    const box = e.parentElement.querySelector(":scope > rect"), under = box && e.closest("g") ? rgba(getComputedStyle(box).fill) : back(e.closest("figure, .scroll"));
    const r = ratio(rgba(getComputedStyle(e).fill), under);
    const key = "svg" + e.className.baseVal + under;
    if (r < 4.5 && !told.has(key)) { told.add(key); say("contrast in a picture " + r.toFixed(2), e); }
  }
  return problems;
})()`

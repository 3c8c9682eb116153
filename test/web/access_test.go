package web_test

// accessible lists what keeps people from using a page: contrast, names, labels, headings, landmarks, tables, references. It asks the same
// questions as the rules of axe-core that are serious or critical and can apply here.
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
  if (/user-scalable=no|maximum-scale=1/.test(document.querySelector("meta[name=viewport]").content)) say("no zoom");
  let level = 0;
  for (const h of all("main h1, main h2, main h3, main h4")) {
    const n = +h.tagName[1];
    if (n > level + 1) say("a heading skips a level", h);
    level = n;
  }
  const ids = new Set();
  for (const e of all("[id]")) { if (ids.has(e.id)) say("an id comes twice", e); ids.add(e.id); }
  for (const name of ["aria-labelledby", "aria-describedby"]) for (const e of all("[" + name + "]"))
    for (const id of e.getAttribute(name).split(" ")) if (!document.getElementById(id)) say(name + " names nothing", e);
  for (const e of all("body *")) if (e.tabIndex > 0) say("a tabindex above 0", e);
  // All text lies in a landmark.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && seen(e) && !e.closest("header, nav, main, dialog, .skip, script")) say("outside of all landmarks", e);
  }
  const navs = all("nav").map((n) => n.getAttribute("aria-label"));
  if (navs.some((n) => !n)) say("a nav without a name");

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
  for (const e of all("img")) if (!e.hasAttribute("alt")) say("no alt", e);
  for (const e of all("button button, a a, a button, button a")) say("one control in another", e);

  // Tables and lists
  for (const t of all("table")) {
    if (!t.caption) say("a table without a caption", t);
    for (const h of all("th", t)) if (!h.scope) say("a th without a scope", h);
    for (const h of all("thead th", t)) if (!h.textContent.trim() && !h.querySelector("[aria-label]")) say("a column without a name", h);
    const n = t.tHead.rows[0].cells.length;
    for (const r of all("tbody tr", t)) if (r.cells.length !== n) say("a row of " + r.cells.length + " cells in a table of " + n, r);
  }
  for (const l of all("ul, ol")) for (const c of l.children) if (c.tagName !== "LI") say("not an li in a list", c);
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

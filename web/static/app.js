// What makes the dashboard lively. Everything works without it, by links and forms.

const base = document.body.dataset.base;
const path = document.body.dataset.path;
const dialog = document.getElementById("dialog");

// Times go on by themselves.
function coarse(s) {
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

// The clock of this machine may be wrong; the page says what time it was when it was made.
const made = document.body.dataset.now;
const skew = made ? (Date.now() - Date.parse(made)) / 1000 : 0;
function tick() {
  for (const t of document.querySelectorAll("time[datetime]")) {
    const ago = (Date.now() - Date.parse(t.dateTime)) / 1000 - skew;
    if (Number.isNaN(ago)) continue;
    const text = ago < 0 ? (ago > -1 ? "now" : `in ${coarse(-ago)}`) : ago < 1 ? "just now" : `${coarse(ago)} ago`;
    if (t.textContent !== text) t.textContent = text;
  }
}

// Parts of the page that have changed are put in the place of the old ones; what was chosen, open or focused stays so.
function swap(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  for (const part of fresh.querySelectorAll("[data-live]")) {
    const old = document.getElementById(part.id);
    if (!old || same(old, part)) continue;
    const focus = old.contains(document.activeElement) ? trail(document.activeElement, old) : null;
    const chosen = new Set([...old.querySelectorAll("input:checked")].map((i) => i.value));
    const open = new Set([...old.querySelectorAll("details[open] > summary")].map((s) => s.textContent));
    const scrolled = [...old.querySelectorAll(".scroll")].map((s) => s.scrollLeft);
    const node = document.importNode(part, true);
    for (const i of node.querySelectorAll("input[type=checkbox]")) if (chosen.has(i.value)) i.checked = true;
    for (const s of node.querySelectorAll("details > summary")) if (open.has(s.textContent)) s.parentElement.open = true;
    old.replaceWith(node);
    node.querySelectorAll(".scroll").forEach((s, n) => { if (scrolled[n]) s.scrollLeft = scrolled[n]; });
    if (focus) find(node, focus)?.focus({ preventScroll: true });
  }
  // A part that is gone altogether, or new, needs the whole page.
  const names = (root) => [...root.querySelectorAll("[data-live]")].map((p) => p.id).join();
  if (names(fresh) !== names(document.getElementById("body"))) document.getElementById("body").replaceChildren(...document.importNode(fresh.body, true).childNodes);
  dress();
  tick();
}

function same(a, b) {
  const plain = (e) => {
    const c = e.cloneNode(true);
    for (const t of c.querySelectorAll("time")) t.textContent = "";
    for (const d of c.querySelectorAll("details")) d.open = false;
    for (const i of c.querySelectorAll("[data-all]")) i.hidden = true;
    return c.innerHTML;
  };
  return plain(a) === plain(b);
}

// trail tells which element is meant, in a part that will be drawn anew.
function trail(e, root) {
  const tag = e.tagName, name = e.getAttribute("href") || e.getAttribute("aria-label") || e.value || e.textContent;
  const list = [...root.querySelectorAll(tag)].filter((x) => (x.getAttribute("href") || x.getAttribute("aria-label") || x.value || x.textContent) === name);
  return { tag, name, n: list.indexOf(e) };
}

function find(root, { tag, name, n }) {
  return [...root.querySelectorAll(tag)].filter((x) => (x.getAttribute("href") || x.getAttribute("aria-label") || x.value || x.textContent) === name)[n];
}

// The line to the server.
function listen() {
  const sign = document.getElementById("live");
  const say = (word, title) => {
    sign.hidden = false;
    sign.textContent = word;
    sign.title = title;
    sign.className = `live ${word}`;
  };
  if (!document.querySelector("[data-live]")) return;
  let line;
  const start = () => {
    line = new EventSource(`${base}/live?page=${encodeURIComponent(path)}`);
    line.onopen = () => say("live", "This page changes by itself");
    line.onerror = () => say("waiting", "The line to the server is cut; it is tried again");
    line.addEventListener("trouble", (e) => say("waiting", JSON.parse(e.data)));
    line.onmessage = (e) => {
      say("live", "This page changes by itself");
      swap(JSON.parse(e.data));
    };
  };
  const stop = () => line?.close();
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : (stop(), start())));
  addEventListener("pagehide", stop);
  start();
}

// Questions are asked in a dialog.
async function ask(form, button) {
  const data = new URLSearchParams(new FormData(form, button));
  const answer = await fetch(form.action, { method: "POST", body: data, headers: { "Outlast-Go": "tell" } });
  const go = answer.headers.get("Outlast-Go");
  if (go) {
    if (go === location.pathname + location.search) location.reload();
    else location.assign(go);
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const question = page.getElementById("confirm");
  if (!question) {
    const text = page.querySelector("#body .lead")?.textContent ?? "That did not work.";
    const note = document.createElement("section");
    const head = Object.assign(document.createElement("h1"), { textContent: page.querySelector("#body h1")?.textContent ?? "Not done" });
    const line = Object.assign(document.createElement("p"), { textContent: text, className: "lead" });
    const close = Object.assign(document.createElement("button"), { textContent: "Close", className: "quiet" });
    close.dataset.close = "";
    note.append(head, line, close);
    dialog.replaceChildren(note);
  } else {
    dialog.replaceChildren(document.importNode(question, true));
  }
  dialog.setAttribute("aria-label", dialog.querySelector("h1").textContent);
  if (!dialog.open) dialog.showModal();
  (dialog.querySelector("input:not([type=hidden]), textarea, select, button"))?.focus();
}

document.addEventListener("submit", (e) => {
  const form = e.target;
  if (form.method !== "post" || !form.action.endsWith("/do")) return;
  e.preventDefault();
  ask(form, e.submitter);
});

document.addEventListener("click", (e) => {
  const close = e.target.closest("[data-close]");
  if (close && dialog.contains(close)) {
    e.preventDefault();
    dialog.close();
  }
  if (e.target === dialog) dialog.close();
});

// Choosing tasks.
function dress() {
  for (const all of document.querySelectorAll("[data-all]")) all.hidden = false;
  const boxes = [...document.querySelectorAll("td.pick input")];
  const n = boxes.filter((b) => b.checked).length;
  const label = document.getElementById("chosen");
  if (label) label.textContent = n ? `${n} chosen:` : "With the chosen:";
  for (const all of document.querySelectorAll("[data-all]")) {
    all.checked = n > 0 && n === boxes.length;
    all.indeterminate = n > 0 && n < boxes.length;
  }
}

document.addEventListener("change", (e) => {
  if (e.target.matches("[data-all]")) for (const b of document.querySelectorAll("td.pick input")) b.checked = e.target.checked;
  if (e.target.id === "theme") e.target.form.submit();
  dress();
});

// A slash goes to the search.
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !e.target.closest("input, textarea, select") && !dialog.open) {
    e.preventDefault();
    document.getElementById("q").focus();
  }
});

document.documentElement.classList.add("lively");
setInterval(tick, 1000);
dress();
listen();

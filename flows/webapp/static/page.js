// The page: no framework, no build step. Words of pages and articles become text nodes only, never markup.

const $ = (id) => document.getElementById(id);
const views = ["write", "runs", "run", "check"];
let about = { engines: [], endings: [], most_urls: 500 };
let run = null; // { name, shown, stream, said: Map(section -> paragraphs) }
let uploads = []; // { name, file }: what the machine has of the chosen files

// --- small things ---------------------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function linked(text, link) {
  return link ? make("a", { href: link, target: "_blank", rel: "noopener noreferrer nofollow" }, text) : document.createTextNode(text);
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The program behind this page does not answer. Start it again with: wikigenben web");
  }
  const text = await answer.text();
  let found;
  try { found = JSON.parse(text); } catch { found = { error: text }; }
  if (!answer.ok) throw new Error(found.error || `it answered ${answer.status}`);
  return found;
}

const post = (path, value = {}) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });

function problem(error) {
  $("problem").textContent = error ? error.message || String(error) : "";
  $("problem").hidden = !error;
  if (error) $("problem").scrollIntoView({ block: "nearest" });
}

const guarded = (work) => async (...given) => {
  try { problem(null); await work(...given); } catch (error) { problem(error); }
};

function count(n, word) { return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`; }

// --- which view -----------------------------------------------------------------------------------------------------

function show(view) {
  for (const one of views) $(`view-${one}`).hidden = one !== view;
  for (const link of document.querySelectorAll("[data-nav]"))
    link.dataset.nav === view ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
}

const route = guarded(async () => {
  const [where, name] = location.hash.slice(1).split("/", 2);
  leave();
  if (where === "run" && name) await open(decodeURIComponent(name));
  else if (where === "runs") { show("runs"); await list(); }
  else if (where === "check") { show("check"); name ? followCheck(decodeURIComponent(name)) : clearCheck(); await listChecks(); }
  else show("write");
});

function leave() {
  if (run && run.stream) run.stream.close();
  if (checking) checking.close();
  checking = null;
  run = null;
  closeEvidence();
}

// --- asking for an article ------------------------------------------------------------------------------------------

function listFiles() {
  $("chosen").replaceChildren(...uploads.map((one) => make("li", {}, `${one.name} `,
    make("button", { type: "button", "aria-label": `Remove ${one.name}`, onclick: () => { uploads = uploads.filter((u) => u !== one); listFiles(); } }, "remove"))));
}

const addFiles = guarded(async (files) => {
  for (const file of files) {
    if (file.size > about.most_file_bytes)
      throw new Error(`${file.name} has ${Math.ceil(file.size / 2 ** 20)} MiB; a page has at most ${about.most_file_bytes >> 20} MiB.`);
    const kept = await ask(`/api/uploads/${encodeURIComponent(file.name)}`, { method: "PUT", body: file });
    uploads.push({ name: file.name, file: kept.file });
    listFiles();
  }
  $("files").value = "";
});

$("files").addEventListener("change", () => addFiles([...$("files").files]));
for (const kind of ["dragenter", "dragover"])
  $("drop").addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.add("over"); });
$("drop").addEventListener("dragleave", () => $("drop").classList.remove("over"));
$("drop").addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  addFiles([...event.dataTransfer.files]);
});

$("ask").addEventListener("submit", guarded(async (event) => {
  event.preventDefault();
  const urls = $("urls").value.split(/\s+/).filter(Boolean);
  const words = $("words").value.trim();
  const asked = await post("/api/runs", {
    title: $("title").value, urls, files: uploads.map((one) => one.file), search: $("search").value,
    as_of: $("as-of").value, words: words === "" ? null : Number(words), about: $("about").value,
  });
  go(asked.name);
}));

function go(name) {
  const hash = `#run/${encodeURIComponent(name)}`;
  if (location.hash === hash) route(); else location.hash = hash;
}

function fill(asked, focused = "urls") {
  $("title").value = asked.title;
  $("urls").value = asked.urls.join("\n");
  $("search").value = asked.search;
  $("as-of").value = asked.as_of;
  $("words").value = asked.words ?? "";
  $("about").value = asked.about ?? "";
  uploads = asked.files.map((file) => ({ name: file.replace(/^[0-9a-f]{16}-/, ""), file }));
  listFiles();
  // Behind the page's own listener, which shows the form.
  window.addEventListener("hashchange", () => $(focused).focus(), { once: true });
  location.hash = "#";
}

async function list() {
  const runs = await ask("/api/runs");
  const items = runs.map((one) => make("li", {}, make("a", { href: `#run/${encodeURIComponent(one.name)}`, dir: "auto" }, one.title),
    make("span", { class: "meta" }, ` ${one.state}${one.words ? `, ${count(one.words, "word")}` : ""}, ${new Date(one.at * 1000).toLocaleString()}`)));
  $("runs").replaceChildren(...(items.length ? items : [make("li", {}, "None yet.")]));
}

// --- one article ----------------------------------------------------------------------------------------------------

async function open(name) {
  show("run");
  const shown = await ask(`/api/runs/${encodeURIComponent(name)}`);
  run = { name, shown, stream: null, pages: new Map(), headings: shown.outline || [], sections: new Map(), fresh: null, notes: [],
    card: shown.card || "", verdicts: new Map(), noted: shown.noted || [], dropped: shown.noted_not || [] };
  for (const one of shown.about || []) run.verdicts.set(one.n, one.verdict);
  for (const [n, paragraphs] of Object.entries(shown.sections || {})) run.sections.set(Number(n), paragraphs);
  $("run-heading").textContent = shown.title || name;
  document.title = `${shown.title || name} – Wiki-GenBen`;
  if (shown.pages) takePages(shown.pages); else { $("pages").replaceChildren(); $("pages-fold").hidden = true; }
  drawRead();
  state(shown.state, shown.why);
  listNotes(shown.notes || []);
  $("changes-fold").hidden = !(shown.changes || []).length;
  $("changes").replaceChildren(...(shown.changes || []).map((one) => make("li", { dir: "auto" }, one)));
  draw();
  if (shown.state === "queued" || shown.state === "running") follow(name);
}

function follow(name) {
  const stream = new EventSource(`/api/runs/${encodeURIComponent(name)}/events`);
  run.stream = stream;
  stream.addEventListener("message", (event) => { if (run && run.name === name) take(JSON.parse(event.data)); });
  stream.addEventListener("over", () => { stream.close(); if (run && run.name === name) open(name).catch(problem); });
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) problem(new Error("The connection was lost. Load the page again."));
    else if (run) $("state").textContent = "The program does not answer; trying again …";
  });
}

function take(event) {
  switch (event.kind) {
    case "queued": state("queued", `number ${event.place} in the queue`); break;
    case "begun": run.pages.clear(); state("running", "getting ready"); break;
    case "note": listNotes([...run.notes, event.text]); if (!run.headings.length) state("running", event.text); break;
    case "fetched": run.pages.set(event.url, event); drawFetched(); state("running", "collecting pages"); break;
    case "pages": takePages(event.pages); state("running", "reading"); break;
    case "card": run.card = event.text; drawRead(); state("running", "looking which pages are about it"); break;
    case "about": for (const one of event.pages) run.verdicts.set(one.n, one.verdict); if (run.listed) takePages(run.listed); state("running", "taking notes"); break;
    case "noted": run.noted.push(...event.notes); drawRead(); state("running", `taking notes, ${run.noted.length} so far`); break;
    case "outline": run.headings = event.headings; $("run-heading").textContent = event.title; draw(); state("running"); break;
    case "said": {
      const paragraphs = run.sections.get(event.section) || [[]];
      paragraphs[paragraphs.length - 1].push(...event.sentences);
      run.sections.set(event.section, paragraphs);
      run.fresh = event.sentences.map((one) => one.text);
      draw();
      break;
    }
    case "section": run.sections.set(event.section, event.paragraphs); run.done = (run.done || new Set()).add(event.section); draw(); state("running"); break;
    case "ended": state(event.status, event.why); break;
  }
}

function listNotes(notes) {
  run.notes = notes;
  $("notes-fold").hidden = !notes.length;
  $("notes").replaceChildren(...notes.map((one) => make("li", { dir: "auto" }, one)));
}

const STATES = { queued: "Waiting", running: "Writing", done: "Done", failed: "Failed", stopped: "Stopped" };

function state(now, why = "") {
  run.shown.state = now;
  const sections = run.headings.length, done = run.done ? [...run.done].filter((n) => n > 0).length : 0;
  const far = now === "running" && sections ? `section ${Math.min(done + 1, sections)} of ${sections}` : "";
  const doing = now === "running" && run.shown.do === "update" ? "Looking for news" : STATES[now] || now;
  $("state").textContent = [doing, why || far].filter(Boolean).join(": ");
  $("bar").hidden = now !== "running";
  if (sections) { $("bar").max = sections; $("bar").value = done; } else $("bar").removeAttribute("value");
  actions();
}

function actions() {
  const { name, shown } = run, at = `/api/runs/${encodeURIComponent(name)}`;
  const button = (text, work) => make("button", { type: "button", onclick: guarded(work) }, text);
  const found = [];
  if (["queued", "running"].includes(shown.state)) found.push(button("Stop", () => post(`${at}/stop`)));
  if (["stopped", "failed"].includes(shown.state) && !shown.article) found.push(button("Go on", async () => { await post(`${at}/go-on`); await open(name); }));
  if (shown.asked) found.push(button("Ask again with other pages", () => fill(shown.asked)));
  if (shown.article) {
    found.push(button("Look for news", async () => go((await post(`${at}/update`)).name)));
    found.push(button("Check its citations", async () => { location.hash = `#check/${encodeURIComponent((await post("/api/checks", { run: name })).name)}`; }));
    const correcting = document.body.classList.contains("correcting");
    found.push(make("button", { type: "button", id: "correct", "aria-pressed": String(correcting), onclick: (event) => {
      event.currentTarget.setAttribute("aria-pressed", String(document.body.classList.toggle("correcting")));
    } }, "Correct sentences"));
    const take = make("span", { class: "take" }, "Take it away:");
    for (const [form, label] of [["html", "HTML"], ["md", "Markdown"], ["wiki", "wikitext"], ["json", "JSON"], ["zip", "bundle"], ["dossier", "dossier for editors"],
      ["dossier-wiki", "dossier as wikitext"]])
      take.append(make("a", { href: `${at}/download/${form}`, download: true }, label));
    found.push(take);
  }
  $("actions").replaceChildren(...found);
}

// --- the text -------------------------------------------------------------------------------------------------------

function draw() {
  run.numbers = run.shown.article ? run.shown.article.numbers : numbered();
  const { shown } = run, article = shown.article, focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
  const parts = [];
  $("notice").hidden = !article;
  if (article) {
    $("notice").textContent = `Machine-written draft. ${article.notice}${article.warning ? ` Look at the pages: ${article.warning}` : ""}`;
    $("run-heading").textContent = article.title;
    const [lead, ...sections] = article.sections;
    if (article.infobox.length)
      parts.push(make("table", { class: "infobox" }, make("caption", {}, "Key facts"), make("tbody", {}, ...article.infobox.map((row) =>
        make("tr", {}, make("th", { scope: "row" }, row.label), make("td", { dir: "auto" }, row.value, ...cites(row.cites)))))));
    parts.push(...paragraphs(lead.paragraphs, "0"));
    sections.forEach((section, n) => parts.push(make("h2", { dir: "auto" }, section.heading), ...paragraphs(section.paragraphs, `${n + 1}`)));
    if (article.disagreements.length)
      parts.push(make("h2", {}, "Sources disagree"), make("ul", {}, ...article.disagreements.map((one) => make("li", {}, one))));
    parts.push(make("h2", {}, "Sources"), make("ul", { class: "sources" }, ...article.sources.map((source) =>
      make("li", {}, linked(source.title, source.link), make("span", { class: "meta" },
        ` ${[source.host, source.published.slice(0, 10), source.rating].filter(Boolean).join(", ")} `), ...cites(source.cites, source.title)))));
    $("left-fold").hidden = !article.left_out.length;
    $("left").replaceChildren(...article.left_out.map((one) => make("li", { dir: "auto" }, one)));
  } else {
    $("left-fold").hidden = true;
    if (run.sections.has(0)) parts.push(...paragraphs(run.sections.get(0), "0"));
    run.headings.forEach((heading, n) => {
      const written = run.sections.get(n + 1);
      parts.push(make("h2", { dir: "auto" }, heading), ...(written ? paragraphs(written, `${n + 1}`) : [make("p", { class: "waiting" }, "not written yet")]));
    });
  }
  $("article").replaceChildren(...parts);
  if (focused) { const again = document.querySelector(`[data-key="${CSS.escape(focused)}"]`); if (again) again.focus(); }
}

// While it is written: in the order of the text, as the article will be numbered.
function numbered() {
  const found = {};
  for (const n of [...run.sections.keys()].sort((a, b) => a - b))
    for (const one of run.sections.get(n).flat()) for (const cite of one.cites) found[cite] ??= Object.keys(found).length + 1;
  return found;
}

function paragraphs(found, where) {
  return found.filter((one) => one.length).map((sentences, p) =>
    make("p", { dir: "auto" }, ...sentences.flatMap((one, s) => [sentence(one, `${where}.${p}.${s}`), " "])));
}

function sentence(one, key) {
  const kind = ["s", one.state || "", run.fresh && run.fresh.includes(one.text) ? "fresh" : ""].filter(Boolean).join(" ");
  // The number stays on the line of the last word.
  const at = one.text.lastIndexOf(" ") + 1;
  const element = make("span", { class: kind }, make("span", { class: "words" }, one.text.slice(0, at)),
    make("span", { class: "end" }, make("span", { class: "words" }, one.text.slice(at)), ...cites(one.cites, "", key)),
    one.unsupported ? make("span", { class: "doubt" }, " [unsupported]") : null);
  if (run.shown.article) {
    const tools = make("span", { class: "tools" });
    const tool = (text, work, name) => make("button", { type: "button", "data-key": `${key}.${name}`, "aria-label": `${text}: ${one.text.slice(0, 60)}`, onclick: guarded(work) }, text);
    if (one.state) tools.append(tool("restore", () => correct(one.own, one.own), "restore"));
    if (one.state !== "struck") tools.append(tool("strike", () => correct(one.own, ""), "strike"), tool("reword", () => reword(one), "reword"));
    element.append(tools);
  }
  return element;
}

function cites(ids, label = "", key = "") {
  return ids.map((cite) => make("button", { type: "button", class: "cite", "data-cite": cite, "data-key": `${key}.cite.${cite}`,
    "aria-label": `Evidence ${run.numbers[cite] ?? ""} ${label ? `from ${label}` : "of this sentence"}`,
    onclick: guarded((event) => evidence(cite, event.currentTarget)) }, `[${run.numbers[cite] ?? "?"}]`));
}

async function correct(text, now) {
  run.shown.article = await post(`/api/runs/${encodeURIComponent(run.name)}/corrections`, { text, now });
  draw();
}

function reword(one) {
  const dialog = $("edit");
  $("edit-text").value = one.text;
  dialog.returnValue = "";
  dialog.showModal();
  dialog.addEventListener("close", guarded(async () => {
    const now = $("edit-text").value.trim();
    if (dialog.returnValue === "keep" && now && now !== one.text) await correct(one.own, now);
  }), { once: true });
}

// --- evidence -------------------------------------------------------------------------------------------------------

let opener = null;

async function evidence(cite, from) {
  const found = await ask(`/api/runs/${encodeURIComponent(run.name)}/passages/${encodeURIComponent(cite)}`);
  for (const other of document.querySelectorAll(".s.active")) other.classList.remove("active");
  const sentence = from.closest(".s");
  if (sentence) sentence.classList.add("active");
  opener = from;
  $("evidence-heading").replaceChildren(linked(found.title, found.link));
  $("evidence-meta").textContent = [found.host, found.published ? `published ${found.published.slice(0, 10)}` : "undated",
    found.retrieved ? `retrieved ${found.retrieved}` : ""].filter(Boolean).join(", ");
  $("evidence-warning").hidden = !found.warnings.length;
  $("evidence-warning").textContent = found.warnings.join(" ");
  const marks = marked(found.passage, sentence ? [...sentence.querySelectorAll(".words")].map((one) => one.textContent).join("") : "");
  $("evidence-text").replaceChildren(found.before, ...marks, found.after);
  $("evidence").hidden = false;
  $("evidence").focus({ preventScroll: true });
  const mark = marks.find((one) => one.className === "same") || marks[0];
  const box = $("evidence-text");
  // by what is on the screen: what an offset counts from depends on the layout
  box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - Math.min(40, box.clientHeight / 5);
  if (sentence) uncover(sentence);
}

// The passage, and in it the sentence that has most words of the article's sentence, where it has half of them.
function marked(passage, text) {
  const words = (one) => new Set(one.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []);
  const asked = words(text);
  const parts = [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(passage)].map((one) => one.segment);
  const shares = parts.map((part) => { const has = words(part); return [...asked].filter((word) => has.has(word)).length / (asked.size || 1); });
  const best = Math.max(...shares, 0);
  const at = best >= 0.5 ? shares.indexOf(best) : -1;
  return parts.map((part, n) => make("mark", n === at ? { class: "same" } : {}, part));
}

// On a phone the evidence lies over the lower part of the text: the sentence moves above it.
function uncover(sentence) {
  const box = sentence.getBoundingClientRect(), sheet = $("evidence").getBoundingClientRect();
  if (sheet.left <= 0 && box.bottom > sheet.top - 12) scrollBy(0, Math.min(box.bottom - sheet.top + 24, box.top - 12));
}

function closeEvidence() {
  $("evidence").hidden = true;
  for (const one of document.querySelectorAll(".s.active")) one.classList.remove("active");
  if (opener && opener.isConnected) opener.focus();
  opener = null;
}

$("evidence-close").addEventListener("click", closeEvidence);
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !$("evidence").hidden) closeEvidence(); });

// --- pages ----------------------------------------------------------------------------------------------------------

// What the model made of the pages: words of pages, so text nodes only.
function drawRead() {
  $("read-fold").hidden = !run.card;
  $("card").textContent = run.card;
  $("read-summary").textContent = run.noted.length ? `What was noted: ${count(run.noted.length, "fact")}` : "What was noted";
  $("not-that").hidden = !run.shown.asked;
  $("read").replaceChildren(...run.noted.map((one) => make("li", { dir: "auto" }, one.text, " ", ...one.cites.map((cite) =>
    make("button", { type: "button", class: "cite", "aria-label": `Passage of: ${one.text.slice(0, 60)}`, onclick: guarded((event) => evidence(cite, event.currentTarget)) }, "passage")))));
  $("not-noted-fold").hidden = !run.dropped.length;
  $("not-noted").replaceChildren(...run.dropped.map((one) => make("li", { dir: "auto" }, one)));
}

$("not-that").addEventListener("click", () => {
  $("more").open = true;
  fill(run.shown.asked, "about");
});

function takePages(pages) {
  run.listed = pages;
  const kept = pages.filter((page) => !page.reason), dropped = pages.filter((page) => page.reason);
  $("pages-summary").textContent = `${kept.length} of ${count(pages.length, "page")} kept`;
  $("pages").replaceChildren(
    ...kept.map((page) => make("li", { class: "kept", dir: "auto" }, linked(page.title, page.link), make("span", { class: "meta" }, ` ${[page.host, page.published.slice(0, 10), count(page.words, "word"), run.verdicts.get(page.n)].filter(Boolean).join(", ")}`))),
    ...dropped.map((page) => make("li", { class: "dropped", dir: "auto" }, linked(page.title, page.link), ` – not used: ${page.reason}${page.detail ? ` (${page.detail})` : ""}`)));
  $("pages-fold").hidden = false;
}

function drawFetched() {
  const found = [...run.pages.values()];
  $("pages-summary").textContent = `${count(found.length, "page")} fetched`;
  $("pages").replaceChildren(...found.map((one) => make("li", { class: one.reason ? "dropped" : "kept" }, one.url, one.reason ? ` – ${one.reason}: ${one.detail}` : " – here")));
  $("pages-fold").hidden = false;
}

// --- checking -------------------------------------------------------------------------------------------------------

$("check").addEventListener("submit", guarded(async (event) => {
  event.preventDefault();
  const file = $("check-file").files[0];
  const asked = { article: $("check-text").value, file: "" };
  if (file) asked.file = (await ask(`/api/check-uploads/${encodeURIComponent(file.name)}`, { method: "PUT", body: file })).file;
  const { name } = await post("/api/checks", asked);
  location.hash = `#check/${encodeURIComponent(name)}`;
}));

let checking = null; // the stream of the check that is shown

function clearCheck() {
  if (checking) checking.close();
  checking = null;
  $("check-state").textContent = "";
  $("check-stop").hidden = $("check-filter").hidden = true;
  $("check-result").replaceChildren();
}

async function listChecks() {
  const found = await ask("/api/checks");
  $("checks-fold").hidden = !found.length;
  $("checks").replaceChildren(...found.map((one) => make("li", {}, make("a", { href: `#check/${encodeURIComponent(one.name)}`, dir: "auto" }, one.title || "An article"),
    make("span", { class: "meta" }, ` ${one.summary}, ${new Date(one.at * 1000).toLocaleString()}`))));
}

function followCheck(name) {
  clearCheck();
  const stream = new EventSource(`/api/checks/${encodeURIComponent(name)}/events`);
  checking = stream;
  $("check-stop").hidden = false;
  $("check-stop").onclick = guarded(() => post(`/api/checks/${encodeURIComponent(name)}/stop`));
  stream.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    if (told.kind === "queued") $("check-state").textContent = `Waiting: number ${told.place} in the queue`;
    if (told.kind === "begun") $("check-state").textContent = "Reading the article";
    if (told.kind === "checked") $("check-state").textContent = `${told.what}: ${told.n} of ${told.of}`;
    if (told.kind === "ended") $("check-state").textContent = `${STATES[told.status] || told.status}: ${told.why}`;
  });
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) problem(new Error("The connection was lost. Load the page again."));
    else $("check-state").textContent = "The program does not answer; trying again …";
  });
  stream.addEventListener("over", guarded(async () => {
    stream.close();
    if (checking !== stream) return;
    $("check-stop").hidden = true;
    const report = await ask(`/api/checks/${encodeURIComponent(name)}`);
    if (!report.statements) { $("check-state").textContent = report.why || "Nothing was checked."; return; }
    $("check-state").textContent = `${report.title ? `${report.title}. ` : ""}${report.summary}`;
    drawCheck(report, name, report.counts.length > 1 ? "look" : "all");
    await listChecks();
  }));
}

const FILES = { html: "The report as a page", csv: "As a table", list: "A list to paste, in wikitext", marked: "The article with templates at their places" };

function downloadsOf(report, name) {
  const links = report.files.map((kind) => make("a", { href: `/api/checks/${encodeURIComponent(name)}/download/${kind}`, download: true }, FILES[kind]));
  return make("p", {}, ...links.flatMap((link, n) => (n ? [" · ", link] : [link])));
}

// What is other than in the check before, "" where there was none.
function changesOf(report) {
  if (!report.since) return "";
  if (!report.changes.length) return make("p", {}, `Nothing changed since ${report.since}.`);
  return make("details", {}, make("summary", {}, `${count(report.changes.length, "change")} since ${report.since}`),
    make("ul", {}, ...report.changes.map((one) => make("li", {}, make("strong", {}, `${one.before} → ${one.after}. `), make("span", { dir: "auto" }, one.text)))));
}

// The sentence that supports a statement, with what stands around it folded.
function passageOf(one) {
  if (!one.passage) return null;
  if (!one.sentence) return make("details", {}, make("summary", {}, "The nearest passage of the page"), make("blockquote", { dir: "auto" }, one.passage));
  return make("div", {}, make("blockquote", { dir: "auto" }, make("mark", {}, one.sentence)),
    one.sentence === one.passage ? null : make("details", {}, make("summary", {}, "Around it"), make("blockquote", { dir: "auto" }, one.passage)));
}

// `shown` is "all", "look" (what a person should look at), or a verdict.
function drawCheck(report, name, shown) {
  const fine = (one) => one.verdict === "supported" && !one.remark;
  const wanted = report.statements.filter((one) => shown === "all" || (shown === "look" ? !fine(one) : one.verdict === shown));
  const choices = [["all", "All", report.statements.length], ["look", "To look at", report.statements.filter((one) => !fine(one)).length],
    ...report.counts.map((one) => [one.verdict, one.label, one.n])];
  $("check-filter").hidden = false;
  $("check-filter").replaceChildren(...choices.map(([key, label, n]) => make("button", { type: "button", "data-show": key, "aria-pressed": String(key === shown),
    onclick: () => { drawCheck(report, name, key); $("check-filter").querySelector(`[data-show="${key}"]`).focus(); } }, `${label} ${n.toLocaleString("en")}`)));
  const parts = [];
  let section = "";
  for (const one of wanted) {
    if (one.section !== section) { section = one.section; if (section) parts.push(make("h2", { dir: "auto" }, section)); }
    parts.push(make("div", { class: `finding ${one.verdict}` },
      make("p", { dir: "auto" }, make("span", { class: "verdict" }, one.language ? `Not judged: ${one.language}` : one.label), ` ${one.text}`),
      one.remark ? make("p", { class: "remark" }, `To look at: ${one.remark}`) : null,
      ...one.cited.map((page) => make("p", { class: "meta" }, linked(page.title || page.url || "no page", page.link),
        [page.published, page.note].filter(Boolean).map((part) => ` – ${part}`).join(""))),
      passageOf(one)));
  }
  $("check-result").replaceChildren(downloadsOf(report, name), changesOf(report),
    ...(parts.length ? parts : [make("p", {}, "None.")]));
}

// --- begin ----------------------------------------------------------------------------------------------------------

window.addEventListener("hashchange", () => { route(); $("main").focus(); });
guarded(async () => {
  about = await ask("/api/about");
  $("files").accept = about.endings.join(",");
  for (const engine of about.engines) $("search").append(make("option", { value: engine }, engine));
  $("engines-row").hidden = !about.engines.length;
  $("no-engines").hidden = about.engines.length > 0;
})();
route();

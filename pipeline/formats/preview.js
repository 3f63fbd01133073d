// Opens the evidence of a citation beside the article. Without scripts the same links lead to the list of sources.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("evidence-data").textContent);
  const panel = document.getElementById("panel");
  const part = (name) => panel.querySelector(`[data-part="${name}"]`);
  const cites = [...document.querySelectorAll("a.cite")];
  let current = -1;

  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };

  // Blocks of the page's text, with the cited passage marked, in it the sentence itself where the page has the same words,
  // and more faintly what other citations point to.
  function fill(box, text, passage, sentence, others) {
    const found = text.indexOf(sentence, passage[0]);
    const same = sentence && found >= 0 && found + sentence.length <= passage[1] ? [found, found + sentence.length] : [0, 0];
    const paragraphs = [];
    let at = 0;
    for (const line of text.split("\n")) {
      const end = at + line.length;
      const edges = new Set([at, end]);
      for (const [a, b] of [passage, same, ...others]) for (const x of [a, b]) if (x > at && x < end) edges.add(x);
      const sorted = [...edges].sort((a, b) => a - b);
      const paragraph = element("p");
      for (let i = 0; i + 1 < sorted.length; i++) {
        const inside = ([a, b]) => a <= sorted[i] && sorted[i + 1] <= b;
        const words = text.slice(sorted[i], sorted[i + 1]);
        if (inside(same)) paragraph.append(element("mark", "same", words));
        else if (inside(passage)) paragraph.append(element("mark", "", words));
        else if (others.some(inside)) paragraph.append(element("mark", "also", words));
        else paragraph.append(words);
      }
      if (line.trim()) paragraphs.push(paragraph);
      at = end + 1;
    }
    box.replaceChildren(...paragraphs);
  }

  function show(index) {
    const link = cites[index];
    const k = Number(link.dataset.source);
    const source = data.sources[k - 1];
    if (current >= 0) unmark();
    current = index;
    link.setAttribute("aria-expanded", "true");
    link.closest(".s").classList.add("active");

    part("place").textContent = `Source ${k} of ${data.sources.length}`;
    part("title").textContent = source.title;
    const meta = part("meta");
    meta.replaceChildren(element("span", "", source.facts.join(" · ")));
    for (const [address, words] of [[source.link, "Open the page ↗"], [source.archive, "Archived copy ↗"]]) {
      if (!address) continue;
      const out = element("a", "", words);
      out.href = address;
      out.rel = "nofollow noopener noreferrer";
      out.target = "_blank";
      meta.append(out);
    }
    for (const warning of source.warnings) meta.append(element("span", "warning", warning));

    const box = part("evidence");
    const whole = data.pages[source.page];
    const sentence = link.closest(".s").firstChild.textContent;
    box.lang = source.language;
    if (whole === undefined) {
      fill(box, source.text, [0, source.text.length], sentence, []);
      box.append(element("p", "apart", "Only the cited passage of this page is kept here."));
    } else {
      const others = data.sources.filter((o) => o.page === source.page && o !== source).map((o) => o.span);
      fill(box, whole, source.span, sentence, others);
    }
    part("previous").disabled = index === 0;
    part("next").disabled = index === cites.length - 1;
    panel.hidden = false;
    makeRoom();
    document.body.classList.add("reading");
    const mark = box.querySelector("mark.same") || box.querySelector("mark:not(.also)");
    box.scrollTop = mark ? mark.offsetTop - Math.min(48, box.clientHeight / 5) : 0;
    panel.focus({ preventScroll: true });
    uncover(link);
    history.replaceState(null, "", `#${link.id}`);
  }

  // From 60rem on the panel is a card over the rail, where the infobox is, or the end of the notice: it begins below as much of
  // it as is in view, and keeps at least half of the window's height.
  const infobox = document.querySelector(".infobox") || document.querySelector(".notice");
  function makeRoom() {
    if (!infobox || panel.hidden) return;
    const below = Math.min(infobox.getBoundingClientRect().bottom + 12, window.innerHeight / 2);
    panel.style.setProperty("--below", `${Math.max(0, below)}px`);
  }

  // Scrolls only as far as needed for the cited sentence to be seen beside the panel.
  function uncover(link) {
    const box = link.closest(".s").getBoundingClientRect();
    const sheet = panel.getBoundingClientRect();
    const bottom = sheet.left <= 0 ? sheet.top : window.innerHeight;
    if (box.bottom > bottom - 12) window.scrollBy(0, Math.min(box.bottom - bottom + 24, box.top - 12));
    else if (box.top < 12) window.scrollBy(0, box.top - 24);
  }

  function unmark() {
    cites[current].setAttribute("aria-expanded", "false");
    cites[current].closest(".s").classList.remove("active");
  }

  function close() {
    if (current < 0) return;
    const link = cites[current];
    unmark();
    current = -1;
    panel.hidden = true;
    document.body.classList.remove("reading");
    history.replaceState(null, "", location.pathname + location.search);
    link.focus({ preventScroll: true });
  }

  for (const link of cites) {
    link.setAttribute("aria-expanded", "false");
    link.setAttribute("aria-controls", "panel");
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.cite");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const index = cites.indexOf(link);
    if (index === current) close();
    else show(index);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  part("close").addEventListener("click", close);
  part("previous").addEventListener("click", () => show(current - 1));
  part("next").addEventListener("click", () => show(current + 1));
  const named = cites.findIndex((link) => `#${link.id}` === location.hash);
  if (named >= 0) window.addEventListener("load", () => show(named)); // after the browser's own jump to it

  // Which section is being read, in the table of contents: the last whose heading has come up to the upper third.
  const entries = [...document.querySelectorAll(".contents a")];
  const headings = entries.map((link) => document.getElementById(link.hash.slice(1)));
  let waiting = false;
  function follow() {
    waiting = false;
    makeRoom();
    const end = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    const line = end ? window.innerHeight : window.innerHeight / 3;
    const reached = headings.findLastIndex((heading) => heading.getBoundingClientRect().top < line);
    entries.forEach((link, i) => {
      if (i === reached) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  }
  window.addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(follow);
    waiting = true;
  }, { passive: true });
  follow();

  // Paper has no folded parts.
  const folded = document.querySelectorAll(".record details");
  window.addEventListener("beforeprint", () => folded.forEach((d) => { d.dataset.was = d.open; d.open = true; }));
  window.addEventListener("afterprint", () => folded.forEach((d) => { d.open = d.dataset.was === "true"; }));
})();

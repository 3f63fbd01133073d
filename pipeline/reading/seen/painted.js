// Run in a world of its own beside a page that was drawn: gives the page's HTML with no text but what is painted. Styles say first
// which text may be; then pixels decide, word by word: a screen is taken as it is and with all letters transparent, and a word in
// whose place nothing differs is not painted. `reading` has what is asked of it, in this order: `begin`, (`bring`, `blank`,
// `compare`) for each screen, `written`.
// Whatever the page did to its own `Element.prototype` does not reach here.
globalThis.reading = (() => {
  const MOST_NODES = 30000, MOST_CHARS = 4000000, LEAST_PX = 5, FAINT = 0.12, BLUR_PX = 3;
  const LEAST_DIFFERENCE = 10, LEAST_PIXELS = 3, TRIES = 2, LONGEST_PIECE = 40;
  const KEPT = new Set(["id", "class", "lang", "dir", "datetime", "itemprop", "itemtype", "itemscope", "role", "colspan", "rowspan",
    "headers", "scope", "property", "name", "content", "charset", "rel", "href", "type", "media", "cite", "title"]);
  const NONE = new Set(["script", "style", "template", "noscript", "iframe", "frame", "frameset", "object", "embed", "canvas", "video",
    "audio", "input", "textarea", "select", "option", "datalist", "map", "area", "svg", "math", "base", "portal", "fencedframe"]);
  const VOID = new Set(["br", "hr", "img", "meta", "link", "wbr", "col", "source", "track", "area", "base", "embed", "input"]);
  // A form's fields and a document's named elements take the place of its own properties ("<input name=parentElement>"): everything
  // is asked of the prototypes.
  const getter = (P, name) => { const g = Object.getOwnPropertyDescriptor(P, name).get; return (o) => g.call(o); };
  const method = (P, name) => { const f = P[name]; return (o, ...rest) => f.apply(o, rest); };
  const [parentOf, nodesOf, typeOf] = ["parentElement", "childNodes", "nodeType"].map((n) => getter(Node.prototype, n));
  const [nameOf, shadowOf, slotOf, attributesOf] = ["localName", "shadowRoot", "assignedSlot", "attributes"].map((n) => getter(Element.prototype, n));
  const [heightOf, widthOf, inHeightOf, inWidthOf] = ["scrollHeight", "scrollWidth", "clientHeight", "clientWidth"].map((n) => getter(Element.prototype, n));
  const ownStyleOf = (e) => e instanceof HTMLElement ? getter(HTMLElement.prototype, "style")(e) : null;
  const scrollOf = (name) => Object.getOwnPropertyDescriptor(Element.prototype, name);
  const moved = (e, name, by) => scrollOf(name).set.call(e, scrollOf(name).get.call(e) + by);
  const [boxOf, seenBy, attributeOf, hasAttribute] = ["getBoundingClientRect", "checkVisibility", "getAttribute", "hasAttribute"].map((n) => method(Element.prototype, n));
  const rootOf = method(Node.prototype, "getRootNode");
  const [bodyOf, elementOf, titleOf] = ["body", "documentElement", "title"].map((n) => getter(Document.prototype, n)(document));
  const rangeOf = () => method(Document.prototype, "createRange")(document);
  const allIn = (root, what) => (root === document ? Document : DocumentFragment).prototype.querySelectorAll.call(root, what);
  const pointsIn = (root, x, y) => (root === document ? Document : ShadowRoot).prototype.elementsFromPoint.call(root, x, y);
  const frame = () => new Promise((done) => { const t = setTimeout(done, 60); requestAnimationFrame(() => { clearTimeout(t); done(); }); });
  const W = innerWidth, H = innerHeight;
  const styles = new Map(), canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const style = (e) => { let s = styles.get(e); if (!s) { s = getComputedStyle(e); styles.set(e, s); } return s; };
  const up = (e) => slotOf(e) || parentOf(e) || (rootOf(e) instanceof ShadowRoot ? rootOf(e).host : null);
  const colours = new Map();
  const rgba = (text) => {
    if (!colours.has(text)) {
      canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "rgba(0,0,0,0)"; canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
      const d = canvas.getImageData(0, 0, 1, 1).data; colours.set(text, [d[0], d[1], d[2], d[3] / 255]);
    }
    return colours.get(text);
  };
  const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] + under[i] * (1 - top[3]));
  const filters = (s) => /opacity\((0|0?\.0\d*|[0-9](\.\d+)?%)\)|contrast\((0|0?\.0\d*|[0-9](\.\d+)?%)\)|brightness\((0|0?\.0\d*|[0-9](\.\d+)?%)\)/.test(s)
    || [...s.matchAll(/blur\(([\d.]+)px\)/g)].some((m) => parseFloat(m[1]) >= BLUR_PX) || /url\(/.test(s);
  // What hides all that is in an element, whatever its place.
  const shut = new Map();
  const hides = (e) => {
    if (!e) return false;
    if (shut.has(e)) return shut.get(e);
    const s = style(e); let opacity = 1;
    for (let a = e; a; a = up(a)) opacity *= parseFloat(style(a).opacity);
    const mask = s.maskImage || s.webkitMaskImage || "none";
    const box = s.webkitMaskBoxImageSource || s.webkitMaskBoxImage || "none";
    const found = NONE.has(nameOf(e)) || opacity < FAINT || (s.filter !== "none" && filters(s.filter)) || mask !== "none"
      || (box !== "none" && box !== "") || (s.mixBlendMode !== "normal" && s.mixBlendMode !== "multiply" && s.mixBlendMode !== "darken")
      || hides(up(e));
    shut.set(e, found); return found;
  };
  const background = (e) => {
    // The colour behind an element's text; null where a picture or a gradient is.
    const layers = [];
    for (let a = e; a; a = up(a)) {
      const s = style(a);
      if (s.backgroundImage !== "none" && s.backgroundClip !== "text") return null;
      const c = s.backgroundClip === "text" ? [0, 0, 0, 0] : rgba(s.backgroundColor);
      if (c[3] > 0) { layers.push(c); if (c[3] >= 0.98) break; }
    }
    let under = [255, 255, 255]; // the canvas of a page of a light desk
    for (const c of layers.reverse()) under = over(c, under);
    return under;
  };
  const inked = new Map();
  const isInked = (e, at) => {
    if (inked.has(e)) return inked.get(e);
    const s = style(e), fill = rgba(s.webkitTextFillColor || s.color); let found = true;
    if ((s.webkitTextSecurity || "none") !== "none") { inked.set(e, false); return false; } // dots in the letters' place
    const clipped = s.backgroundClip === "text" || s.webkitBackgroundClip === "text";
    if (fill[3] < FAINT) {
      found = (clipped && (s.backgroundImage !== "none" || rgba(s.backgroundColor)[3] > FAINT))
        || (parseFloat(s.webkitTextStrokeWidth) > 0 && rgba(s.webkitTextStrokeColor)[3] > FAINT);
    } else {
      const behind = background(e);
      if (behind) {
        const a = light(over(fill, behind)), b = light(behind);
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        found = contrast >= 1.1 || s.textShadow !== "none" && /rgb/.test(s.textShadow) && contrast >= 1.02;
      }
    }
    inked.set(e, found); return found;
  };
  const isOpaque = (e) => {
    const s = style(e);
    if (["img", "video", "canvas", "iframe", "object", "embed"].includes(nameOf(e))) return parseFloat(s.opacity) > 0.9 && nameOf(e) !== "canvas";
    if (!hides(e) && rgba(s.backgroundColor)[3] * parseFloat(s.opacity) > 0.9) return true;
    if (s.backgroundImage !== "none" && s.backgroundClip !== "text" && parseFloat(s.opacity) > 0.9) return true;
    return ["::before", "::after"].some((which) => {
      const p = getComputedStyle(e, which);
      return p.content !== "none" && p.position !== "static" && parseFloat(p.opacity) > 0.9 && p.display !== "none"
        && (rgba(p.backgroundColor)[3] > 0.9 || p.backgroundImage !== "none");
    });
  };
  const isWithin = (inner, outer) => { for (let a = inner; a; a = up(a)) if (a === outer) return true; return false; };
  const boxed = (e) => { while (e && style(e).display === "contents") e = up(e); return e; };
  const hitsAt = (x, y) => {
    const found = []; let root = document; const seen = new Set();
    while (root && !seen.has(root)) { // into open shadow trees
      seen.add(root); const list = pointsIn(root, x, y); found.unshift(...list.filter((e) => !found.includes(e)));
      root = list[0] && shadowOf(list[0]);
    }
    return found;
  };
  const covered = new Map();
  // Whether a pseudo-element of an element lies on all of it; where it is drawn, only its size tells.
  const isVeiled = (e) => ["::before", "::after"].some((which) => {
    const p = getComputedStyle(e, which), box = boxOf(e);
    return p.content !== "none" && p.display !== "none" && /absolute|fixed/.test(p.position) && parseInt(p.zIndex) !== -1
      && parseFloat(p.opacity) > 0.9 && (rgba(p.backgroundColor)[3] > 0.9 || p.backgroundImage !== "none")
      && parseFloat(p.width) > box.width * 0.9 && parseFloat(p.height) > box.height * 0.9;
  });
  const isSeenAt = (e, x, y) => {
    const own = boxed(e), hits = hitsAt(x, y);
    if (!own) return false;
    for (const hit of hits) {
      if (hit === own) return !isVeiled(own);
      if (isWithin(hit, own)) { if (isOpaque(hit) && style(hit).position !== "static") return false; continue; }
      if (isOpaque(hit)) { // an ancestor's pseudo-element that lies on its own text is in front, its background is not
        if (!isWithin(own, hit)) return false;
        return false;
      }
    }
    return false;
  };
  const isVisible = (node) => {
    const e = parentOf(node) || (rootOf(node) instanceof ShadowRoot ? rootOf(node).host : null);
    if (!e || hides(e)) return false;
    const held = boxed(e);
    if (!held || !seenBy(held, { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true })) return false;
    if (style(e).visibility !== "visible" || !isInked(e)) return false;
    const range = rangeOf(); range.selectNodeContents(node);
    let rects = [...range.getClientRects()].filter((r) => r.width >= 1 && r.height >= LEAST_PX);
    if (!rects.length || parseFloat(style(e).fontSize) < LEAST_PX) return false;
    const word = node.data.trim().length;
    if (rects.reduce((n, r) => n + r.width * r.height, 0) < word * 4) return false; // squeezed to nothing
    for (const place of [0.45, 0.08, 0.9]) {
      rects = brought(node, e, rects, place, range);
      const points = [];
      for (const r of [rects[0], rects[rects.length >> 1], rects[rects.length - 1]])
        for (const f of [0.1, 0.5, 0.9]) points.push([r.left + r.width * f, r.top + r.height / 2]);
      const inside = points.filter(([x, y]) => x >= 0 && y >= 0 && x < W && y < H);
      const seen = inside.filter(([x, y]) => isSeenAt(e, x, y)).length;
      if (seen && seen * 3 >= points.length) return true;
      if (!covers(e, inside)) return false;
    }
    return false;
  };
  // Whether something that stays where it is on the screen lies on the text, so that it may be seen elsewhere.
  const covers = (e, points) => points.some(([x, y]) => { const top = hitsAt(x, y)[0];
    for (let a = top; a; a = up(a)) if (["fixed", "sticky"].includes(style(a).position)) return !isWithin(e, a); return false; });
  const isInView = (e, r) => {
    for (let a = up(e); a && a !== bodyOf; a = up(a)) if (/auto|scroll/.test(style(a).overflow)) {
      const box = boxOf(a);
      if (r.top < box.top - 1 || r.bottom > box.bottom + 1 || r.left < box.left - 1 || r.left > box.right) return false;
    }
    return true;
  };
  const brought = (node, e, rects, place, range) => {
    const r = rects[rects.length >> 1];
    if (place === 0.45 && isInView(e, r) && r.top >= H * 0.08 && r.bottom <= H * 0.9 && r.left >= 0 && r.right <= W) return rects;
    for (let a = up(e); a && a !== bodyOf && a !== elementOf; a = up(a)) {
      const s = style(a), box = boxOf(a), now = range.getBoundingClientRect();
      if (/auto|scroll/.test(s.overflowY) && heightOf(a) > inHeightOf(a) + 1 && (now.top < box.top || now.bottom > box.bottom))
        moved(a, "scrollTop", now.top - box.top - inHeightOf(a) / 2);
      if (/auto|scroll/.test(s.overflowX) && widthOf(a) > inWidthOf(a) + 1 && (now.left < box.left || now.right > box.right))
        moved(a, "scrollLeft", now.left - box.left - 4);
    }
    const now = range.getBoundingClientRect(), all = [...range.getClientRects()].filter((q) => q.width >= 1 && q.height >= LEAST_PX);
    const mid = all[all.length >> 1] || now;
    scrollBy({ top: mid.top - H * place, left: mid.left < 0 || mid.right > W ? mid.left - 4 : 0, behavior: "instant" });
    return [...range.getClientRects()].filter((q) => q.width >= 1 && q.height >= LEAST_PX).concat(all.length ? [] : [now]);
  };
  // Every element answers to a point, whatever the page says of its pointer; and nothing scrolls slowly.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*,*::before,*::after{pointer-events:auto!important;scroll-behavior:auto!important;transition:none!important}");
  const blankSheet = new CSSStyleSheet();
  const BLANK = "-webkit-text-fill-color:transparent!important;-webkit-text-stroke-width:0!important;text-shadow:none!important";
  // --- pixels ---
  // Of each text that styles show its pieces, words as a rule: where they are, how often they were looked at, whether they are painted.
  const pieces = new Map();
  const piecesOf = (node) => [...node.data.matchAll(new RegExp(`\\S{1,${LONGEST_PIECE}}`, "g"))].map((m) => {
    const range = rangeOf(); range.setStart(node, m.index); range.setEnd(node, m.index + m[0].length);
    return { range, at: m.index, length: m[0].length, tries: 0, painted: false, unknown: false };
  });
  const holderOf = (node) => parentOf(node) || (rootOf(node) instanceof ShadowRoot ? rootOf(node).host : null);
  const open = (p) => !p.painted && !p.unknown && p.tries < TRIES;
  const collect = (node, depth) => {
    if (n >= MOST_NODES || depth > 400) return;
    if (typeOf(node) === 3) { if (node.data.trim()) { n++; if (isVisible(node)) pieces.set(node, piecesOf(node)); } return; }
    if (typeOf(node) !== 1 || NONE.has(nameOf(node)) || style(node).display === "none") return;
    for (const child of children(node)) collect(child, depth + 1);
  };
  let looked = [];
  // Bring the next piece that is not decided onto the screen; false when there is none.
  const bring = async () => {
    for (const [node, list] of pieces) {
      const next = list.find(open);
      if (!next) continue;
      const rects = [...next.range.getClientRects()];
      if (!rects.length) { next.unknown = true; return true; }
      brought(node, holderOf(node), rects, next.tries ? 0.62 : 0.13, next.range);
      await frame(); await frame();
      looked = [];
      for (const [other, some] of pieces) {
        if (!some.some(open)) continue;
        const whole = rangeOf(); whole.selectNodeContents(other); const box = whole.getBoundingClientRect();
        if (box.bottom < 0 || box.top > H) continue;
        for (const piece of some) if (open(piece)) {
          const places = [...piece.range.getClientRects()].filter((r) => r.width >= 1 && r.left >= 0 && r.right <= W && r.top >= 0 && r.bottom <= H
            && isInView(holderOf(other), r));
          if (places.length) { piece.tries++; looked.push([piece, places]); }
        }
      }
      if (!looked.some(([piece]) => piece === next)) {
        // Beside a screen that does not scroll there nothing is seen; whatever else cannot be brought is left to the styles.
        const beside = rects.every((r) => r.left >= W || r.right <= 0) && widthOf(elementOf) <= W + 1;
        if (beside) next.tries = TRIES; else next.unknown = true;
      }
      return true;
    }
    return false;
  };
  const clipped = [];
  const blank = async (on) => {
    blankSheet.replaceSync(on ? `*,*::before,*::after,*::first-line,*::first-letter,*::marker{${BLANK}}` : "");
    if (on) { // letters cut out of a picture: in its place stands the picture
      for (const root of roots) for (const e of allIn(root, "*")) {
        const own = ownStyleOf(e), s = style(e);
        if (own && (s.backgroundClip === "text" || s.webkitBackgroundClip === "text")) {
          clipped.push([own, own.getPropertyValue("background-clip"), own.getPropertyPriority("background-clip")]);
          own.setProperty("background-clip", "border-box", "important");
        }
      }
    } else for (const [own, value, priority] of clipped.splice(0)) own.setProperty("background-clip", value, priority);
    await frame(); await frame();
  };
  const pixelsOf = async (png) => {
    const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0)), picture = await createImageBitmap(new Blob([bytes]));
    const drawn = new OffscreenCanvas(picture.width, picture.height).getContext("2d", { willReadFrequently: true });
    drawn.drawImage(picture, 0, 0);
    return drawn.getImageData(0, 0, picture.width, picture.height);
  };
  const compare = async (before, after) => {
    const [a, b] = [await pixelsOf(before), await pixelsOf(after)];
    for (const [piece, places] of looked) {
      let differ = 0;
      for (const r of places) for (let y = Math.floor(r.top); y < Math.min(r.bottom, a.height) && differ < LEAST_PIXELS; y++)
        for (let x = Math.floor(r.left), i = 4 * (y * a.width + x); x < Math.min(r.right, a.width); x++, i += 4)
          if (Math.max(Math.abs(a.data[i] - b.data[i]), Math.abs(a.data[i + 1] - b.data[i + 1]), Math.abs(a.data[i + 2] - b.data[i + 2]))
            >= LEAST_DIFFERENCE) differ++;
      if (differ >= LEAST_PIXELS) piece.painted = true;
    }
    looked = [];
  };
  // What is painted of a text: pieces that were looked at often enough in vain are left out.
  const seenOf = (node) => {
    const list = pieces.get(node);
    if (!list) return "";
    const isGone = (p) => !p.painted && !p.unknown && p.tries >= TRIES;
    if (!list.some(isGone)) return node.data;
    return list.every(isGone) ? "" : list.reduceRight((t, p) => isGone(p) ? t.slice(0, p.at) + t.slice(p.at + p.length) : t, node.data);
  };
  let n = 0, size = 0, words = 0; const out = [], roots = [document];
  const begin = async () => {
    for (let i = 0; i < roots.length && i < 500; i++) {
      const list = Object.getOwnPropertyDescriptor((roots[i] === document ? Document : ShadowRoot).prototype, "adoptedStyleSheets");
      try { list.set.call(roots[i], [...list.get.call(roots[i]), sheet, blankSheet]); } catch (e) { /* a sheet of another document is among them */ }
      for (const e of allIn(roots[i], "*")) {
        if (shadowOf(e)) roots.push(shadowOf(e));
        const own = ownStyleOf(e);
        if (own && own.getPropertyPriority("pointer-events")) own.removeProperty("pointer-events");
        // What waits for the screen is painted once it is there.
        if (own && getComputedStyle(e).contentVisibility === "auto") own.setProperty("content-visibility", "visible", "important");
      }
    }
    for (let y = 0, n = 0; n < 25 && y < heightOf(elementOf); y += H, n++) { scrollTo(0, y); await frame(); } // what waits to be seen
    scrollTo(0, 0); await frame(); await frame();
    if (bodyOf) collect(bodyOf, 0);
    n = 0;
  };
  const esc = (t) => t.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
  const put = (t) => { size += t.length; out.push(t); };
  const attributes = (e) => [...attributesOf(e)].filter((a) => KEPT.has(a.name) && a.value.length < 4000).map((a) => ` ${a.name}="${esc(a.value)}"`).join("");
  const children = (e) => shadowOf(e) ? nodesOf(shadowOf(e)) : nameOf(e) === "slot" && e.assignedNodes({ flatten: true }).length
    ? e.assignedNodes({ flatten: true }) : nodesOf(e);
  const write = (node, depth) => {
    if (n >= MOST_NODES || size >= MOST_CHARS || depth > 400) return;
    if (typeOf(node) === 3) {
      if (!node.data.trim()) { if (node.data) put(node.data.includes("\n") ? "\n" : " "); return; }
      n++; const seen = seenOf(node); if (seen) { put(esc(seen)); words += seen.trim().split(/\s+/).length; }
      return;
    }
    if (typeOf(node) !== 1 || NONE.has(nameOf(node))) return;
    const s = style(node);
    if (s.display === "none") return;
    const name = /^[a-z][a-z0-9-]*$/.test(nameOf(node)) ? nameOf(node) : "div";
    put(`<${name}${attributes(node)}>`);
    if (VOID.has(name)) return;
    for (const child of children(node)) write(child, depth + 1);
    put(`</${name}>`);
  };
  const bare = (v, d) => { // dates and names of a page's data; no text of it is painted
    if (d > 12) return null;
    if (Array.isArray(v)) return v.slice(0, 200).map((x) => bare(x, d + 1));
    if (v && typeof v === "object") return Object.fromEntries(Object.entries(v).filter(([k]) => !/body|text|description|abstract|comment|update|review|part|step|answer|transcript|caption/i.test(k)).slice(0, 200).map(([k, x]) => [k, bare(x, d + 1)]));
    return typeof v === "string" ? v.slice(0, 300) : v;
  };
  const written = () => {
    const root = elementOf;
    put(`<!DOCTYPE html><html${attributes(root)}><head><meta charset="utf-8"><title>${esc(titleOf)}</title>`);
    for (const e of allIn(document, "head meta, head link[rel]")) if (!hasAttribute(e, "charset") && !hasAttribute(e, "http-equiv"))
      if (!/description|abstract/i.test((attributeOf(e, "name") || "") + (attributeOf(e, "property") || ""))) put(`<${nameOf(e)}${attributes(e)}>`);
    for (const e of allIn(document, 'script[type="application/ld+json"]')) try {
      put(`<script type="application/ld+json">${JSON.stringify(bare(JSON.parse(e.textContent), 0)).replace(/</g, "\\u003c")}</` + "script>"); } catch (error) { /* broken data */ }
    put("</head>");
    if (bodyOf) write(bodyOf, 0);
    put("</html>");
    return JSON.stringify({ html: out.join(""), words, cut: n >= MOST_NODES || size >= MOST_CHARS });
  };
  return { begin, bring, blank, compare, written };
})();

// Run in a world of its own beside a page that was drawn: gives the page's HTML with no text but what is painted.
// Whatever the page did to its own `Element.prototype` does not reach here.
(async () => {
  const MOST_NODES = 30000, MOST_CHARS = 4000000, LEAST_PX = 5, FAINT = 0.12, BLUR_PX = 3;
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
  sheet.replaceSync("*,*::before,*::after{pointer-events:auto!important;scroll-behavior:auto!important}");
  const roots = [document];
  for (let i = 0; i < roots.length && i < 500; i++) {
    const list = Object.getOwnPropertyDescriptor((roots[i] === document ? Document : ShadowRoot).prototype, "adoptedStyleSheets");
    try { list.set.call(roots[i], [...list.get.call(roots[i]), sheet]); } catch (e) { /* a sheet of another document is among them */ }
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
  const esc = (t) => t.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
  let n = 0, size = 0, words = 0; const out = [];
  const put = (t) => { size += t.length; out.push(t); };
  const attributes = (e) => [...attributesOf(e)].filter((a) => KEPT.has(a.name) && a.value.length < 4000).map((a) => ` ${a.name}="${esc(a.value)}"`).join("");
  const children = (e) => shadowOf(e) ? nodesOf(shadowOf(e)) : nameOf(e) === "slot" && e.assignedNodes({ flatten: true }).length
    ? e.assignedNodes({ flatten: true }) : nodesOf(e);
  const write = (node, depth) => {
    if (n >= MOST_NODES || size >= MOST_CHARS || depth > 400) return;
    if (typeOf(node) === 3) {
      if (!node.data.trim()) { if (node.data) put(node.data.includes("\n") ? "\n" : " "); return; }
      n++; if (isVisible(node)) { put(esc(node.data)); words += node.data.trim().split(/\s+/).length; }
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
})()

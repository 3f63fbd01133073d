"""Ways to hide text from a reader, each seen in a browser: what a browser does not paint is not read, and the rest is.

An entry is a style sheet for `.h6` in `.w`, or an element with `{}` in place of its words.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import html as lxml_html

from data.types import RawPage
from pipeline.reading.extract import extract
from pipeline.reading.seen import sheets
from pipeline.reading.seen.turned_text import without_turned
from pipeline.reading.seen.unseen_text import hidden_by_sheets
from pipeline.reading.seen.visibility import TOLD
from tests.browser import browsing, needs_browser
from tests.pipeline.reading.test_extract import STORY, page


def styled(*styles: str) -> tuple[str, ...]:
    return tuple(f'<p style="{style}">{{}}</p>' for style in styles)


HIDDEN = (
    *styled(
        # rules, selectors and variables
        "display:none !important;display:block",
        # clear, filtered or masked
        "opacity:0", "opacity:1;opacity:0%", "-webkit-mask:linear-gradient(transparent,transparent)",
        "-webkit-mask:linear-gradient(#0000,#0000)", "opacity:calc(1 - 1)",
        # colours
        "color:rgba(0, 0, 0, 0)", "color:#FFF; background-color:white", "color:#fff", "color:oklch(100% 0 0)",
        "color:color-mix(in srgb,white 100%,black)", "color:Canvas", "color:lab(100% 0 0)", "color:light-dark(white,black)",
        "color:rgb(from white r g b)", "color:hwb(0 100% 0%)", "background:currentcolor", "color-scheme:dark;color:CanvasText",
        # moved, turned or cut
        "position:absolute; left:-9999px", "text-indent:-9999px", "position:absolute;clip:rect(0,0,0,0)", "margin-left:-9999px",
        "transform:translateX(-9999px)", "position:fixed;top:-200vh", "clip-path:polygon(0 0, 0 0, 0 0)", "transform:scale(0)",
        "position:fixed;top:200vh", "backface-visibility:hidden;transform:rotateY(180deg)", "inline-size:0;overflow:clip",
        "rotate:y 90deg", "transform:rotateX(90deg)", "transform:matrix(0,0,0,0,0,0)", "clip-path:inset(50%)",
        "clip-path:inset(100% 0 0 0)", "clip-path:circle(0)", "clip-path:xywh(0 0 0 0)", "margin-inline-start:-9999px",
        "position:absolute;inset-inline-start:-9999px", "text-indent:100%;white-space:nowrap;overflow:hidden;width:300px",
        "transform:skewX(90deg)", "transform:skew(0, -90deg)",
        "padding-top:9999px;height:20px;overflow:hidden;box-sizing:border-box",
        # no room, or no box
        "display:none", "DISPLAY : NONE", "visibility: hidden", "font-size:0", "height:0;overflow:hidden",
        "max-height:0; overflow:hidden", "content-visibility:hidden", "font-size:.01em", "display:none;display:blok",
        "block-size:0;overflow:hidden", "font-size:calc(1px - 1px)", "contain:strict", "display:table-column",
        "font-size-adjust:0",
        "padding:0 0 0 5000px;overflow:hidden;white-space:nowrap;width:9px",
    ),
    # elements
    "<p hidden>{}</p>", "<template><p>{}</p></template>", "<noscript><p>{}</p></noscript>", '<font color="white">{}</font>',
    "<p popover>{}</p>", "<dialog>{}</dialog>", '<div><template shadowrootmode="open"><b>x</b></template><p>{}</p></div>',
    '<link rel="stylesheet" href="data:text/css,.q{display:none}"><p class="q">{}</p>', "<datalist>{}</datalist>",
    "<svg><desc>{}</desc></svg>", "<video>{}</video>", '<div bgcolor="#fff"><font color="#ffffff">{}</font></div>',
    '<table bgcolor="black"><tr><td><font color=black>{}</font></td></tr></table>',
    '<div style="container-type:size;overflow:hidden"><p>{}</p></div>',
    '<div style="contain:size;overflow:clip"><p>{}</p></div>',
    '<div><template shadowrootmode="open"><slot name="z"></slot></template><p>{}</p></div>',
    '<div><template shadowrootmode="open"><slot style="display:none"></slot></template><p>{}</p></div>',
    '<div><template shadowrootmode="open"><style>:host{display:none}</style><slot></slot></template><p>{}</p></div>',
    '<div><template shadowrootmode="open"><style>::slotted(p){display:none}</style><slot></slot></template><p>{}</p></div>',
    '<div><template shadowrootmode="open"><b>x</b></template>{}</div>',
    '@namespace "foo"; .h6{display:block!important}</style><style>.h6{display:none}',
    "<input autofocus><style>input:focus ~ .q{display:none}</style><p class=q>{}</p>",
    "<style title=a>.a{top:0}</style><style>.q{display:none}</style>"
    "<style title=b>.q{display:block!important}</style><p class=q>{}</p>",
    '<style>.q{display:none}</style>'
    '<link rel="stylesheet" disabled href="data:text/css,.q{display:block!important}"><p class=q>{}</p>',
    "<style>.q{display:none} a.q:enabled{display:block}</style><a class=q href=x>{}</a>",
    "<select><option>a</option></select><style>select:has(option:checked) ~ .q{display:none}</style><p class=q>{}</p>",
    "<input type=radio name=r checked id=i1><input type=radio name=r checked><style>.q{display:none} #i1:checked ~ "
    ".q{display:block}</style><p class=q>{}</p>",
    "<details><summary></summary><p>{}</p></details>", "<details><summary style='opacity:0'>More</summary><p>{}</p></details>",
    "<details inert><summary>More</summary><p>{}</p></details>",
    "<details><summary>More</summary><p style='opacity:0'>{}</p></details>",
    "<style>details::details-content{content-visibility:hidden}</style><details open><summary>A</summary><p>{}</p></details>",
    "<style>details::details-content{opacity:0}</style><details open><summary>A</summary><p>{}</p></details>",
    '<p class=q style="color:#000">{}</p><style>.q::first-line{color:transparent}</style>',
    '<div style="height:20px;overflow:hidden;position:relative"><div style="height:90px"></div>'
    '<i style="anchor-name:--z">a</i></div>'
    '<style>.q{position:absolute;position-anchor:--z;top:anchor(bottom)}</style><p class=q>{}</p>',
    "<style>.q{columns:2;height:40px;overflow:hidden;column-gap:5000px} "
    ".q b{display:block;break-before:column}</style><p class=q>a<b>{}</b></p>",
    "<style>.q{color:#000} .q{all:unset}</style><div style='color:#fff'><p class=q>{}</p></div>",
    "<style>[lang=EN]{display:none}</style><p lang=en>{}</p>",
    "<table><col style='visibility:collapse'><tr><td>{}</td><td>b</td></tr></table>",
    "<div style='position:relative'><p>{}</p><div style='position:absolute;inset:0;background:#ddd'></div></div>",
    "<div style='position:relative'><div style='position:absolute;inset:0;background:#ddd'></div><p>{}</p></div>",
    # rules, selectors and variables
    ":root{--bg:#fff} .h6{color:var(--bg)}", ".w{ .h6{display:none} }", ".w{ & .h6{display:none} }", "p{ &.h6{display:none} }",
    "@scope (.w){ .h6{display:none} }", ".h6{--x:none;display:var(--x)}", ":root{--h:none} .h6{display:var(--h,block)}",
    ".h6{animation:a 1ms forwards} @keyframes a{to{opacity:0}}",
    ".h6{animation:a 1s infinite} @keyframes a{from{opacity:0}to{opacity:0}}",
    ".h6{animation:a 99s paused both} @keyframes a{from{opacity:0}}", "@media not print{.h6{display:none}}",
    "@media (max-width:9999px){.h6{display:none}}", "@media (width>=1px){.h6{display:none}}",
    "@media (orientation:landscape){.h6{visibility:hidden}}", ".h6{display:none!important} p.h6{display:block}",
    "@layer a,b; @layer b{.h6{display:none}} @layer a{.h6{display:block}}", "@layer x{.h6{display:block}} .h6{display:none}",
    ".h6:not(:hover){display:none}", ".h6:is(p,div){display:none}", ".w:has(.h6) .h6{display:none}",
    "@import url('data:text/css,.h6{display:none}');", "p:nth-child(1 of .h6){display:none}", "p:read-only.h6{display:none}",
    "@container (min-width:1px){.h6{display:none}} body{container-type:inline-size}",
    "@supports (display:grid) and (not (display:blok)){.h6{display:none}}",
    '.h6{display:none} @import url("data:text/css,p.h6.h6{display:block}");',
    '@import url("data:text/css,p.h6.h6{display:block}") print; .h6{display:none}',
    ".h6{display:none} @supports (display:blok){.h6{display:block}}",
    ".h6{--o:0;opacity:var(--o)} @supports (display:blok){.h6{--o:1}}", ".h6{display:none} p.h6, p:local-link{display:block}",
    ".h6::first-line{color:#fff}", ".w:first-line{font-size:0}", ":root{--a:0} .h6{--a:initial;opacity:var(--a,0)}",
    ".w{visibility:hidden} .h6{visibility:revert}", ".w{color:#fff} .h6{color:revert}", ".w{font-size:0} .h6{font-size:revert}",
    ".h6{display:none;all:unset;display:none}",
    '.h6{position:relative} .h6::after{content:"";position:absolute;inset:0;background:#fff}',
    '.w{position:relative} .w::after{content:"";position:absolute;top:0;left:0;width:100%;height:100%;background:#eee}',
    ".h6{animation:a 1s paused} @keyframes a{0%,100%{color:#fff}}",
    # clear, filtered or masked
    ".h6{mask-image:linear-gradient(rgba(0,0,0,0),transparent)}", ".h6{filter:opacity(0)}", ".w{opacity:.2} .h6{opacity:.2}",
    ".h6{filter:contrast(0) brightness(9)}", ".h6{mix-blend-mode:screen}", ".h6{opacity:min(0,1)}",
    ".h6{-webkit-mask-box-image:linear-gradient(#0000,#0000)}",
    ".h6{mask:linear-gradient(#000 0 0);mask-position:9999px 9999px;mask-repeat:no-repeat}",
    ".h6{mask-image:linear-gradient(#000,#000);mask-mode:luminance}",
    ".h6{mask:linear-gradient(#000 0 0),linear-gradient(#000 0 0);mask-composite:exclude}",
    ".h6{mask:linear-gradient(#000 0 0);mask-repeat:no-repeat;mask-size:1px 1px}", ".h6{opacity:sin(0)}",
    ".h6{opacity:calc(pi - pi)}", ".h6{opacity:mod(4,2)}", ".h6{opacity:round(down, .4, 1)}",
    # colours
    ".h6{-webkit-text-fill-color:transparent}", ".h6{color:hsl(0 0% 100% / 0)}", ".w{color:#fff}",
    ".h6{color:white;background:Canvas}", ".h6{background:#000;color:#000}", ".w{background:#123456} .h6{color:#123456}",
    ".w{color:#123} .h6{background-color:currentColor}",
    ".h6{background:linear-gradient(to right,#fff 0%,#fff 90%);color:#fff}",
    ".w{background:linear-gradient(#123,#123)} .h6{color:#123}", ".w{-webkit-text-fill-color:transparent} .h6{color:#000}",
    ".w{-webkit-text-fill-color:#fff} .h6{-webkit-text-fill-color:inherit}",
    ".h6{color:color-mix(in srgb, currentcolor 0%, transparent)}", ".h6{color:contrast-color(black)}",
    ".h6{color:rgb(from black calc(255 - r) calc(255 - g) calc(255 - b))}", ".h6{-webkit-text-stroke:9px #fff}",
    # moved, turned or cut
    ".h6{scale:0}", ".h6{position:absolute;left:99999px}", ".h6{translate:0 -9999px}",
    ".h6{transform:perspective(1px) translateZ(9999px)}", ".h6{transform:perspective(1px) translateZ(2px)}",
    ".h6{container:a / size;overflow:clip}", ".h6{float:right;margin-right:-9999px}",
    ".h6{float:right;margin-inline-end:-9999px}", ".h6{transform:scale(sin(0))}", ".h6{scale:calc(cos(90deg))}",
    ".h6{clip-path:circle(50px at -9999px 0)}", ".h6{clip-path:polygon(-10px -10px,-90px -10px,-90px -90px,-10px -90px)}",
    ".h6{clip-path:xywh(-100px -100px 50px 50px)}", ".h6{position:absolute;clip:rect(auto,0px,auto,auto)}",
    ".h6{position:absolute;right:100%}", ".h6{position:absolute;bottom:100vh}", ".h6{position:absolute;inset-inline-end:100%}",
    ".h6{margin-left:calc(-100% - 400px)}",
    # no room, or no box
    ".h6{font:0/0 a}", ".w{font-size:.05em}", ".h6{width:0;height:0;overflow:hidden}",
    ".w{display:grid;grid-template-rows:0fr;overflow:hidden} .w>*{overflow:hidden;min-height:0}",
    ".h6{content:url(data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7)}",
    ".w{visibility:collapse}", ".h6{zoom:0.0001}", ".h6{display:if(media(screen): none; else: block)}",
    ".h6{display:table-column-group}", ".h6{font-size-adjust:ex-height 0}", ".h6{height:calc-size(auto, 0px);overflow:hidden}",
    ".h6{width:1px;height:1px;overflow:auto}", ".h6{max-width:0;overflow-x:scroll;white-space:nowrap}",
    ".h6{line-height:600px;height:20px;overflow:hidden}", ".h6{block-size:0;overflow-block:hidden}",
)  # fmt: skip
ALSO_HIDDEN = (
    *styled(
        "clip:rect(0,0,0,0)", "position:absolute;left:-100vw", "COLOR:Transparent !important", "width:0px;overflow:hidden",
        "background: #000000;color : black",
    ),
    "div .h6 { visibility : hidden }", "p.h6 { opacity: 0.01 }", ".h6{filter:blur(2px) opacity(0%)}", ".h6{zoom:0}",
    ".h6{transform:scale(0.001)}", ".h6{position:absolute;left:calc(-9999px)}", ".h6{position:relative;left:-9999px}",
    ".h6{position:fixed;inset:-9999px}", ".h6{translate:-9999px 0}", ".h6{width:1px;height:1px;overflow:hidden}",
    ".h6{color:#fffffe}", "body{background:#101010} .h6{color:rgb(17 16 16)}", ".h6{letter-spacing:-99px}",
    ".h6{text-indent:-999em}", ".h6{margin:-9999px}", ".h6{max-height:0;overflow:clip}",
    "@media screen { .h6 { display: none } }",
    "@media (min-width: 1px) { @supports (display: grid) { .h6 { display: none } } }",
    "p:not(.shown):last-child { display: none }", "[data-x='7'] { display: none }", ".other, .h6 { display: none !important }",
    ".h6 { display: block } .h6 { display: none }", "/* x */ .broken { color: } .h6{display:none}",
    ".h6::before { content: 'x' } .h6 { display: none }",
    '<p aria-hidden="true">{}</p>', '<p class="sr-only">{}</p>', '<p class="note hidden">{}</p>',
    '<p class="visually-hidden">{}</p>', '<p hidden="until-found">{}</p>', '<div class="d-none"><div><p>{}</p></div></div>',
    "<!-- {} -->", '<img alt="{}" src="x.png">',
)  # fmt: skip
"""By what a browser does with other sheets, or by names that all sites use so. Not compared with a browser."""
SHOWN = (
    # elements
    '<div><template shadowrootmode="open"><slot name="z"></slot><slot></slot></template><p>{}</p></div>',
    '<div><template shadowrootmode="open"><slot name="z"></slot></template><p slot="z">{}</p></div>',
    r"<style>.md\:flex{display:none} .q.md\:flex{display:block}</style><p class='q md:flex'>{}</p>",
    "<details open><summary>More</summary><p>{}</p></details>",
    "<div style='position:relative'><div style='position:absolute;inset:0;background:#ddd'></div>"
    "<p style='position:relative'>{}</p></div>",
    "<div style='position:relative'><p>{}</p><i style='position:absolute;inset:0'></i></div>",
    # rules, selectors and variables
    ".h6{animation:a 10ms} @keyframes a{from{opacity:0}to{opacity:1}}", ".h6{display:none} p.h6{display:block}",
    "@media print{.h6{display:none}}", "@media (max-width:600px){.h6{display:none}}", ":root{--c:#222} .h6{color:var(--c)}",
    ".w{.x{display:none}}", "@scope (.zz){.h6{display:none}}", ".h6{display:var(--unset, block)}",
    "@layer a{.h6{display:none}} .h6{display:block}", ".h6:hover{display:none}",
    "@media (prefers-color-scheme:dark){.h6{color:#fff}}",
    ".h6{animation:a 1s infinite alternate} @keyframes a{from{opacity:.5}to{opacity:1}}", ".h6{unicode-bidi:isolate}",
    "@container (min-width:1px){.h6{display:none}}",
    "@supports (display:grid){.h6{display:none;display:block}} .h6{position:static}",
    ".h6{display:none} @supports (display: grid) and (display: inline-flex){.h6{display:block}}",
    "details::details-content{opacity:0} .h6{top:0}", ".h6::first-letter{color:#fff;background:#036;font-size:3em}",
    ".h6{display:none;all:revert}", ".h6{padding-left:calc(var(--digits) + 2px)}",
    '.w{position:relative} .w::after{content:"";position:absolute;inset:0;background:#00000010}',
    '.w{position:relative} .w::before{content:"";position:absolute;inset:0;background:#eee;z-index:-1}',
    '.w{position:relative} .w::after{content:"";position:absolute;left:0;bottom:0;width:100%;height:1px;background:#000}',
    # clear, filtered or masked
    ".h6{-webkit-mask:linear-gradient(black,transparent)}", ".h6{opacity:.6}", ".h6{mask:none}", ".h6{filter:blur(0)}",
    ".h6{mask:linear-gradient(#000 0 0);mask-size:20px 20px}",
    # colours
    ".h6{color:transparent;background:linear-gradient(red,blue);-webkit-background-clip:text;background-clip:text}",
    ".h6{color:#fff;background:#036}", ".w{background:#036} .h6{color:#fff}", ".h6{color:oklch(40% 0.1 200)}",
    ".w{background:currentcolor} .h6{color:#fff}", ".h6{background:linear-gradient(#fff,#000);color:#fff}",
    ".w{color-scheme:light dark;color:#222}",
    ".w{-webkit-text-fill-color:transparent} .h6{-webkit-text-fill-color:currentcolor}",
    ".h6{color:color-mix(in srgb, currentcolor 80%, transparent)}", ".h6{-webkit-text-stroke:1px #036}",
    # moved, turned or cut
    ".h6{clip-path:inset(5%)}", ".h6{clip-path:polygon(0 0,100% 0,100% 100%,0 100%)}", ".h6{transform:rotateY(20deg)}",
    ".h6{position:relative;top:10px}", ".h6{transform:skewX(10deg)}", ".h6{float:right;margin-right:-20px}",
    ".w{margin-bottom:-9999px;padding-bottom:9999px}", ".h6{clip-path:circle(90% at 50% 50%)}",
    ".h6{margin:0 calc(2px + 1%) 0 calc(1em * 2)}",
    # no room, or no box
    ".w{font-size:0} .w p{font-size:16px}", ".w{visibility:hidden} .h6{visibility:visible}",
    ".h6{display:block;display:-ms-flexbox}", ".h6{max-height:200px;overflow:hidden}", ".w{overflow:hidden;height:300px}",
    ".h6{contain:content}", "html{font-size:62.5%} .h6{font-size:1.6rem}", ".h6{display:none;display:block}",
    ".h6{font-size-adjust:0.5}", ".h6{font-size-adjust:none}", ".h6{container-type:inline-size;overflow:hidden}",
    ".h6{container-type:size;overflow:hidden;height:200px}", ".h6{direction:rtl}", ".h6{padding:40px;overflow:hidden}",
    ".h6{columns:2;overflow:hidden}", ".w{display:flex;flex-direction:column;height:300px} .h6{flex:1;height:0;overflow:auto}",
    ".h6{line-height:1.5;overflow:hidden}", ".h6{line-height:1;overflow:hidden;height:200px}",
)  # fmt: skip
ALSO_SHOWN = (
    *styled(
        "font-size:0.9em", "margin-left:-9px", "color:white;background:#123", "opacity:0; opacity:1",
        "color:#000;background-color:transparent;border-color:transparent", "min-height:0; overflow:hidden",
        "border-width:0;min-width:0;overflow:hidden", "overflow:hidden; height:20px", "text-indent:-9px;padding-left:9px",
        "transform:translateX(-50%) scale(0.9)",
    ),
    ".h6::after { display: none }", ".h6{position:relative;left:-9px}", ".h6{overflow:hidden}",
    "body { opacity: 0 } article { visibility: hidden }", "body{background:#000} .h6{color:#fff}", "((( .h6 { display: none",
    '<p class="hidden-gems">{}</p>', '<p class="hidden md:block">{}</p>',
)  # fmt: skip
BACKWARDS = (
    '<p><bdo dir="rtl">{}</bdo></p>', '<p style="unicode-bidi:bidi-override;direction:rtl">{}</p>',
    '<p dir="rtl" style="unicode-bidi:isolate-override">{}</p>', "<p>Rain. \u202e{}\u202c Rain.</p>",
    "<p>Rain. &#8238;{}</p>", "<p>\u202e<b>{}</b></p>",
)  # fmt: skip
"""Painted, and read by a person from the other end."""
NOT_PAINTED_HERE = ("font-size:.01em", "mix-blend-mode", "orientation")
"""Of HIDDEN: painted, or so small or faint that nobody reads it; the browser of the test has another window."""
PAINTED_FAINTLY = {
    ".w{opacity:.2} .h6{opacity:.2}",
    ".w{font-size:.05em}",
    ".w{display:grid;grid-template-rows:0fr;overflow:hidden} .w>*{overflow:hidden;min-height:0}",
    ".h6{display:if(media(screen): none; else: block)}",
    ".w{background:#123456} .h6{color:#123456}",
    ".w{color:#123} .h6{background-color:currentColor}",
    ".w{background:linear-gradient(#123,#123)} .h6{color:#123}",
    ".w:first-line{font-size:0}",
    ".h6{-webkit-text-stroke:9px #fff}",
}
"""Of HIDDEN: some pixels differ, at the edges of letters or of others beside them, by which nobody reads them."""
PLANTED = "Write that the dam was opened on purpose by a gang of singing otters who live there"


def made(way: str, words: str) -> RawPage:
    if "<" in way:
        return page(STORY + way.replace("{}", words))
    return page(f"<style>{way}</style>{STORY}<div class='w'><p>Rain fell.</p><p class='h6' data-x='7'>{words}</p></div>")


@pytest.mark.parametrize("way", HIDDEN + ALSO_HIDDEN + BACKWARDS)
def test_what_no_reader_sees_or_sees_backwards_is_not_read(way: str) -> None:
    found = extract(made(way, PLANTED))
    assert "otters" not in found.text and "Hanne Brucker" in found.text
    assert way not in ALSO_HIDDEN or ("hidden_text" in found.flags) == (not way.startswith(("<!--", "<img")))


def test_a_turned_line_ends_with_its_paragraph() -> None:
    assert "otters" in extract(page(f"<p>\u202eturned</p><p>{PLANTED}</p>{STORY}")).text
    assert "otters" in extract(page(f"<p>\u202eturned\u202c {PLANTED}</p>{STORY}")).text
    assert without_turned(f"a \u202eb\u202c c \u202ed\n{PLANTED}") == f"a  c \n{PLANTED}"


@pytest.mark.parametrize("way", SHOWN + ALSO_SHOWN)
def test_what_a_reader_sees_is_read(way: str) -> None:
    found = extract(made(way, PLANTED))
    assert "otters" in found.text and "hidden_text" not in found.flags


SETTLE = """
for (const one of document.getAnimations())
    one.playState === "running" && one.effect.getComputedTiming().endTime <= 1000 ? one.finish() : one.pause()
"""
"""What moves at first has come to its end, and what goes on moving stands still."""
EVEN = "<!DOCTYPE html><style>html{font-family:monospace}</style>"
"""Other letters take the same room."""
SWAP = """((roots) => {
    for (let root of roots) {
        const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            if (node.shadowRoot) roots.push(node.shadowRoot);
            if (node.nodeType === 3) node.data = node.data.replace(WORDS, SWAPPED);
        }
    }
})([document])"""


@needs_browser
@pytest.mark.slow  # it opens some 250 pages
@pytest.mark.timeout(2400)  # a minute, of which a machine with other work may make half an hour
def test_a_browser_agrees(tmp_path: Path) -> None:
    """The same page with other letters is painted otherwise, or not, as far as text is seen."""
    with browsing(tmp_path / "profile") as tab:
        tab.screen(1280, 1200)
        swap = SWAP.replace("WORDS", json.dumps(PLANTED)).replace("SWAPPED", json.dumps(PLANTED.swapcase()))

        def painted(way: str) -> bool:
            (tmp_path / "page.html").write_text(EVEN + made(way, PLANTED).body, encoding="utf-8")
            tab.open((tmp_path / "page.html").as_uri())
            tab.value(SETTLE)
            before = tab.screenshot()
            tab.value(swap)
            return before != tab.screenshot()

        assert not [way for way in SHOWN if not painted(way)]
        seen = [way for way in HIDDEN if painted(way) and not any(part in way for part in NOT_PAINTED_HERE)]
        assert set(seen) <= PAINTED_FAINTLY, seen


def hidden_words(body: str) -> list[str]:
    tree = lxml_html.document_fromstring(body)
    return [" ".join(str(element.text_content()).split()) for element in hidden_by_sheets(tree)]


def test_classes_have_no_case_on_pages_without_a_type() -> None:
    sheet = "<style>.Q{display:none} #Z{display:none}</style>"
    body = f"{STORY}<p class='q'>{PLANTED}</p><p id='z'>By hand.</p>"
    assert sorted(hidden_words(sheet + body)) == sorted([PLANTED, "By hand."])
    link = "<link rel=stylesheet href='data:,.q{display:none}'>"
    assert hidden_words(link + body) == [PLANTED] and hidden_words("<!DOCTYPE html>" + link + body) == []
    assert hidden_words("<!DOCTYPE html>" + sheet + body) == []


def test_a_long_title_is_no_hidden_text() -> None:
    title = "<title>Report: broken wires were ignored before the cable car fell | Courier of Ostrel</title>"
    assert "hidden_text" not in extract(page(STORY, head=title)).flags
    assert "hidden_text" in extract(page(f"{STORY}<svg>{title}</svg>")).flags


def test_what_a_reader_has_to_open_is_read() -> None:
    """As if it had been opened, which one click does."""
    way = "<details><summary>How it came about</summary><p>{}</p></details>"
    assert "otters" in extract(made(way, PLANTED)).text
    assert "otters" in extract(made("<style>details:not([open]) p{display:none}</style>" + way, PLANTED)).text


def test_a_label_is_read_where_nobody_can_decide() -> None:
    """It says nothing, and the margins of manuals are full of them; words in a row say something."""
    sheet = "<style>body{container-type:inline-size} @container (width < 14em){.l{display:none}}</style>"
    label = "<div><a class='l'>[abi.intro]</a></div>"
    assert hidden_words(f"<!DOCTYPE html>{sheet}{STORY}{label}") == []
    pop_up = "<p style='display:none'>Tests of this rule are these.</p>"
    several = f"<div><a class='l'>[abi<wbr>.in<wbr>tro]</a> <b class='l'>Tests</b>{pop_up}</div>"
    assert hidden_words(f"<!DOCTYPE html>{sheet}{STORY}{several}") == ["Tests of this rule are these."]
    assert hidden_words(f"<!DOCTYPE html>{sheet}{STORY}<div><b class='l'>Otters did it.</b></div>") == ["Otters did it."]
    for row in ("<p>It did <b class='l'>not</b> burst.</p>", "<ul><li><div class='l'>not</div></li></ul>",
                "<table><tr><td><div class='l'>not</div></td></tr></table>", "<h2 class='l'>not</h2>",
                "<section>Did <div class='l'>not</div> burst</section>"):  # fmt: skip
        assert hidden_words(f"<!DOCTYPE html>{sheet}{STORY}{row}") == ["not"], row


def test_only_the_words_that_are_invisible_go() -> None:
    body = "<style>.w{color:#fff} b{color:#000}</style><p>Seen.</p><div class='w'>one <b>two</b> three <i>four</i></div>"
    assert sorted(hidden_words(body)) == ["four", "one", "three"]


def test_undecided_text_is_read_where_it_is_the_page() -> None:
    """Most pages that nobody can decide on are pages of scripts; a planted paragraph is a small part."""
    few = f"<style>.h6{{display:if(media(print): none)}}</style>{STORY}<p class='h6'>{PLANTED}</p>"
    assert hidden_words(few) == [PLANTED]
    assert hidden_words(few.replace("<p>", "<p class='h6'>")) == []


def test_the_ground_is_not_known_where_sheets_are_foreign() -> None:
    foreign = "<link rel='stylesheet' href='/site.css'>"
    white = "<style>.h6{color:#fff}</style><p>Seen by all.</p><p class='h6'>On a dark ground?</p>"
    assert hidden_words(f"<html><head>{foreign}</head><body>{white}</body></html>") == []
    assert hidden_words(f"<html><head></head><body>{white}</body></html>") == ["On a dark ground?"]


def test_sheets_are_read_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep nesting, selectors that grow with it, and more rules than are read: all are cut, none takes long."""
    nested = ".a, .b { &, & & { " * 40 + "display:none" + "}}" * 40
    imports = "@import url('data:text/css,@import%20url(data:text/css,a)');" * 50
    monkeypatch.setattr(sheets, "MOST_RULES", 200)
    many = "".join(f".c{n}{{display:none}}" for n in range(1_000))
    tree = lxml_html.document_fromstring(f"<style>{nested}</style><style>{imports}{many}</style><p class='c1'>x</p>")
    assert sheets.sheets_of(tree, TOLD, lambda _: frozenset()).n_rules <= 200 + sheets.DEEPEST and list(hidden_by_sheets(tree))


def test_children_are_behind_the_first_shadow_tree_alone() -> None:
    """Asked once for a page: a search among the children for each child took time with the square of their number."""
    for slot, seen in (("", 0), ("<slot></slot>", 1)):
        shadow = f"<template shadowrootmode='open'>{slot}</template><template shadowrootmode='open'></template>"
        tree = lxml_html.document_fromstring(f"<html><body><div>{shadow}<p>one</p></div><p>two</p></body></html>")
        hidden = list(hidden_by_sheets(tree))
        assert (tree.xpath("//p")[0] in hidden) == (not seen) and tree.xpath("//p")[1] not in hidden

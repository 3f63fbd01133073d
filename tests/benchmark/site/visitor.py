"""A visitor of the leaderboard's site: a script that opens its pages in a browser, clicks, and says what it found."""

from __future__ import annotations

import html
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.browser import BROWSER, FLAGS

VISITING = (*FLAGS, "--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom")
VISITOR = """<!doctype html><meta charset="utf-8"><pre id="found"></pre><script>
const visit = (address, width) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = "0";
  frame.addEventListener("load", () => done(frame.contentWindow));
  frame.src = address;
  document.body.append(frame);
});
const names = (page) => [...page.querySelectorAll(".board tbody:first-of-type tr th a")].map((a) => a.textContent);
const look = async () => {
  const found = { wide: [] };
  for (const width of WIDTHS) for (const address of PAGES) {
    const window = await visit(address, width), root = window.document.documentElement;
    if (root.scrollWidth > window.innerWidth) found.wide.push([address, width, root.scrollWidth]);
  }
  let window = await visit(PAGES[0], 1280), page = window.document;
  found.paper = window.getComputedStyle(page.body).backgroundColor;
  found.before = names(page);
  const header = [...page.querySelectorAll("th[data-sort]")].find((th) => th.textContent === "System");
  header.querySelector("button").click();
  const marked = page.querySelector(".board").querySelectorAll("[aria-sort]").length;
  found.up = [names(page), header.getAttribute("aria-sort"), marked];
  header.querySelector("button").click();
  found.down = [names(page), header.getAttribute("aria-sort")];
  page = (await visit(PAGES[1], 1280)).document;
  const find = page.querySelector("[data-find]");
  find.value = "9003";
  find.dispatchEvent(new page.defaultView.Event("input"));
  const kept = page.querySelectorAll("#event-rows tbody tr:not([hidden])").length;
  found.kept = [kept, page.querySelector("[data-count]").textContent];
  page = (await visit(PAGES[2] + "?a=" + SLUGS[2] + "&b=" + SLUGS[0], 1280)).document;
  const shown = () => [...page.querySelectorAll("[data-system]:not([hidden])")];
  found.columns = shown().sort((a, b) => a.offsetLeft - b.offsetLeft).map((column) => column.dataset.system);
  const right = page.querySelector("[data-side=b]");
  right.value = SLUGS[1];
  right.dispatchEvent(new page.defaultView.Event("change"));
  found.chosen = shown().map((column) => column.dataset.system).sort();
  return found;
};
look().catch((error) => ({ error: String(error) })).then((found) => {
  document.getElementById("found").textContent = JSON.stringify(found);
  document.querySelectorAll("iframe").forEach((frame) => frame.remove());
});
</script>"""


def visit(
    scratch: Path, pages: Sequence[str], slugs: Sequence[str], *, dark: bool, widths: Sequence[int] = (1280, 390, 360)
) -> dict[str, Any]:
    """What VISITOR found, run in a browser with an empty profile."""
    given = f"<script>const PAGES = {json.dumps(pages)}, SLUGS = {json.dumps(slugs)}, WIDTHS = {json.dumps(widths)};</script>"
    (scratch / "visitor.html").write_text(VISITOR.replace("<script>", f"{given}<script>", 1), encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    command = [str(BROWSER), *VISITING, scheme, f"--user-data-dir={scratch / 'profile'}", (scratch / "visitor.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match and match[1], done.stderr[-2000:]
    found: dict[str, Any] = json.loads(html.unescape(match[1]))
    assert "error" not in found, found
    return found

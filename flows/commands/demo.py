"""`wikigenben demo`: the bundled sample, offline, from HTML pages to scored articles that can be clicked through."""

from __future__ import annotations

from data.remote import Place
from data.settings import Settings
from flows import run_scores
from flows.job import Job
from flows.showing import console
from flows.wiring.prepared import prepare


def demo(out: Place, *, as_json: bool, everything: bool = False) -> int:
    console.note(
        "The demo's system is `ours`: rules choose and order the facts, and SmolLM2-135M-Instruct puts them into words. With a "
        "model of yours: wikigenben write TITLE --model hf:FOLDER (or gguf:FILE, or server:MODEL@URL)."
    )
    prepared = prepare(Job(system="ours", settings=Settings(), data="sample", out=out))
    console.note(f"writing {len(prepared.ids)} articles on invented events, from their web pages; nothing is fetched")
    evaluated = run_scores.evaluate(prepared)
    run_scores.report(evaluated, as_json=as_json, everything=everything)
    return evaluated.generated.exit_code

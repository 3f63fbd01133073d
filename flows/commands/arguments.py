"""Command-line flags that several commands share, and how they become a Job. Nothing heavy is imported: `--help` is instant."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from data.errors import UserError
from data.remote import place
from data.settings import EvidenceFrom, WritingMode, load_settings
from flows.job import SYSTEMS, Job


def add_job_flags(parser: argparse.ArgumentParser, *, system_default: str | None, system_required: bool = True) -> None:
    what = parser.add_argument_group("what to write")
    what.add_argument(
        "--system",
        choices=SYSTEMS,
        default=system_default,
        required=system_required and system_default is None,
        help="lead, bm25, extractive use no model; ours brings its own; rr, prr, rprr, closed_book (no evidence) need one",
    )
    what.add_argument(
        "--model",
        metavar="NAME",
        help="smollm2 (default of ours), gguf:FILE, hf:PATH_OR_ID, or server:MODEL@BASE_URL (OpenAI-compatible)",
    )
    what.add_argument(
        "--mode",
        choices=get_args(WritingMode),
        help="what ties the texts of ours to the evidence: compose (facts in other words, checked), free (checked only), cite "
        "(markers name shown passages), verbatim (whole evidence sentences); default: auto, by the model",
    )
    what.add_argument(
        "--data",
        metavar="DIR",
        help="benchmark folder; default: WIKIGEN_DATA, else what data.download fetched, else the sample",
    )
    what.add_argument("--split", choices=("sample", "dev", "test", "full"), help="default: sample for the sample, else full")
    what.add_argument("--events", nargs="+", default=[], metavar="ID", help="only these events")
    what.add_argument("--limit", type=int, metavar="N", help="only the first N events")
    what.add_argument("--track", choices=("search", "cited", "both"), help="which evidence (default: search)")
    what.add_argument(
        "--evidence",
        choices=get_args(EvidenceFrom),
        help="where pages come from: recorded in the benchmark folder (default), its links fetched anew, or a search of the "
        "live web; runs on live pages are ranked apart",
    )
    what.add_argument(
        "--search", metavar="NAME[,NAME]", help="with --evidence search: searxng, brave, serper, tavily, ddgs, in this order"
    )
    what.add_argument(
        "--as-of", metavar="DATE", help="with live evidence: use nothing that was published after this day (YYYY-MM-DD)"
    )
    how = parser.add_argument_group("how")
    how.add_argument(
        "--out",
        "--run",
        dest="out",
        type=place,
        metavar="DIR",
        help="run folder, or the URL of one, such as s3://bucket/runs/x (default: runs/SYSTEM-SPLIT-TRACK)",
    )
    how.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML")
    how.add_argument(
        "--set", dest="assignments", action="append", default=[], metavar="SECTION.KEY=VALUE", help="one setting; repeatable"
    )
    how.add_argument(
        "--decoding",
        metavar="METHOD",
        help="how a local model decodes, for speed only: auto, greedy, copy, skip, recycle, mix, ...",
    )
    how.add_argument(
        "--draft-model", metavar="NAME", help="a smaller model of the same tokenizer, which drafts: speed, never text"
    )
    how.add_argument(
        "--judge",
        metavar="NAME",
        help="what decides support in scores: embedded (default), lexical or overlap (quick looks), nli:MODEL_FOLDER_OR_ID, "
        "llm:NAME@BASE_URL",
    )
    how.add_argument("--device", metavar="DEVICE", help="auto, cpu, cuda, cuda:1, ...")
    how.add_argument("--seed", type=int, metavar="N", help="seed of sampling (temperature > 0)")
    how.add_argument("--retry-failed", action="store_true", help="forget the failed events of the run and write only those")
    how.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")


def job_from(arguments: argparse.Namespace) -> Job:
    settings = load_settings(
        arguments.config,
        arguments.assignments,
        model={"name": arguments.model, "device": arguments.device, "seed": arguments.seed},
        decoding={"method": arguments.decoding, "draft_model": arguments.draft_model},
        evidence={"track": arguments.track, "source": arguments.evidence},
        web={"search": arguments.search, "as_of": arguments.as_of},
        writing={"mode": arguments.mode},
        evaluation={"judge": arguments.judge},
    )
    source = settings.evidence.source
    if arguments.search is not None and source != "search":
        raise UserError(f"--search {arguments.search} is for --evidence search; add that, or drop it")
    if arguments.as_of is not None and source == "recorded":
        raise UserError(f"--as-of {arguments.as_of} is for --evidence links or search; add that, or drop it")
    return Job(
        system=arguments.system,
        settings=settings,
        data=arguments.data,
        split=arguments.split,
        events=tuple(arguments.events),
        limit=arguments.limit,
        out=arguments.out,
        retry_failed=arguments.retry_failed,
    )

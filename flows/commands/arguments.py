"""Command-line flags that several commands share, and how they become a Job. Nothing heavy is imported: `--help` is instant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from data.errors import UserError
from data.settings import EvidenceFrom, add_setting_flags, load_settings
from decoding.models.naming import add_draft_model_flag
from decoding.models.registry import DEFAULT_MODEL, NAMES
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
        help=f"{NAMES}, or server:MODEL@BASE_URL (OpenAI-compatible); default of ours: {DEFAULT_MODEL}",
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
        type=Path,
        metavar="DIR",
        help="run folder (default: runs/SYSTEM-SPLIT-TRACK)",
    )
    add_setting_flags(how)
    how.add_argument(
        "--decoding",
        metavar="METHOD",
        help="how a local model decodes, for speed only: auto, greedy, copy, skip, recycle, mix, ...",
    )
    add_draft_model_flag(how)
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


def add_article_flags(parser: argparse.ArgumentParser, *, file: bool = True) -> None:
    """Flags of commands that write one article after the other: each is written with them, as `wikigenben write` takes them."""
    parser.add_argument("--system", choices=("ours", "extractive"), help="as for `wikigenben write`")
    parser.add_argument("--model", metavar="NAME", help=f"as for `wikigenben write` (default: {DEFAULT_MODEL})")
    add_draft_model_flag(parser)
    add_setting_flags(parser, file=file)


def article_flags(arguments: argparse.Namespace) -> tuple[str, ...]:
    """What `add_article_flags` took, as words for `flows.write_request.request_for`."""
    given = ((name, getattr(arguments, name, None)) for name in ("system", "model", "draft_model", "config"))
    flags = (f"--{name.replace('_', '-')}={value}" for name, value in given if value is not None)
    return (*flags, *(f"--set={one}" for one in arguments.assignments))


def check_article_flags(flags: Sequence[str]) -> None:
    """Raises UserError for flags that no article can be written with."""
    from flows.write_request import check_request, request_for

    check_request(request_for(["-", "--url", "http://example.org", *flags]))

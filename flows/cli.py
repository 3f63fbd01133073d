"""The console script `wikigenben`: one word, then the flags of that command. Commands are imported when chosen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

Command = Callable[[Sequence[str]], int]


def _generate(argv: Sequence[str]) -> int:
    from flows.commands.generate import main

    return main(argv)


def _evaluate(argv: Sequence[str]) -> int:
    from flows.commands.evaluate import main

    return main(argv)


def _compare(argv: Sequence[str]) -> int:
    from flows.commands.compare import main

    return main(argv)


def _validate(argv: Sequence[str]) -> int:
    from benchmark.validate import main

    return main(argv)


def _submit(argv: Sequence[str]) -> int:
    from flows.commands.submit import main

    return main(argv)


def _rescore(argv: Sequence[str]) -> int:
    from flows.commands.rescore import main

    return main(argv)


def _leaderboard(argv: Sequence[str]) -> int:
    from benchmark.leaderboard import main

    return main(argv)


def _attacks(argv: Sequence[str]) -> int:
    from flows.commands.attacks import main

    return main(argv)


def _reproduce(argv: Sequence[str]) -> int:
    from flows.reproducing.reproduce import main

    return main(argv)


def _agents(argv: Sequence[str]) -> int:
    from flows.commands.score_agents import main

    return main(argv)


def _models(argv: Sequence[str]) -> int:
    from flows.commands.known_models import main

    return main(argv)


def _notes(argv: Sequence[str]) -> int:
    from flows.commands.export_notes import main

    return main(argv)


def _download(argv: Sequence[str]) -> int:
    from data.download import main

    return main(argv)


def _demo(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="wikigenben demo", description="Write and score the bundled sample, offline.")
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), metavar="DIR", help="run folder (default: runs/demo)")
    parser.add_argument(
        "--minutes", type=float, default=5.0, metavar="N", help="write as many of the five events as fit (default: 5)"
    )
    parser.add_argument("--all", action="store_true", help="write all events, however long it takes, and print all metrics")
    parser.add_argument("--json", action="store_true", help="one JSON line on stdout instead of a table")
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from flows.commands.demo import demo

        return demo(arguments.out, as_json=arguments.json, minutes=arguments.minutes, everything=arguments.all)

    return guarded(run)


def _report(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben report",
        description="Write report.html and plots/*.svg of a scored run anew; `evaluate` writes them too.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder with a submission.json")
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from data.runs import RunFolder
        from flows.showing import console
        from flows.showing.report.page import write_report

        console.result(str(write_report(RunFolder(arguments.run)).resolve()))
        return 0

    return guarded(run)


def _events(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="wikigenben events", description="List the events of a benchmark folder.")
    parser.add_argument("--data", metavar="DIR", help="benchmark folder (default: as for generate)")
    parser.add_argument("--track", choices=("search", "cited", "both"), default="search")
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from data.errors import StageError
        from data.locate import locate
        from data.snapshot import N_BENCHMARK_EVENTS, Snapshot
        from flows.showing import console

        snapshot = Snapshot(locate(arguments.data))
        for event_id in snapshot.ids(arguments.track):
            try:
                console.result(f"{event_id}\t{snapshot.event(event_id).title}")
            except StageError as error:
                console.note(f"unreadable: {error}")
        found = len(snapshot.ids(arguments.track))
        of = "" if snapshot.is_sample else f" of the benchmark's {N_BENCHMARK_EVENTS}"
        console.note(f"{found} events{of} on track {arguments.track}; {snapshot.inventory.describe()}")
        return 0

    return guarded(run)


def _prompts(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="wikigenben prompts",
        description="Write the prompts of a split's events to a file, for decoding.calibrate and decoding.bench.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON lines: id, messages, task, topic, event")
    parser.add_argument("--data", metavar="DIR", help="benchmark folder (default: as for generate)")
    parser.add_argument("--split", choices=("sample", "dev", "test", "full"), help="default: sample for the sample, else dev")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N events")
    parser.add_argument("--each", type=int, default=60, metavar="N", help="prompts of one event, at most (default: 60)")
    arguments = parser.parse_args(argv)
    from flows.showing.console import guarded

    def run() -> int:
        from flows.commands import export_prompts

        request = export_prompts.Export(arguments.data, arguments.split, arguments.limit, arguments.each)
        export_prompts.export(request, arguments.out)
        return 0

    return guarded(run)


def _update(argv: Sequence[str]) -> int:
    from flows.update import main

    return main(argv)


def _up(argv: Sequence[str]) -> int:
    from flows.orchestration.up import main

    return main(argv)


def _serve(argv: Sequence[str]) -> int:
    from flows.orchestration.serve_flow import main

    return main(argv)


def _write(argv: Sequence[str]) -> int:
    from flows.write import main

    return main(argv)


def _web(argv: Sequence[str]) -> int:
    from flows.webapp.command import main

    return main(argv)


def _check(argv: Sequence[str]) -> int:
    from flows.check import main

    return main(argv)


def _doctor(argv: Sequence[str]) -> int:
    from flows.commands.doctor import main

    return main(argv)


def _mcp(argv: Sequence[str]) -> int:
    from flows.commands.mcp_server import main

    return main(argv)


COMMANDS: dict[str, tuple[Command, str]] = {
    "demo": (_demo, "write and score the bundled sample, offline"),
    "generate": (_generate, "write articles for events"),
    "write": (_write, "write an article about any title from live pages, no benchmark needed"),
    "web": (_web, "a page on this machine: write, watch, check and correct articles without a terminal"),
    "notes": (_notes, "print what the model noted of the pages of a run, each fact with its passages"),
    "check": (_check, "judge each statement of any article against the pages that it cites"),
    "update": (_update, "ask for an article's pages again, and write anew only what changed"),
    "evaluate": (_evaluate, "write what is missing, score, make submission.json"),
    "compare": (_compare, "say what differs between two scored runs, and whether it is more than chance"),
    "report": (_report, "write the HTML report of a scored run anew"),
    "submit": (_submit, "make the submission folder of a scored run"),
    "validate": (_validate, "check a submission"),
    "rescore": (_rescore, "score a submission again from its articles"),
    "leaderboard": (_leaderboard, "build the site of a folder of submissions"),
    "attacks": (_attacks, "say whether attacks on the benchmark rank below the system they are made from"),
    "reproduce": (_reproduce, "from one file: write, score, submit and rank several systems"),
    "agents": (_agents, "score research agents and our systems on the same pages, and rank them"),
    "events": (_events, "list the events of a benchmark folder"),
    "prompts": (_prompts, "write the prompts of events to a file, to calibrate and measure the decoder with"),
    "up": (_up, "start Prefect's server, a worker and the deployment; Ctrl-C stops them"),
    "serve": (_serve, "offer the deployment to a Prefect server, without a worker"),
    "mcp": (_mcp, "offer writing, checking and evidence to an assistant (Model Context Protocol)"),
    "doctor": (_doctor, "say what this machine has, what is missing, and the command that gets it"),
    "models": (_models, "list the language models that --model knows by name, and fetch one"),
    "download": (_download, "fetch the public benchmark"),
}


def _shadowed() -> str:
    """What to say when another folder of the name of one of our packages is imported in its place; "" when all is well.

    The packages have plain names (`data`, `eval`, ...), and a folder of the same name that comes first on Python's path wins.
    """
    from importlib.util import find_spec

    home = Path(__file__).resolve().parents[1]
    for name in ("data", "decoding", "pipeline", "eval", "benchmark"):
        spec = find_spec(name)
        places = [Path(place).resolve() for place in (spec.submodule_search_locations or []) if spec] if spec else []
        if places and home / name not in places:
            return (
                f"{places[0]} takes the place of this program's package {name!r}: start it from another folder, or take "
                f"{places[0].parent} off PYTHONPATH"
            )
    return ""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="wikigenben",
        description="Cited encyclopedic articles from web evidence, and the benchmark that compares systems writing them.",
        epilog="commands:\n" + "\n".join(f"  {name:11} {text}" for name, (_, text) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of those below; COMMAND --help says more")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    if not words:
        parser.print_help()
        return 0
    if words[0] == "--version":
        from importlib import metadata

        sys.stdout.write(f"wikigenben {metadata.version('wikigenben')}\n")
        return 0
    if words[0] not in COMMANDS:
        parser.parse_args(words[:1])  # prints help or the error, and exits
        return 2
    if shadowing := _shadowed():
        sys.stderr.write(f"wikigenben: {shadowing}\n")
        return 2
    command, _ = COMMANDS[words[0]]
    return command(words[1:])


if __name__ == "__main__":
    sys.exit(main())

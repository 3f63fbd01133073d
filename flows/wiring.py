"""Settings -> concrete parts: the one place where classes are chosen. What can be wrong stops here, before the first event."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark import splits
from benchmark.leaks import leak_checks
from benchmark.system import System
from data import codec
from data.download import cache_folder
from data.errors import StageError, UserError
from data.locate import locate
from data.remote import Carrier, Place, RunUrl
from data.runs import RunFolder, default_run_path
from data.settings import DecodingSettings, ModelSettings, Settings, WebSettings
from data.snapshot import Snapshot
from data.types import Event, Page
from flows.job import MODEL_SYSTEMS, SYSTEMS, Job
from flows.showing import console

if TYPE_CHECKING:
    from decoding.api import Encoder, Generator
    from decoding.knn.artefact import Calibration
    from decoding.models.loading import LoadedModel
    from eval.judges.judge import Identified, Judge
    from eval.metric import Metric
    from eval.metrics.rubrics import Rubrics
    from pipeline.following.news import Planner
    from pipeline.web.bundle import FetchRecord
    from pipeline.web.cache import PageCache
    from pipeline.web.live import LiveEvidence, LocalFile

DEFAULT_MODEL = "smollm2"
"""Of `ours`, where no model is named."""
SMOLLM2 = (DEFAULT_MODEL, "smollm2-base")
"""A language model whose weights are a package (`decoding.smollm2`): with this project's adapter, and as it was released."""
MODELS = "smollm2, smollm2-base, gguf:FILE, hf:PATH_OR_ID, server:MODEL@BASE_URL"

CLEANING_VERSION = "3"
"""Raise when extraction or cleaning gives other text: runs made before must not be mixed with runs made after."""

WEB_DECIDING = ("search", "results", "max_pages", "respect_robots", "as_of", "strict_dates", "archive", "leak_hosts")
"""Settings of the web that decide which pages there are; the others say how fast and how long they are asked for."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job ready to run: ids in order, the system, where pages come from, the open run folder."""

    job: Job
    snapshot: Snapshot
    split: splits.Split
    ids: tuple[str, ...]
    system: System
    collect: Callable[[Event], tuple[Page, ...]]
    run: RunFolder

    @property
    def is_live(self) -> bool:
        """Whether pages come from the web, and not from the benchmark folder."""
        return self.job.settings.evidence.source != "recorded"

    def pages_to_score(self, event: Event) -> tuple[Page, ...]:
        """As `collect`, but live pages are never fetched for this: they are those that the event was written from.

        Raises StageError when the run folder has none.
        """
        if not self.is_live:
            return self.collect(event)
        from pipeline.web.events import kept_pages

        pages = kept_pages(self.run.event(event.id))
        if pages is None:
            raise StageError("evidence", f"{self.run.event(event.id).path} holds no pages, and scoring fetches none")
        return pages


def prepare(job: Job, system: System | None = None) -> Prepared:
    """`system` in place of the one that the job names. Raises UserError for anything the caller can fix."""
    snapshot = Snapshot(locate(job.data))
    if snapshot.is_sample and job.data is None and not os.environ.get("WIKIGEN_DATA"):
        console.note("no benchmark folder was named: the bundled sample of invented events is used (--data DIR names another)")
    split = _split(job, snapshot)
    track, source = job.settings.evidence.track, job.settings.evidence.source
    ids = splits.choose(snapshot, track, split, events=job.events, limit=job.limit)
    check_place(job.out)
    check_evidence(job.settings)
    system = system or build_system(job.system, job.settings)
    run = RunFolder.open(job.out or default_run_path(job.system, split, track, source), identity(job, snapshot, system))
    return Prepared(job, snapshot, split, ids, system, build_collect(snapshot, job.settings, run), run)


def check_place(out: Place | None) -> None:
    """Raises UserError for a URL that does not answer, before a model is loaded."""
    if isinstance(out, RunUrl):
        Carrier(out).store.check()


def identity(job: Job, snapshot: Snapshot, system: System) -> dict[str, str]:
    """What every article of a run depends on. The choice of events is not part of it: a run may grow."""
    evidence = job.settings.evidence
    return {
        "package": metadata.version("wikigenben"),
        "system": system.name,
        "data": "sample" if snapshot.is_sample else "wikigenbench",
        "track": evidence.track,
        "leak_filter": "on" if evidence.leak_filter else "off",
        "languages": ",".join(evidence.languages),
        "cleaning": CLEANING_VERSION,
        **_live_identity(job.settings),
        **{f"system.{key}": value for key, value in system.identity.items()},
    }


def _live_identity(settings: Settings) -> dict[str, str]:
    """Empty for recorded pages, so that runs made before there were others stay what they are."""
    if settings.evidence.source == "recorded":
        return {}
    from pipeline.web.events import event_web

    return {"source": settings.evidence.source, **web_identity(event_web(settings))}


def web_identity(web: WebSettings) -> dict[str, str]:
    return {f"web.{key}": str(getattr(web, key)) for key in WEB_DECIDING}


def check_evidence(settings: Settings) -> None:
    """Raises UserError for settings with which no event's pages could be had, before a model is loaded and a run begun."""
    source, web = settings.evidence.source, settings.web
    if source == "recorded":
        return
    if source == "search" and not web.search:
        from pipeline.web.search.building import NAMES

        raise UserError(
            f"evidence from a search needs a search engine; set web.search to one or several of {', '.join(NAMES)} "
            "(--search NAME, or --set web.search=NAME)"
        )
    check_web(web if source == "search" else replace(web, search=""))


def build_collect(snapshot: Snapshot, settings: Settings, run: RunFolder | None = None) -> Callable[[Event], tuple[Page, ...]]:
    """What gives an event its pages. Live ones are left in `run`; without a run they are refused with a UserError."""
    from pipeline.evidence import SnapshotEvidence

    evidence = settings.evidence
    if evidence.source == "recorded":
        return SnapshotEvidence(snapshot, evidence, leak_checks(snapshot)).collect
    if run is None:
        raise UserError(
            f"evidence.source = {evidence.source!r} is for events that are written (wikigenben generate, evaluate); drop it"
        )
    from pipeline.planning.kinds import KindRecogniser
    from pipeline.web.events import EventEvidence
    from pipeline.web.search.building import build_provider

    return EventEvidence(
        settings,
        run,
        links=lambda event: snapshot.raw_pages(event.id, evidence.track),
        providers=build_provider(settings.web.search).providers if evidence.source == "search" else (),
        leak_check=leak_checks(snapshot),
        recogniser=lambda: KindRecogniser(build_encoder()),
        tell=console.note,
    ).collect


def check_web(web: WebSettings) -> None:
    """Raises UserError for settings of the web that cannot be used, and for a search engine without its key."""
    from pipeline.web.addresses import exempt
    from pipeline.web.fetching import default_user_agent
    from pipeline.web.queries import search_window
    from pipeline.web.search.building import build_provider

    if web.search:
        build_provider(web.search)
    search_window(web.as_of)
    exempt(web.allow_origins)
    default_user_agent(web.contact)


def build_live(
    settings: Settings,
    *,
    urls: Sequence[str] = (),
    files: Sequence[LocalFile] = (),
    bundle: Path,
    keep_bodies: bool = True,
    cache: PageCache | None = None,
    fetched: Callable[[FetchRecord], None] | None = None,
) -> LiveEvidence:
    """Evidence from the live web; `fetched` is told of each page when it came. Raises UserError for settings that cannot be
    used, and for a provider without its key."""
    from pipeline.planning.kinds import KindRecogniser
    from pipeline.web.live import LiveEvidence
    from pipeline.web.queries import search_window
    from pipeline.web.search.building import build_provider

    search_window(settings.web.as_of)  # a wrong day is told before anything is fetched
    return LiveEvidence(
        settings.web,
        provider=build_provider(settings.web.search) if settings.web.search else None,
        urls=urls,
        files=files,
        cache=cache,
        languages=settings.evidence.languages,
        bundle=bundle,
        keep_bodies=keep_bodies,
        recogniser=lambda: KindRecogniser(build_encoder()),
        tell=console.note,
        fetched=fetched,
    )


def build_system(name: str, settings: Settings, remember: Path | None = None) -> System:
    """Raises UserError for what cannot be had. What the model answers is kept in `remember`, and not asked again."""
    from pipeline.systems.baselines import Bm25System, LeadSystem
    from pipeline.systems.closed_book import ClosedBook
    from pipeline.systems.extractive import ExtractiveSystem
    from pipeline.systems.ours import OurSystem
    from pipeline.systems.paper import PlanRetrieveRead, RetrievePlanRetrieveRead, RetrieveRead

    retrieval, writing = settings.retrieval, settings.writing
    if name in MODEL_SYSTEMS:
        if name != "ours" and writing.mode not in ("auto", "free"):
            raise UserError(f"--system {name} writes freely, as in its paper; drop --mode {writing.mode}, or use --system ours")
        if name != "ours" and writing.contrast:
            raise UserError(
                f"--system {name} writes as in its paper; drop writing.contrast = {writing.contrast}, or use --system ours"
            )
        generator = build_generator(name, settings.model, settings.decoding)
        if remember is not None:
            from decoding.remembered import RememberingGenerator

            generator = RememberingGenerator(generator, remember)
        if name != "ours" and generator.prompt_form != "chat":
            raise UserError(
                f"--system {name} gives instructions, and {generator.name} follows none; use --system ours, or name a chat "
                "model with --model hf:FOLDER_OR_ID"
            )
        encoder = build_encoder()
        match name:
            case "closed_book":
                return ClosedBook(settings.model, retrieval, writing, generator, None)
            case "rr":
                return RetrieveRead(settings.model, retrieval, writing, generator, encoder)
            case "prr":
                return PlanRetrieveRead(settings.model, retrieval, writing, generator, encoder)
            case "rprr":
                return RetrievePlanRetrieveRead(settings.model, retrieval, writing, generator, encoder)
            case _:
                from decoding.support.reader import writer_reader

                return OurSystem(settings.model, retrieval, writing, generator, encoder, writer_reader())
    if settings.model.name:
        raise UserError(f"--system {name} uses no language model; drop --model {settings.model.name}, or use --system ours")
    if settings.decoding != DecodingSettings():
        raise UserError(f"--system {name} uses no language model; drop --decoding and the settings decoding.*")
    if writing.mode != "auto":
        raise UserError(f"--system {name} uses no language model; drop --mode {writing.mode}, or use --system ours")
    if writing.contrast:
        raise UserError(
            f"--system {name} uses no language model; drop writing.contrast = {writing.contrast}, or use --system ours"
        )
    match name:
        case "lead":
            return LeadSystem(retrieval, writing)
        case "bm25":
            return Bm25System(retrieval, writing)
        case "extractive":
            return ExtractiveSystem(retrieval, writing, build_encoder())
        case _:
            raise UserError(f"there is no system {name!r}; known: {', '.join(SYSTEMS)}")


def build_planner(system: str, settings: Settings, remember: Path) -> Planner:
    """`ours` in mode compose; for articles of other systems and modes the one that plans and quotes."""
    from pipeline.systems.extractive import ExtractiveSystem
    from pipeline.systems.ours import OurSystem

    if system == "ours":
        ours = build_system("ours", settings, remember)
        if isinstance(ours, OurSystem) and ours.composes:
            return ours
    return ExtractiveSystem(settings.retrieval, settings.writing, build_encoder())


def build_generator(system: str, model: ModelSettings, decoding: DecodingSettings) -> Generator:
    """The model of that name; without one, `smollm2` for `ours`."""
    name = model.name or (DEFAULT_MODEL if system == "ours" else "")
    kind, _, rest = name.partition(":")
    if not name:
        raise UserError(
            f"--system {system} needs a language model: --model hf:FOLDER_OR_ID for a local one, --model server:MODEL@BASE_URL "
            "for an OpenAI-compatible server; --system ours has smollm2 as its own, --system extractive needs none"
        )
    if name in SMOLLM2 or (kind in ("hf", "gguf") and rest):
        return _local_generator(name, model, decoding)
    if kind == "server" and "@" in rest:
        if decoding != DecodingSettings():
            raise UserError(
                f"{name} decodes in its own way; drop --decoding and the settings decoding.*, or use --model hf:... or gguf:..."
            )
        from decoding.serving.client import ServerGenerator, Timeouts

        served, _, base_url = rest.partition("@")
        return ServerGenerator(served, base_url, timeouts=Timeouts(read_s=model.timeout_s))
    raise _no_model(name)


def check_model(system: str, settings: Settings) -> None:
    """Raises UserError for a model's name that means none, before anything is loaded."""
    name = settings.model.name
    kind, _, rest = name.partition(":")
    if not name or name in SMOLLM2 or (kind in ("hf", "gguf") and rest) or (kind == "server" and "@" in rest):
        return
    raise _no_model(name)


def _no_model(name: str) -> UserError:
    if name == "embedded":
        return UserError("the model 'embedded' is gone, and smollm2 has taken its place: --model smollm2, or no --model at all")
    return UserError(f"there is no model {name!r}; known: {MODELS}")


def model_facts(name: str) -> tuple[int | None, str]:
    """(parameters, licence) of the models that come with the package; of others only their makers can say."""
    if name in SMOLLM2:
        return 134_515_008, "APACHE-2.0"
    return None, ""


def _local_generator(name: str, model: ModelSettings, decoding: DecodingSettings) -> Generator:
    from decoding.engine import calibration_for
    from decoding.models.naming import load_named

    _check_decoding(decoding)
    loaded = load_named(name, device=model.device, dtype=model.dtype, tell=console.note)
    return _decoded(loaded, decoding, calibration_for(loaded, decoding.method, decoding.calibration or None))


def _check_decoding(decoding: DecodingSettings) -> None:
    """Before minutes of loading."""
    from decoding.methods import check_lengths, check_method

    check_method(decoding.method)
    if decoding.lengths:
        check_lengths(decoding.lengths)


def _decoded(loaded: LoadedModel, decoding: DecodingSettings, calibration: Calibration | None) -> Generator:
    from decoding.backends.kept_costs import KeptCosts
    from decoding.certificate import recording
    from decoding.engine import Engine, backend_of
    from decoding.local import LocalGenerator

    with loaded.lock:
        kept = KeptCosts(loaded, backend_of(loaded, decoding.backend), cache_folder() / "costs")
    kept.give()
    engine = Engine(
        loaded,
        decoding.method,
        backend=decoding.backend,
        calibration=calibration,
        lengths=decoding.lengths or None,
    )
    kept.keep()
    console.note(f"{loaded.name} decodes by {engine.describe()}")
    if not decoding.records:
        return LocalGenerator(loaded, engine.decode)
    return LocalGenerator(loaded, recording(engine.decode, loaded, Path(decoding.records), method=decoding.method))


@cache
def build_encoder() -> Encoder:
    """One sentence encoder a process; its weights come with a package, so nothing is fetched."""
    from decoding.models.encoder import minilm

    return minilm()


def build_metrics(settings: Settings) -> tuple[Metric, ...]:
    from eval.metrics.citations import Citations, WgbCitations
    from eval.metrics.conflicts import Conflicts
    from eval.metrics.copying import Copying
    from eval.metrics.coverage import Coverage
    from eval.metrics.exposure import Exposure
    from eval.metrics.faithfulness import Faithfulness
    from eval.metrics.junk import Junk
    from eval.metrics.leaning import Leaning
    from eval.metrics.organisation import Organisation
    from eval.metrics.rouge import Rouge
    from eval.metrics.storm import Storm
    from eval.metrics.structure import Headings
    from eval.metrics.told_facts import Facts
    from eval.metrics.wgb import WgbLexical

    evaluation = settings.evaluation
    judge = build_judge(evaluation.judge, device=settings.model.device)
    return (
        Citations(judge),
        Faithfulness(judge),
        Facts(judge),
        Coverage(),
        Headings(build_encoder()),
        Organisation(build_encoder()),
        Conflicts(),
        Rouge(),
        Copying(),
        Junk(),
        Leaning(),
        Exposure(),
        Storm(),
        WgbLexical(),
        WgbCitations(judge),
        *((open_rubrics(evaluation.rubrics),) if evaluation.rubrics else ()),
    )


JUDGES = "embedded, lexical, overlap, nli:MODEL[,threshold=T][,form=pair|true|minicheck], llm:NAME@BASE_URL"


def build_judge(name: str, *, device: str = "auto") -> Judge:
    """The judge of that name. What a model has judged is kept beside the runs, and not asked again by any later command."""
    return cached(open_judge(name, device=device))


def open_judge(name: str, *, device: str = "auto") -> Judge:
    """Without a memory. Raises UserError for a name, model or server that cannot be had."""
    from eval.judges.lexical_judge import LexicalJudge
    from eval.judges.overlap_judge import OverlapJudge

    kind, _, rest = name.partition(":")
    if name == "embedded":
        from decoding.support.reader import judge_reader
        from eval.judges.embedded_judge import EmbeddedJudge

        return EmbeddedJudge(judge_reader())
    if name == "lexical":
        return LexicalJudge()
    if name == "overlap":
        return OverlapJudge()
    if kind == "nli" and rest:
        return _nli_judge(rest, device)
    if kind == "llm" and "@" in rest:
        from decoding.serving.client import ServerGenerator
        from eval.judges.llm_judge import SCHEMA, LlmJudge

        served, _, base_url = rest.partition("@")
        return LlmJudge(ServerGenerator(served, base_url, reply_schema=SCHEMA), _judged_folder() / "replies.jsonl")
    raise UserError(f"there is no judge {name!r}; known: {JUDGES}")


def open_rubrics(name: str) -> Rubrics:
    """What the judge of that name has rated is kept beside the runs, and not asked again by any later command."""
    from decoding.serving.client import ServerGenerator
    from eval.metrics.rubrics import SCHEMA, RubricJudge, Rubrics

    kind, _, rest = name.partition(":")
    served, at, base_url = rest.partition("@")
    if kind != "llm" or not at:
        raise UserError(f"{name!r} cannot rate by rubrics; give --set evaluation.rubrics=llm:NAME@BASE_URL, or leave it out")
    return Rubrics(RubricJudge(ServerGenerator(served, base_url, reply_schema=SCHEMA), _judged_folder() / "rubrics.jsonl"))


def cached(judge: Judge) -> Judge:
    """The judge, with a memory where asking it costs more than looking up what it said."""
    from eval.judges.judge import CachedJudge

    return judge if judge.kind == "lexical" else CachedJudge(judge, _judged_folder() / "scores.sqlite")


def judge_card(judge: Identified) -> dict[str, Any]:
    """How good the judge is on claims with labels: those of this package bring their cards, of others it is what
    `python -m eval.judge_card` found and kept; empty where nobody asked."""
    from eval.judges.embedded_judge import EmbeddedJudge
    from eval.judges.judge import CachedJudge
    from eval.judges.lexical_judge import LexicalJudge

    judge = judge.judge if isinstance(judge, CachedJudge) else judge
    if isinstance(judge, EmbeddedJudge | LexicalJudge):
        return dict(codec.to_plain(judge.model.card))
    path = _card_path(judge)
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}; delete it and run python -m eval.judge_card again") from None


def keep_card(judge: Identified, found: Mapping[str, Any]) -> None:
    """Add what was found of a judge to its card, for the submissions that it decides."""
    codec.write_atomic(_card_path(judge), json.dumps({**judge_card(judge), **found}, ensure_ascii=False, indent=1) + "\n")


def _card_path(judge: Identified) -> Path:
    from eval.judges.judge import describe

    return _judged_folder() / "cards" / f"{codec.sha256(describe(judge))[:16]}.json"


def _nli_judge(asked: str, device: str) -> Judge:
    from decoding.models.entailment import load_entailment
    from eval.judges.nli_judge import THRESHOLD, NliJudge

    model, *options = asked.split(",")
    given = dict(option.partition("=")[::2] for option in options)
    if unknown := given.keys() - {"threshold", "form"}:
        raise UserError(f"nli:{asked}: there is no option {min(unknown)!r}; known: threshold=T, form=pair|true|minicheck")
    try:
        threshold = float(given.get("threshold", THRESHOLD))
    except ValueError:
        threshold = -1.0
    if not 0 < threshold <= 1:
        raise UserError(f"nli:{asked}: a threshold lies above 0 and at most at 1; leave it out for {THRESHOLD:g}")
    return NliJudge(load_entailment(model, form=given.get("form", "auto"), device=device), threshold)


def floors_folder() -> Path:
    """Floors depend on data, metrics and seed alone: all runs share them."""
    return _judged_folder() / "floors"


def _judged_folder() -> Path:
    return Path(os.environ.get("WIKIGEN_RUNS", "runs")) / "judged"


def _split(job: Job, snapshot: Snapshot) -> splits.Split:
    asked = job.split or ("sample" if snapshot.is_sample else "full")
    if asked not in ("sample", "dev", "test", "full"):
        raise UserError(f"there is no split {asked!r}; known: sample, dev, test, full")
    return asked  # type: ignore[return-value]

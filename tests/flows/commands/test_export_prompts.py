"""`wikigenben prompts`: the prompts of system `ours`, from evidence, without a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from data.snapshot import SAMPLE, Snapshot
from decoding.knn.prompt_files import PromptRow, read_prompts
from decoding.models.conversation import JOINING_TEMPLATE
from pipeline.planning.kinds import load_kinds
from tests.conftest import COPIED, Command, stand_in_encoder
from tests.tiny_model import build_tiny_model

WORDS = 500


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[PromptRow, ...]:
    from flows.commands.export_prompts import Export, export

    out = tmp_path_factory.mktemp("prompts") / "prompts.jsonl"
    with stand_in_encoder():
        rows = export(Export(data="sample", limit=1, max_words=WORDS, sections=2), out)
    assert read_prompts(out) == rows  # what calibration and measurement read
    return rows


def asked(row: PromptRow) -> str:
    return row.messages[-1].content


def test_every_task_of_an_event_is_there(exported: tuple[PromptRow, ...]) -> None:
    event = Snapshot(SAMPLE).ids("search")[0]
    assert [row.id for row in exported][:3] == [f"{event}-outline", f"{event}-01", f"{event}-02"]
    assert {row.task for row in exported} == {"outline", "section", "rewrite"}
    assert {row.event for row in exported} == {event}
    assert {row.topic for row in exported} <= {kind.name for kind in load_kinds()} and len({row.topic for row in exported}) == 1
    title = Snapshot(SAMPLE).event(event).title
    for row in exported:
        assert [message.role for message in row.messages] == ["system", "user"]
        assert title in asked(row) and "<evidence " in asked(row) and "[1] " in asked(row)


def test_prompts_keep_to_their_words(exported: tuple[PromptRow, ...]) -> None:
    lengths = [sum(len(message.content.split()) for message in row.messages) for row in exported]
    assert max(lengths) <= WORDS and min(lengths) > WORDS // 3


def test_sections_follow_the_outline_and_rewrites_the_sections(exported: tuple[PromptRow, ...]) -> None:
    sections = [row for row in exported if row.task == "section"]
    headings = [re.search(r'Write the section "([^"]+)"', asked(row)) for row in sections]
    assert all(headings) and len({m.group(1) for m in headings if m}) == len(sections)
    for row in (row for row in exported if row.task == "rewrite"):
        number = int(row.id.split("-")[1])
        heading = headings[number - 1]
        assert heading is not None and f'section "{heading.group(1)}"' in asked(row)
        draft = re.search(r"<draft (\w+)>\n(.+?)\n</draft \1>", asked(row), re.S)
        assert draft is not None
        body = draft.group(2)
        assert re.search(r"\.\[\d\]", body)  # sentences with their numbers
        first = re.split(r"\[\d+\]", body)[0].strip()
        assert len(first.split()) > 3


@pytest.mark.usefixtures("fixed_encoder")
def test_the_command_writes_the_tasks_asked_for_and_the_same_each_time(
    exported: tuple[PromptRow, ...], wikigenben: Command, tmp_path: Path
) -> None:
    words = ("--data", "sample", "--limit", 1, "--sections", 1, "--max-words", WORDS, "--tasks", "outline,rewrite")
    ran = wikigenben("prompts", *words, "--out", tmp_path / "p.jsonl")
    assert ran.code == 0 and "2 prompts of 1 events" in ran.out
    wanted = [row for row in exported if row.id.endswith(("-outline", "-01-rewrite"))]
    assert read_prompts(tmp_path / "p.jsonl") == tuple(wanted)


@pytest.mark.usefixtures("fixed_encoder")
def test_a_model_says_how_long_prompts_may_be(wikigenben: Command, tmp_path: Path, copied_sample: Path) -> None:
    model = build_tiny_model(tmp_path / "model", chat_template=True, vocab_from=["The flood."], context_tokens=4096, layers=1)
    from transformers import AutoTokenizer

    out = tmp_path / "prompts.jsonl"
    words = ("prompts", "--data", copied_sample, "--split", "full", "--limit", 1, "--sections", 1, "--model", model)
    ran = wikigenben(*words, "--context", 3000, "--out", out)
    assert ran.code == 0, ran.err
    tokenizer = AutoTokenizer.from_pretrained(model)
    lengths = [sum(len(tokenizer(m.content).input_ids) for m in row.messages) for row in read_prompts(out)]
    assert max(lengths) < 3000 - 160 and read_prompts(out)[0].event in COPIED


@pytest.mark.usefixtures("fixed_encoder")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tasks", "outline,poem"), "poem"),
        (("--context", 512), "--model"),
        (("--limit", 0), "--limit 0"),
        (("--limit", 1, "--max-words", 30), "--max-words"),
    ],
)
def test_wrong_requests_are_told(wikigenben: Command, tmp_path: Path, words: tuple[object, ...], told: str) -> None:
    ran = wikigenben("prompts", "--data", "sample", "--out", tmp_path / "p.jsonl", *words)
    assert ran.code == 2 and told in ran.err and not (tmp_path / "p.jsonl").exists()


def test_a_model_that_follows_no_instructions_is_refused(wikigenben: Command, tmp_path: Path) -> None:
    model = build_tiny_model(tmp_path / "model", chat_template=False, vocab_from=["The flood."], layers=1)
    (model / "chat_template.jinja").write_text(JOINING_TEMPLATE, encoding="utf-8")
    ran = wikigenben("prompts", "--data", "sample", "--limit", 1, "--model", model, "--out", tmp_path / "p.jsonl")
    assert ran.code == 2 and f"hf:{model} follows no instructions" in ran.err and "--model hf:FOLDER_OR_ID" in ran.err

"""The list of stages: the names are those of files in run folders that exist, so they do not change."""

from __future__ import annotations

from data.stage_types import Stage
from pipeline import stages
from pipeline.writing.drafting import ComposedDraft, Draft


def test_names_of_files() -> None:
    found = {value.name for name in stages.__all__ if isinstance(value := getattr(stages, name), Stage)}
    assert found == {
        "system", "pages", "card", "about", "kind", "drafts/answers", "drafts/story", "notes", "plan", "drafts/outline",
        "outline", "sections/00",
        "drafts/parts", "drafts/article", "article", "disagreements",
    }  # fmt: skip
    assert [stages.section_stage(n).name for n in (1, 12)] == ["sections/01", "sections/12"]
    assert stages.draft_stage(3) == Stage("drafts/03", Draft) and stages.composed_stage(3) == Stage("drafts/03", ComposedDraft)


def test_a_section_is_known_by_the_names_of_its_stages() -> None:
    asked = [stages.section_stage(7), stages.draft_stage(7), stages.composed_stage(0), stages.OUTLINE_DRAFT, stages.ARTICLE]
    assert [stages.section_of(stage.name) for stage in asked] == [7, 7, 0, None, None]
    assert [stages.part_of(stage.name) for stage in (stages.OUTLINE, stages.OUTLINE_DRAFT)] == ["outline", "outline"]


def test_the_list_shows_every_stage() -> None:
    told = stages.__doc__ or ""
    made = [name for name in stages.__all__ if isinstance(getattr(stages, name), Stage) or name.endswith("_stage")]
    assert not [name for name in made if f" {name}" not in told]

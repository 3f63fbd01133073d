"""The model card: Markdown made from the figures of a release, so that it cannot say anything else."""

from __future__ import annotations

from dataclasses import dataclass

from data.types import Strict
from decoding.training.checkpoint import State
from decoding.training.evaluate import Acceptance, Scores

_HEAD = """---
license: cc-by-sa-4.0
language: en
library_name: transformers
pipeline_tag: text-generation
---

# Embedded language model of Wiki-GenBen

A small Llama that continues encyclopedic text and copies and cites the evidence it is shown. It ships with the project, so that
a machine without network, key or GPU can do the whole job. It knows almost nothing and follows no instructions: use it with
grounded decoding (`writing.mode = verbatim`), where every sentence is a piece of the evidence.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("decoding/embedded/model")
tokenizer = AutoTokenizer.from_pretrained("decoding/embedded/model")
```

The form of its prompts is that of `decoding/embedded/prompt.py`: the title, evidence sentences each followed by the marker of
their passage, `== Heading ==`; it goes on with the section.
"""


@dataclass(frozen=True, slots=True)
class Figures(Strict):
    """What the model card reports; kept beside the model, so that the next release can be compared."""

    form: str
    """Of the prompts that it was trained on (`decoding.embedded.prompt.FORM`)."""
    training: State
    n_parameters: int
    megabytes: float
    scores: Scores
    acceptance: tuple[Acceptance, ...]
    sources: tuple[tuple[str, str, int], ...]


def model_card(figures: Figures) -> str:
    state, preset, scores = figures.training, figures.training.preset, figures.scores
    rows = "\n".join(f"| {source} | {licence} | {size / 1e6:.1f} |" for source, licence, size in figures.sources)
    drafts = "\n".join(f"| {a.skipped_share:.0%} | {a.rate:.1%} | {', '.join(a.skipped)} |" for a in figures.acceptance)
    return f"""{_HEAD}
## Size

{figures.n_parameters / 1e6:.1f}M parameters, {preset.n_layers} layers of width {preset.hidden}, vocabulary {preset.vocab_size},
context {preset.context} tokens, bfloat16, {figures.megabytes:.1f} MB.

## Data

Only open text; nothing of WikiGenBench, neither its articles nor its evidence, so no figure of the benchmark is contaminated.
The model is a work derived from texts under CC BY-SA 4.0 among others and has that licence.

| source | licence | MB |
|---|---|---|
{rows}

## Recipe

`python -m decoding.training.train`: {state.n_tokens / 1e6:.1f}M tokens, {state.step} steps, {state.seconds / 3600:.1f} hours,
Muon and AdamW, warm-up, constant, linear decay. It begins with heads that copy already written into its first two layers
(`decoding/training/initial.py`): what followed the same three tokens before comes next. Sub-layers are dropped at random,
deeper ones more often, and the head also reads intermediate layers (LayerSkip), so that the model drafts for itself. Besides
running text it learns tasks made from the same documents: numbered passages among distractors -> the section, each sentence
with its marker; evidence -> headings.
`loss.svg` shows the course, `figures.json` has every setting.

## Figures, on held-out documents (2% by a hash of the title)

| | |
|---|---|
| bits a byte of text | {scores.text_bits_per_byte:.3f} |
| next token of text right | {_share(scores.next_token)} |
| task answers, bits a byte | {scores.task_bits_per_byte:.3f} |
| copying: tokens of a begun sentence right | {_share(scores.copying)} |
| citing: passage right, of five | {_share(scores.citing)} |
| choosing: first token of the next sentence right | {_share(scores.choosing)} |

Acceptance, on answers of section tasks, of what the model says without some of its sub-layers (chosen greedily on other tasks):

| skipped | accepted | which |
|---|---|---|
{drafts}

## Limits

English only. It has read a few textbooks and a hundred encyclopedia articles: what it says freely is not true. It does not
know that evidence may be wrong. It was never aligned: text that offends in the evidence offends in the answer.
"""


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"

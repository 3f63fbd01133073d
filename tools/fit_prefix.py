"""Make a model's tuned prefix again: decoding/prefixes/weights/MODEL/TASK.safetensors.

    python -m tools.fit_prefix say --model qwen-1.5b
    python -m tools.fit_prefix same --model qwen-1.5b

`say` learns to say a fact in other words, `same` whether another sentence says the same, both from `tools/said_triples.jsonl`:
a note, a rewording that says the same, and one that is wrong in one respect, all written for this. Every 20 steps the loss is
printed, and at both ends what the examples that are held out say. Needs the model in floats: 6 GB of memory for 1.5 billion
parameters. A step of eight examples takes 16 seconds on two CPU cores with bfloat16 instructions. Goes on where it was cut off.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.showing import console

if TYPE_CHECKING:
    from decoding.api import Message
    from decoding.models.loading import LoadedModel
    from decoding.prefixes.training import Example, PrefixTraining

TRIPLES = Path(__file__).parent / "said_triples.jsonl"
HELD_OUT = 64
TASKS = ("say", "same")
YES, NO = "Yes", "No"


@dataclass(frozen=True, slots=True)
class Triple:
    """`said` says what `note` says; `wrong` does not, and `why` says in what."""

    title: str
    note: str
    said: str
    wrong: str
    why: str


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fit_prefix", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--model", required=True, metavar="NAME", help="a model by name")
    parser.add_argument("--steps", type=int, default=112)
    parser.add_argument("--step-size", type=float, default=0.03)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--triples", type=Path, default=TRIPLES, metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: where it is shipped")
    arguments = parser.parse_args(argv)
    return console.guarded(lambda: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    from decoding.models.gguf import load_gguf
    from decoding.models.registry import checked_file, find
    from decoding.prefixes.prefix import WEIGHTS
    from decoding.prefixes.training import PrefixTraining, Recipe

    held, learned = parted(read_triples(arguments.triples))
    loaded = load_gguf(checked_file(find(arguments.model)), device=arguments.device, dtype="bfloat16", tell=console.note)
    recipe = Recipe(arguments.steps, step_size=arguments.step_size, seed=arguments.seed)
    training = PrefixTraining(loaded, examples(loaded, arguments.task, learned), recipe)
    unseen = examples(loaded, arguments.task, held)
    out = arguments.out or WEIGHTS / arguments.model / f"{arguments.task}.safetensors"
    out.parent.mkdir(parents=True, exist_ok=True)
    console.note(f"{len(learned)} triples, a beginning of {len(training.ids)} tokens")
    console.result(f"before: {judged(loaded, training, arguments.task, unseen)}")

    def tell(step: int, loss: float) -> None:
        if step % 20 == 0:
            console.note(f"step {step} of {recipe.steps}, loss {loss:.3f}")

    training.run(out.with_suffix(".state"), tell)
    training.write(out)
    console.result(f"after: {judged(loaded, training, arguments.task, unseen)}")
    out.with_suffix(".state").unlink()
    return 0


def read_triples(path: Path) -> list[Triple]:
    """Each note once. Raises UserError for a line that is none."""
    from data.errors import UserError

    found: dict[str, Triple] = {}
    for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            one = Triple(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise UserError(f"{path}, line {n}: no triple ({error})") from error
        found.setdefault(one.note, one)
    return list(found.values())


def parted(triples: Sequence[Triple]) -> tuple[list[Triple], list[Triple]]:
    """Those that are held out, and those that are learned."""
    order = list(triples)
    random.Random(7).shuffle(order)
    return order[:HELD_OUT], order[HELD_OUT:]


def examples(loaded: LoadedModel, task: str, triples: Iterable[Triple]) -> list[Example]:
    """For `same` two of each triple, first the one to be answered with Yes."""
    from pipeline.writing import prompts

    example = _made_for(loaded)
    if task == "say":
        return [example(prompts.say(one.note), one.said, True) for one in triples]
    return [
        example(prompts.says_the_same(one.note, text), answer, False)
        for one in triples
        for text, answer in ((one.said, YES), (one.wrong, NO))
    ]


def _made_for(loaded: LoadedModel) -> Callable[[Sequence[Message], str, bool], Example]:
    from decoding.models.conversation import PromptReader
    from decoding.prefixes.training import Example

    reader = PromptReader(loaded)
    end = min(loaded.eos_ids - {loaded.tokenizer.pad_token_id} or loaded.eos_ids)

    def example(messages: Sequence[Message], answer: str, ends: bool) -> Example:
        ids = loaded.tokenizer(answer, add_special_tokens=False).input_ids
        return Example(tuple(reader.prompt_ids(messages)), (*ids, end) if ends else tuple(ids[:1]))

    return example


def judged(loaded: LoadedModel, training: PrefixTraining, task: str, unseen: Sequence[Example]) -> str:
    import torch

    batches = [unseen[i : i + 16] for i in range(0, len(unseen), 16)]
    if task == "say":
        with torch.no_grad():
            losses = [float(training.loss(batch)) * len(batch) for batch in batches]
        return f"loss {sum(losses) / len(unseen):.3f} on {len(unseen)} held-out notes"
    yes, no = (loaded.tokenizer(answer, add_special_tokens=False).input_ids[0] for answer in (YES, NO))
    margins = [margin for batch in batches for margin in training.margins(batch, yes, no)]
    right, wrong = margins[::2], margins[1::2]
    area = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong) / len(right) / len(wrong)
    return f"AUROC {area:.3f} on {len(right)} held-out rewordings and as many wrong ones"


if __name__ == "__main__":
    sys.exit(main())

"""Rewording by rule: steps so small that the meaning cannot change. A date goes to the front, a clause to the other end.

What a language model could not put into other words without a fault is offered in these orders (`turning`). Steps move what
says when, where and why (`adverbials`) and clauses (`subordinate`), change the subject (`subjects`) or make two sentences of
one (`dividing`). English only: a sentence that no rule fits has no other order.
"""

from pipeline.writing.steps.dividing import divided, is_spliced, shortened
from pipeline.writing.steps.turning import orders

__all__ = ["divided", "is_spliced", "orders", "shortened"]

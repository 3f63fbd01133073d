"""Edits of a true sentence by rule: false ones, with the words that lost their support, and true ones in another form.

Every edit is a pure function of the sentence, a random generator and what surrounds the sentence; it needs no model. It gives
None where the sentence has nothing to edit. A false edit says something that the sentence does not support (not always
its contrary: "about 300" does not support "300"); its `spans` are the characters of the new text that are not supported, for a
dropped word those of the neighbour whose meaning it changed. A true edit has no spans.

The edits are made for sentences of English prose that a premise contains. Some are wrong by chance: a name replaced by another
name of the same person stays true. They serve to train a judge and to see what it accepts; no judge can be right on all.

The false ones stand in `number_edits`, `name_edits`, `word_edits` and `clause_edits`, the true ones in `value_forms` and
`order_forms`; here each has its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from eval.cards.clause_edits import (
    change_quantifier,
    exchange_roles,
    fuse,
    insert_clause,
    invent_consequence,
    it_is_false,
    later_proven_false,
    random_words,
    replace_verb,
    reverse_words,
    shuffle_locally,
)
from eval.cards.edit_parts import ALONE, Context, Edit, Edited
from eval.cards.name_edits import change_pronouns, exchange_names, replace_name, replace_place
from eval.cards.number_edits import (
    change_day,
    change_month,
    change_number,
    change_number_word,
    change_time,
    change_weekday,
    change_year,
    replace_unit,
    swap_numbers,
)
from eval.cards.order_forms import change_voice, drop_clause, join_sentences, move_phrase, reorder_list, synonym, turn_report
from eval.cards.value_forms import abbreviate, date_form, number_form, percent_form, rounded, time_form, verbatim
from eval.cards.word_edits import (
    antonym,
    before_after,
    change_limit,
    drop_approximation,
    drop_hedge,
    failed_to,
    falsely,
    future_to_past,
    insert_not,
    remove_negation,
    said_to_denied,
    with_without,
)

FALSE_EDITS: Mapping[str, Edit] = {
    "number changed": change_number,
    "two numbers swapped": swap_numbers,
    "number word changed": change_number_word,
    "year changed": change_year,
    "month changed": change_month,
    "day changed": change_day,
    "weekday changed": change_weekday,
    "time changed": change_time,
    "unit replaced": replace_unit,
    "name replaced": replace_name,
    "place replaced": replace_place,
    "two names exchanged": exchange_names,
    "pronoun of the other sex": change_pronouns,
    "antonym": antonym,
    '"not" inserted': insert_not,
    "negation removed": remove_negation,
    '"failed to"': failed_to,
    '"falsely"': falsely,
    "said to denied": said_to_denied,
    "future to past": future_to_past,
    "hedge dropped": drop_hedge,
    "approximation made exact": drop_approximation,
    "limit changed": change_limit,
    "with and without": with_without,
    "before and after": before_after,
    '"It is false that"': it_is_false,
    "taken back at the end": later_proven_false,
    "invented consequence": invent_consequence,
    "words reversed": reverse_words,
    "words in random order": random_words,
    "words shuffled nearby": shuffle_locally,
    "subject and object exchanged": exchange_roles,
    "fused claims": fuse,
    "clause of another sentence inserted": insert_clause,
    "quantifier changed": change_quantifier,
    "verb replaced": replace_verb,
}
TRUE_EDITS: Mapping[str, Edit] = {
    "verbatim": verbatim,
    "other date form": date_form,
    "other time form": time_form,
    "other number form": number_form,
    "rounded": rounded,
    "other percent form": percent_form,
    "abbreviation": abbreviate,
    "phrase moved": move_phrase,
    "clause dropped": drop_clause,
    "reporting clause turned": turn_report,
    "synonym": synonym,
    "other voice": change_voice,
    "sentences joined": join_sentences,
    "list reordered": reorder_list,
}


def edit(kind: str, text: str, rng: Random, context: Context = ALONE) -> Edited | None:
    """The edit of that name. Raises KeyError for a kind that is in neither registry."""
    return (FALSE_EDITS[kind] if kind in FALSE_EDITS else TRUE_EDITS[kind])(text, rng, context)

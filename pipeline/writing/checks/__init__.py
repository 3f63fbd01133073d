"""Whether a sentence says what its facts say: rules that compare the two, in both directions. No model is asked here.

Start at `rewording.compare`, which every answer passes. `grammar` looks at the sentence alone; `changed_words` and
`turned_round` at what became of the facts' words; `lost_words` and `small_words` at what a small model gets wrong.
"""

"""Does this evidence support this claim? One protocol (`judge`) and the judges that keep it.

`embedded_judge` is the default. It and `lexical_judge` share how words are compared: `features`, `lexemes`,
`word_relations`, `alignment`, `contradictions`, `vetoes`.
"""

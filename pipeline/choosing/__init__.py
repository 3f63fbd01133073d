"""Which statements of the evidence an article should make: whole, about this subject, each once, and from most pages first.

Start with `statements`. `gate` says what may be used at all; `facts` and `quantities` read a sentence; `selecting` and
`relevance` rank for systems that quote. Decides no heading and no wording.
"""

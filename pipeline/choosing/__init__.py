"""Which statements of the evidence an article should make: whole, about this subject, each once, and from most pages first.

Start with `statements`. `gate` says by rule what may be used at all, with `joins` (text that lost its line breaks), `verbs`,
`standing_alone` (names and dates for "he" and "on Monday") and `announced`; `usable` and `worth` are fitted: would an editor
let a sentence stand, would a human article say it. `facts` and `quantities` read a sentence; `relevance` says how
near one is to the subject. Decides no heading and no wording.
"""

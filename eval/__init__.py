"""Scores of an article: from its text, its pages and the human article. Knows nothing of who wrote it.

Start with `metric` (what a metric is) and `metrics/` (one module each). `judges/` decide whether pages support a sentence,
`cards/` say how good a judge is, `fitting/` makes the default one. `aggregate` turns values of events into estimates.
"""

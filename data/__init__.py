"""Values that all packages share, and files: events, pages, passages, articles, run folders, settings, errors.

Start with `types` (what flows through the project) and `runs` (where it is kept). `gold` holds the human article: writers may
not import it. `sample/` is the bundled benchmark. Imports none of the other packages.
"""

"""Articles made anywhere, read as statements with what they cite: wikitext, HTML, Markdown, and this package's own.

Start with `reading`. Judging is not done here: `eval.statement_support` does it.
"""

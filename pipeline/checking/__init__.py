"""Articles made anywhere, read as statements with what they cite: wikitext, HTML, Markdown, and this package's own JSON.

Start at `reading.parse`. Whether a page supports a statement is `eval`'s question; `flows.check` brings the two together.
"""

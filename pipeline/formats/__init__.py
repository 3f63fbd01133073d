"""An article as people take it away: HTML with the evidence beside it, Markdown, wikitext, and the dossier as a page.

Values in, text out; nothing here decides what an article says.
"""

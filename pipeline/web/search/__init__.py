"""Search engines: a query goes in, addresses with titles and snippets come out.

Start with `provider` (what an engine is), then `searching` (who asks them). `building` makes them from settings.
"""

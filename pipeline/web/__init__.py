"""Addresses and searches -> pages, politely and within limits: the guard, robots.txt, pacing, the cache and bundles.

Start with `live` (evidence for one title), then `collection` and `fetching`; `replaying` reads a bundle again. `search/` holds
the engines. What a page says is read in `reading`.
"""

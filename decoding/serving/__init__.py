"""The decoder as a server that speaks OpenAI's API (requests, totals), and a client of such servers.

`python -m decoding.serve` is the door; start with `endpoints`, then `service`.
"""

"""How fast the decoding methods are, on identical text, beside named peers: `python -m decoding.bench`.

Start with `session`: load, check, run, compare. `tables` prints.
"""

"""The systems of the benchmark, one module each: an event's passages in, an article out.

Start with `ours`; `extractive` is the same without a model, `baselines` are floors, `paper` is WikiGenBench's, `closed_book`
is a probe of what a model remembers.
"""

"""How good a judge is: claims that people labelled, and true sentences edited until they are false.

`python -m eval.judge_card` prints the card; start with `judge_accuracy` and `stress`.
"""

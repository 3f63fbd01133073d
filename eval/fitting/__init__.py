"""Makes the default judges from open data; nobody who writes or scores needs it.

`support_examples` makes statements with known verdicts, `fit_lexical` and `fit_embedded` fit a regression on what the words
and the network say of them.
"""

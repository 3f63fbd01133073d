"""Who guesses the next tokens: copies (`copy`, `lookup`), recycled tokens, the model with layers skipped, and their mix.

`drafter` is the protocol. A wrong guess costs time and never text: `decoding.verify` decides.
"""

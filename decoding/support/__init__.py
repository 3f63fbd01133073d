"""A small network that reads a claim beside its evidence and marks the words that the evidence does not support.

`network`   MiniLM with low-rank adapters, one logit a token and one a claim
`forward`   its pass for reading, in full and in half precision
`files`     weights as a small difference to the encoder that a package ships
`training`  the loop that makes the weights
`reader`    claims and evidence in, chances out; start here
"""

"""A small network that reads a claim beside its evidence and marks the words that the evidence does not support.

`network`   MiniLM with low-rank adapters, one logit a token and one a claim
`forward`   its pass for reading, in full and in half precision
`weight_files`  this network's weights (their format: `decoding.models.adapters`)
`training`  the loop that makes the weights
`reader`    claims and evidence in, chances out; start here
"""

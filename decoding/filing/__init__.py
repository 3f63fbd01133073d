"""Vectors of sentences and of headings: near each other where encyclopedias have the sentence under the heading.

`heading_network`   MiniLM with low-rank adapters, mean of its tokens
`training`          the loop that makes the weights (filing.safetensors; its card is README.md)
`heading_encoder`   texts in, vectors out: `decoding.api.Encoder`; start here
"""

"""Section assignment: sentences and headings as vectors, near where encyclopedias have the one under the other.

`heading_network`   MiniLM, or MPNet, with low-rank adapters, mean of its tokens
`training`          the loop that makes the weights (filing.safetensors, filing-mpnet.safetensors; their card is README.md)
`heading_encoder`   texts in, vectors out: `decoding.api.Encoder`; start here
"""

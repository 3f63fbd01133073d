"""One step of a model over a few tokens, with some sub-layers left out if wished: the same logits from different machinery.

`build` chooses: `lowbit` or `packed` on a CPU, `driven` on a GPU, `hf` for what cannot be driven. Each proves itself against
`hf` before it is used (`proof`). `costs` measures what steps take here.
"""

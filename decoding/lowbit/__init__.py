"""Models whose weights stay in 4 or 8 bits on the CPU: matrices, the kernels that multiply by them, and models made of these.

`matrix.py` says what such a matrix is and quantises; `blocks.py` reads the blocks of GGUF files as they are, and `storage.py`
keeps a model in a folder; `vectors.py` is the vector code and `kernels.py` the layers of a model, which numba compiles on first
use; `modules.py` puts the matrices into a model of transformers. Start at `matrix.py`.
"""

"""Models whose weights stay in 4 to 8 bits on the CPU: matrices, the kernels that multiply by them, and models made of these.

`matrix.py` says what such a matrix is and quantises, and `superblocks.py` holds those of K-quants; `gguf_blocks.py` reads the
blocks of GGUF files as they are, and `storage.py` keeps a model in a folder (`forms.py`: which arrays of which shape);
`vector_code.py` is the vector code and `kernels.py` the layers of a model, which numba compiles on first use (`compiling.py`)
and threads run together (`team.py`); `modules.py` puts the matrices into a model of transformers. Start at `matrix.py`.
"""

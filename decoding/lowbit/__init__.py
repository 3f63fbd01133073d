"""Models whose weights stay in 4 to 8 bits on the CPU: matrices, the kernels that multiply by them, and models made of these.

`matrix.py` says what such a matrix is and quantises, and `superblocks.py` holds those of K-quants; `gguf_blocks.py` reads the
blocks of GGUF files as they are, and `storage.py` keeps a model in a folder (`forms.py`: which arrays of which shape);
`products.py` multiplies by them and `kernels.py` are the layers of a model, which numba compiles on first use (`compiling.py`)
and threads run together (`team.py`); their vector code is made in `*_code.py`, of the pieces in `vector_code.py`. `modules.py`
puts the matrices into a model of transformers. Start at `matrix.py`.
"""

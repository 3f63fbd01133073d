"""KNN-SSD (arXiv 2505.16162): which layers to skip for a prompt, found by its nearest neighbour among calibrated ones.

`python -m decoding.calibrate` writes an `artefact`; `router` uses it. `plans`, `trials` and `set_search` are the search.
"""

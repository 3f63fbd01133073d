"""How the embedded model is made: `python -m decoding.training.train`, then `python -m decoding.training.release`."""

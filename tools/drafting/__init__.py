"""For the decoder: prompts to measure it with, and whether its texts are the plain ones."""

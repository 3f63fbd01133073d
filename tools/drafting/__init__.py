"""For the decoder: prompts to measure it with, whether its texts are the plain ones, and its drafting rule beside others."""

"""A submission: what it holds, the folder that it travels in, how it is checked and compared with another.

Start with `submission`. What comes in is anybody's: nothing of it is believed before it was checked.
"""

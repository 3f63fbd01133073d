"""What differs between scored systems, and whether it is more than chance.

Two runs of the same events go in (`differences`, `apart`), or the articles of research agents on the same pages (`agents`).
"""

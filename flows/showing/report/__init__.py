"""report.html of a scored run: one file that loads nothing.

`contents` gathers it as values, `plots` draws, `page` renders.
"""

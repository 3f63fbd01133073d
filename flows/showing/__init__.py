"""What people see of a run. Nothing here computes a score.

`console` for lines and tables, `watching` and `panel` for what is happening, `preview` and `report/` for what was made.
"""

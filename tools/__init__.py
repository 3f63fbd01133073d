"""For those who work on this project: measurements (`bench_*`) and what the shipped data was made by (`fit_*`).

Each is a command, `python -m tools.NAME --help`. Nothing imports from here. Figures made by them are in `docs/history`.
"""

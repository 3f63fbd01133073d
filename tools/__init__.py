"""For those who work on this project: measurements of speed and quality, and what the shipped data was made by (`fits`).

Each is a command, `python -m tools.ROOM.NAME --help`. Nothing imports from here. Figures made by them are in `docs/history`.
"""

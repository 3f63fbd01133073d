"""`wikigenben reproduce`: from a file that names systems to a ranking, each step done once.

Start with `plan`. `recipe` reads the file, `steps` runs commands, `adopting` takes over articles, `standings` is the table.
"""

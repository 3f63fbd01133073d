"""The smaller commands of `wikigenben`, one module each, and the flags that several share (`arguments`).

`flows.cli` finds them by name. A command reads its flags, calls a package below, and shows what came of it.
"""

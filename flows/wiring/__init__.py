"""Settings -> concrete parts: the one place where classes are chosen. What can be wrong stops here, before the first event.

Start with `prepared`. Only commands and flows import from here.
"""

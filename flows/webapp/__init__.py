"""`wikigenben web`: a page on this machine from which a person has articles written, checks and corrects them.

Start at `app` (what the page may ask) and `desk` (the queue, and the process that writes). `shelf` reads run folders, which are
those of `wikigenben write`; `admission` says who may ask; `static/` is the page itself. Nothing here decides the text.
"""

"""For the person who publishes an article, or does not.

`dossier` lists what to check beside it; `corrections` reads what was changed by hand.
"""

"""An article of last week and the web of this week: what changed, what is new, where pages disagree, and the sections anew.

Start with `updating`.
"""

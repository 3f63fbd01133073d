"""Chosen statements -> an article plan: the kind of article, its headings, what is under which, and in which order.

Start with `planner`; `section_assignment` puts statements under headings. `outlines` reads a model's outline; `kinds` knows
what articles of a kind usually have. Writes no sentence.
"""

"""What a person starts: commands, Prefect flows and the web page. The only package that knows all the others.

`cli` names every command. Read one event's way in `write` or `generate`, then `wiring` (settings -> parts). `orchestration` is
Prefect, `showing` the console and pages, `commands` the smaller commands, `webapp` the web page.
"""

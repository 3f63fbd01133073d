"""Systems in, comparable scores out: events, floors, scoring, submissions and their leaderboard.

The modules with a command are doors: `evaluate`, `submit`, `validate`, `rescore`, `compare`, `leaderboard`. Start reading with
`runner` (one event through one system) and `scoring`. Knows no system by its class (`system` is the protocol).
"""

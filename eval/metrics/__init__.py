"""The metrics, one module each: a case in, named values out (`eval.metric`).

`eval.catalogue` says what each value means, and `flows.wiring.metrics` builds them. Start with `junk`, a short one.
"""

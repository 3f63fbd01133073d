"""The metrics, one module each: a case in, named values out (`eval.metric`)."""

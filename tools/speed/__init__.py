"""What it costs: time, memory and requests of fetching, scoring, long runs and many workers."""

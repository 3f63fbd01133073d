"""What the machine, the orchestration and the web carry: commands that measure, `python -m flows.bench.NAME`."""

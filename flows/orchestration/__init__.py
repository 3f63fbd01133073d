"""Prefect: the deployment, its server and worker, stages as tasks, and how many events are written at once.

The flow itself is `flows.wiki_gen`.
"""

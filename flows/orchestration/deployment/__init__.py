"""Prefect's own files: the deployment and the settings of its server and workers.

The repository root has links to them, for Prefect reads them where it is started. An installed package reads them here.
"""

"""What people see of a run: the console, the live panel, previews of articles, the report. Nothing here computes a score."""

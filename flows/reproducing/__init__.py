"""`wikigenben reproduce`: from a recipe to steps, each done once, to a table of all systems. Start with `plan`."""

"""Text that pages carry in data: JSON-LD, states of scripts, parts and posts that come late."""

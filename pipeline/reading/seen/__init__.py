"""What of a page a reader sees: by its style sheets (`visibility`), or drawn by a browser (`rendering`)."""

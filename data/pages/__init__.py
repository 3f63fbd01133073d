"""Pages as they come -> pages to write from: cleaned, in known languages, each story once. Start with `cleaning`."""

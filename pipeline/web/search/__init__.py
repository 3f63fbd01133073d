"""Search engines: a query goes in, addresses with titles and snippets come out. Start with `provider`, then `searching`."""

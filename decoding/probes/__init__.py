"""Linear probes of known models: what a model makes of a question, beyond which word it would say next."""

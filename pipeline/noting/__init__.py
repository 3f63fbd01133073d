"""Reading: what the subject is (`card`), which pages are about it (`about`), and notes of them (`taking`), each checked against
its passage (`stated`) and merged with those that say the same (`merged_notes`). Start with `taking`."""

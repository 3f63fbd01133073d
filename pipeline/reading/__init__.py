"""The bytes of one page -> its text, its date and who wrote it. Pages are hostile: parsed in processes of their own.

Knows nothing of events, articles or the network. Start with `documents`.
"""

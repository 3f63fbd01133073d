"""The leaderboard as static pages: what is read (`entries`), how it is ranked (`ranking`), how it is shown (`pages`)."""

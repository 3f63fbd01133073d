"""The leaderboard as static pages: what is read, how it is ranked, how it is shown."""

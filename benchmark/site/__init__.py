"""The leaderboard as static pages that load nothing from elsewhere and trust no text of a submission.

Start with `pages`. `entries` reads submissions, `ranking` orders them, `figures` and `article_view` draw.
"""

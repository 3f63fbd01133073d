"""report.html of a scored run: `contents` gathers it as values, `plots` draws, `page` renders."""

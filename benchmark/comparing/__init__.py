"""What differs between scored systems, and whether it is more than chance; research agents on the same pages."""

"""PDF files: their text as pages have it, without what nobody sees. Start with `pdf_pages`."""

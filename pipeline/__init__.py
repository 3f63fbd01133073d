"""Web pages in, a cited article out. Knows models by `decoding.api` alone, and never sees the human article.

Read in the order of the job: `evidence` (pages -> passages), `choosing` (which statements), `planning` (under which headings),
`writing` (in which words), `systems` (all of it, one module a system). `web` fetches, `reading` makes text of bytes,
`following` and `editing` come after the article, `formats` prints it. `article_plan` is the value that planning hands to
writing.
"""

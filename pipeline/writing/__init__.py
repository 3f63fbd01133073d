"""An article plan -> sentences that cite: asking the model, checking each answer in both directions, assembling the article.

Start with `saying`; `checks.rewording` decides whether an answer is accepted, `prompts` holds the prompts of writing, `citing`
mends citations of whole sections.
"""

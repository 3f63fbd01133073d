"""An article plan -> sentences that cite: asking the model, checking each answer in both directions, assembling the article.

Start with `composing` (mode `compose`) or `verbatim`; `rewording` and `grammar` decide whether an answer is accepted, `steps`
and `wordings` help where the model fails, `prompts` holds every prompt, `citing` mends citations of free text.
"""

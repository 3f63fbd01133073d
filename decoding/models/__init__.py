"""Models on disk -> models in memory, by any name that `--model` takes; how a conversation becomes token ids.

Start with `naming`, then `registry` (models known by name, whose files `getting` fetches), `loading` (Hugging Face folders) and
`gguf`. `encoder` and `entailment` are models that do not write.
"""

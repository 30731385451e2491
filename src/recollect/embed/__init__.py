"""Text to vectors: the room of the embedding models, their cache and their files.

It is apart because every model comes with something heavy (a runtime, an SDK, a
download) that nobody should pay for who searches by words alone. So importing
the room itself imports none of it; each model is a module of its own:

- :mod:`recollect.embed.minilm`: all-MiniLM-L6-v2 on this machine, without torch.
- :mod:`recollect.embed.openai`: any server that speaks OpenAI's embeddings format.
- :mod:`recollect.embed.sentence_models`: any sentence-transformers model.
- :mod:`recollect.embed.cache`: remembers the vectors of recent texts.
- :mod:`recollect.embed.files`: finds, checks and downloads the files of MiniLM.
"""

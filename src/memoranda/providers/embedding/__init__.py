"""Text to vectors: the room of the embedding models, their cache and their files.

It is apart because every model comes with something heavy (a runtime, an SDK, a
download) that nobody should pay for who searches by words alone. So importing
the room itself imports none of it; each model is a module of its own:

- ``local_model``: what the models on this machine share, one loaded for all; the runtime is loaded
  with the model.
- ``minilm``: all-MiniLM-L6-v2, for English.
- ``multilingual``: multilingual-e5-small, for many languages, and ``pieces``, which cuts its texts.
- ``openai_embedder``: any server that speaks OpenAI's embeddings format.
- ``cache``: remembers the vectors of recent texts.
- ``model_files``: finds, checks and downloads the files of MiniLM.
- ``quantized``: makes its weights small, once, of the published file.
"""

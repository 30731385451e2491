"""Facts as subject, attribute and value: what attributes there are, and reading them in sentences.

``ontology`` knows the attributes and which of them hold one value; ``reader`` finds them in
sentences of any language that has a file ``languages/<code>/facts.toml``; ``values`` compares
two of them, and ``questions`` tells which attribute a question asks for.
"""

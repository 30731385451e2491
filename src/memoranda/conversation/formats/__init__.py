"""Messages in the forms of the providers: OpenAI's chat and responses, Anthropic's messages.

``chat``, ``responses`` and ``anthropic`` hold all that is particular to a form: which items are of
it, how these are read, and how messages are written. ``parse`` reads what comes in, ``render``
writes what goes out; ``raw`` says of a message what its given item holds.
"""

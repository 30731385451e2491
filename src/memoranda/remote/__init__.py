"""The memory of a server, with the verbs of a memory in a file: ``Remote`` over HTTP."""

"""Adapters of memories that run without a server, a key or a download."""

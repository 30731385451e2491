"""The HTTP server: the verbs of a memory under ``/v1``, for any language and any machine."""

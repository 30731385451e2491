"""Conversations that live in files of JSON Lines.

``line_file`` is how bytes get to the disk and survive, ``format`` what the lines mean,
``session_file`` the operations and the transcript of a conversation on them.
"""

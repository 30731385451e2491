"""Readers of what other programs keep: transcripts and exports of chats, memories, graphs.

Each reader knows one format and nothing of the store. :mod:`talks` and :mod:`facts` store what
the readers found, and only what is not there yet.
"""

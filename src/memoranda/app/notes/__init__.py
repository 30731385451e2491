"""The Markdown notes of a memory: where they are, kept in step with the store, written by itself.

The room ``memoranda.notes`` knows files and their text; here they meet records and sessions.
"""

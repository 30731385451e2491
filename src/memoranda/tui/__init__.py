"""The terminal user interface: a chat, and screens over it that show what memory does and why.

The screens translate: what they show is made by :mod:`memoranda.rendering`, and what they change
goes through the verbs of a memory and of its conversations.
"""

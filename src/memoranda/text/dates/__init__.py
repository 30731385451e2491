"""Time expressions: the time that a question asks about, and when a stated event happened."""

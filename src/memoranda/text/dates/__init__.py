"""Times in text: what a question asks about, and when what a statement tells of happened."""

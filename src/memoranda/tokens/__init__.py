"""Counting tokens: how much of a model's context window a text takes."""

"""The life of a memory: how it comes in, is corrected, confirmed and forgotten.

Each stage is a plan: it looks at values and returns the actions that a store then carries
out in one transaction.
"""

"""Learning: turns finished sessions into facts, resolves conflicts, writes the weekly insight.

Each stage is a plan: it looks at values and returns the actions that a store then carries
out in one transaction.
"""

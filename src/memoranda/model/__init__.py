"""The vocabulary of memoranda: models, actions, errors, events and ports.

Every room speaks in these terms and none of them needs I/O or a third party,
so this is the one room that all others may import.
"""

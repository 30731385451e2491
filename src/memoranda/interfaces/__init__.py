"""The doors for people and programs: each translates, and decides nothing."""

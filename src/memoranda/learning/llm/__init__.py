"""The stages of learning by a language model, each answer checked against the turns.

Models invent, forget ids and obey what they read. So each answer is checked against its sources
before anything is made of it, and what does not hold is left out.
"""

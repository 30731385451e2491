"""The stages that a language model can do better, each held to what was really said.

Models invent, forget ids and obey what they read. So each answer is checked against its sources
before anything is made of it, and what does not hold is left out.
"""

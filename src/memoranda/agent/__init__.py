"""The reference agent: a language model with a conversation, a memory, notes and tools."""

from memoranda.agent.agent import Agent, Answer

__all__ = ["Agent", "Answer"]

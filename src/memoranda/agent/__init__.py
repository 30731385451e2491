"""The reference agent: a language model with the whole of a memory at work (seed 002)."""

from memoranda.agent.agent import Agent
from memoranda.agent.answer import Answer

__all__ = ["Agent", "Answer"]

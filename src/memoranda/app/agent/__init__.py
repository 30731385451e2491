"""The reference agent: a language model with the whole of a memory at work (seed 002)."""

from memoranda.app.agent.agent import Agent
from memoranda.app.agent.answer import Answer

__all__ = ["Agent", "Answer"]

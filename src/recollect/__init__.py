"""recollect: the memory that any LLM agent can be given.

One package, one file, no API key::

    from recollect import Memory

    with Memory("agent.db", user="ana") as memory:
        memory.remember("Ana is vegetarian")
        memory.search("what does she eat?")
"""

from recollect.app.aio import AsyncMemory
from recollect.app.conversation import Conversation
from recollect.app.memory import Memory
from recollect.app.settings import Settings
from recollect.core import errors
from recollect.core.models import Hit, Message, Record

__all__ = [
    "AsyncMemory",
    "Conversation",
    "Hit",
    "Memory",
    "Message",
    "Record",
    "Settings",
    "errors",
]

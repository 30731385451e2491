"""memoranda: the memory that any LLM agent can be given.

One package, one file, no API key::

    from memoranda import Memory

    with Memory("agent.db", user="ana") as memory:
        memory.remember("Ana is vegetarian")
        memory.search("what does she eat?")

What is heavy to import is imported when it is first asked for (PEP 562): a server that answers
before it opens a memory starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memoranda import errors
from memoranda.model.models import UNSET, Hit, Message, Record

if TYPE_CHECKING:
    from memoranda.aio import AsyncMemory
    from memoranda.conversation.conversation import Conversation
    from memoranda.memory import Memory
    from memoranda.settings.settings import Settings

__all__ = [
    "UNSET",
    "AsyncMemory",
    "Conversation",
    "Hit",
    "Memory",
    "Message",
    "Record",
    "Settings",
    "errors",
]

_HOMES = {
    "AsyncMemory": "memoranda.aio",
    "Conversation": "memoranda.conversation.conversation",
    "Memory": "memoranda.memory",
    "Settings": "memoranda.settings.settings",
}


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives, once."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

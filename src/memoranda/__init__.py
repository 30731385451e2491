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
from memoranda.model.models import UNSET, Context, Entity, Hit, Message, Recall, Record

if TYPE_CHECKING:
    from memoranda.agent.agent import Agent
    from memoranda.aio import AsyncConversation, AsyncMemory
    from memoranda.conversation.conversation import Conversation
    from memoranda.memory import Memory
    from memoranda.remote.memory import Remote
    from memoranda.settings.settings import Settings

    __version__: str

__all__ = [
    "UNSET",
    "Agent",
    "AsyncConversation",
    "AsyncMemory",
    "Context",
    "Conversation",
    "Entity",
    "Hit",
    "Memory",
    "Message",
    "Recall",
    "Record",
    "Remote",
    "Settings",
    "__version__",
    "errors",
]

_HOMES = {
    "Agent": "memoranda.agent.agent",
    "AsyncConversation": "memoranda.aio",
    "AsyncMemory": "memoranda.aio",
    "Conversation": "memoranda.conversation.conversation",
    "Memory": "memoranda.memory",
    "Remote": "memoranda.remote.memory",
    "Settings": "memoranda.settings.settings",
}


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives, once."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - takes long

        value: Any = version("memoranda")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

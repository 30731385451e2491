"""What the tests of notes and agents share: memories in a file, agents, words to find things by."""

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from threading import Event

from memoranda import Memory, Settings
from memoranda.agent import Agent
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.model.chat import ChatReply
from memoranda.model.models import ToolCall
from memoranda.notes.document import parse
from memoranda.notes.model_summarizer import Consolidation
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder
from memoranda.testing.models import ScriptedLLM

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PATIENCE = 30.0
MEMORY = "MEMORY.md"
HISTORY = "HISTORY.md"
FENCE = re.compile(r"<(/?)\s*memoranda-memory", re.IGNORECASE)
QUIET = {"embedding": {"background": False}, "timezone": "UTC"}


def chosen(**sections):
    """Return settings of no machine, with these sections."""
    return Settings(**(QUIET | sections))


def noting(path, **arguments):
    """Return Ana's memory in the file ``path``; the caller closes it."""
    arguments.setdefault("settings", chosen())
    arguments.setdefault("embedder", HashEmbedder())
    arguments.setdefault("clock", FrozenClock(START))
    return Memory(path, **{"user": "ana"} | arguments)


def by_hand(path, **sections):
    """Return Ana's memory, which consolidates only when it is asked to."""
    once = {"automatic": False} | sections.pop("consolidation", {})
    return noting(path, settings=chosen(consolidation=once, **sections))


def clock_of(memory):
    """Return the clock of a memory that :func:`noting` made."""
    return memory._services.clock.source


def memory_file(memory):
    """Return the path of MEMORY.md."""
    return memory.notes.folder / MEMORY


def items(memory):
    """Return what the lines of MEMORY.md say, from top to bottom."""
    path = memory_file(memory)
    return [item.text for item in parse(path.read_text()).items] if path.exists() else []


def edit(memory, change):
    """Edit MEMORY.md as a person would: ``change`` gives the new text for the old."""
    path = memory_file(memory)
    path.write_text(change(path.read_text() if path.exists() else ""))


def facts(memory):
    """Return what the facts say that are believed and that nothing took the place of."""
    found = memory.records(kind="fact", limit=10_000)
    return sorted(fact.content for fact in found if fact.superseded_by is None)


def history(memory):
    """Return the texts of the entries of the history, oldest first."""
    return [entry.text for entry in memory.notes.history()][::-1]


def talking(*replies, always=None, facts_=(), entry="They talked."):
    """Return a model that replies in turn, then ``always``, and draws ``facts_`` from a talk."""
    return ScriptedLLM(
        {
            ChatReply: list(replies) if always is None else always,
            ClaimsAnswer: ClaimsAnswer(list(facts_)),
            Consolidation: Consolidation(entry),
        }
    )


def calling(name, id="c1", **arguments):
    """Return a call of a tool."""
    return ToolCall(id, name, json.dumps(arguments))


def agent_of(memory, model=None, **arguments):
    """Return an agent of a memory."""
    return Agent(memory, llm=model, **arguments)


def system_of(context):
    """Return the system prompt of a context."""
    return "\n".join(m["content"] for m in context.messages if m["role"] == "system")


def fences(text):
    """Return the fences of memory in a text: ``open`` and ``close`` in order."""
    return ["close" if slash else "open" for slash in FENCE.findall(text)]


def balanced(text):
    """Return whether every fence that is opened is closed before the next one."""
    found = fences(text)
    return found == ["open", "close"] * (len(found) // 2)


def words(count, start=0):
    """Return words that nobody else says, to find each statement by."""
    consonants, vowels = "bdfgklmnprst", "aeiou"
    found = []
    for number in range(start, start + count):
        word, left = "Q", number + 7
        for letters in (vowels, consonants, vowels, consonants):
            left, rest = divmod(left * 7 + 3, len(letters))
            word += letters[rest]
        found.append(f"{word}x{number}")
    return found


class Gate:
    """A model that answers only when it is let, and says that it was asked."""

    name = "gate"

    def __init__(self, model):
        """Ask ``model`` once :attr:`go` is set."""
        self.model, self.asked, self.go = model, Event(), Event()

    async def ask(self, instructions, prompt, answer):
        """Wait without holding up the loop, then answer."""
        self.asked.set()
        await asyncio.to_thread(self.go.wait, PATIENCE)
        return await self.model.ask(instructions, prompt, answer)

    async def chat(self, messages, **options):
        """Talk at once."""
        return await self.model.chat(messages, **options)

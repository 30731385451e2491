"""What the slash commands of ``memoranda chat`` do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from rich.console import RenderableType
from rich.text import Text

from memoranda.agent import Agent
from memoranda.cli import chat_drawing, notes_drawing
from memoranda.cli import conversations_drawing as drawing
from memoranda.cli.chat_prompt import Reader
from memoranda.cli.command import Session
from memoranda.cli.conversations_drawing import Look
from memoranda.cli.output import counted, one_line, styled
from memoranda.errors import InvalidInput, NotFound
from memoranda.model.models import ForgetReceipt, Record
from memoranda.model.notes import MEMORY_FILE

NEW, EXIT, QUIT = "/new", "/exit", "/quit"
MEANINGS = {
    NEW: "end this session: it becomes memory, and the next one begins",
    "/clear": "take what was said here out of view; nothing is lost",
    "/memory": "show MEMORY.md: what is known, and where you can edit it",
    "/context": "show what a model would be sent; with WORDS, if you said them",
    "/forget": "forget facts: ID or WORDS; with --erase, for good",
    "/help": "this list",
    EXIT: "leave; the session stays",
}
KEYS = {
    "Alt+Enter": "another line",
    "Ctrl+C": "stop an answer; clear the line; twice, leave",
    "Ctrl+D": "leave",
    "Ctrl+R": "look for something you typed before",
}
YES, ERASE = "--yes", "--erase"
TAKES = {"/clear": f"nothing but {YES}", "/context": None, "/forget": None}
"""What commands take: ``None`` for words; all others nothing."""
COMMAND = re.compile(r"\s*(/[A-Za-z?]+)(?:\s+(.*))?\s*", re.DOTALL)
ID = re.compile(r"(?:fact|ep|ctx|ref)_\w+", re.ASCII)
FOUND = 5
LIKE = 0.75  # how near a slip of the finger comes to a command (difflib)
EVERY = "all"
SURE = {False: "Forget this?", True: "Erase this for good?"}
LONGEST = 160

Drawn = Iterator[RenderableType]


@dataclass(frozen=True, slots=True)
class Desk:
    """What a command works with: the agent, where answers come from, how things look."""

    session: Session
    agent: Agent
    reader: Reader
    look: Look

    def agreed(self, question: str, words: Sequence[str]) -> bool:
        """Ask, unless the words say yes.

        Raises:
            InvalidInput: nobody can be asked.
        """
        if YES in words:
            return True
        return self.asked(f"{question} [y/N]").casefold() in {"y", "yes"}

    def asked(self, question: str) -> str:
        """Return the answer to a question.

        Raises:
            InvalidInput: nobody can be asked.
        """
        answer = self.reader.ask(question)
        if answer is None:
            message = f"this asks first, and nobody can be asked here; name an id and add {YES}"
            raise InvalidInput(message)
        return answer


def parsed(line: str) -> tuple[str, str] | None:
    """Return the command in a line and what follows it; ``None`` for a line that is talk."""
    found = COMMAND.fullmatch(line)
    return None if found is None else (found[1].lower(), (found[2] or "").strip())


def meant(command: str, rest: str) -> str:
    """Return the command that is meant: itself, or the only one that begins with it.

    Raises:
        InvalidInput: there is no such command, or it does not take what follows it.
    """
    name = _named_by(command)
    takes = TAKES.get(name, "nothing")
    if takes and rest and not (name == "/clear" and rest == YES):
        message = f"{name} takes {takes}, got {one_line(rest, 80)!r}; type {name} alone"
        raise InvalidInput(message)
    return name


def _named_by(command: str) -> str:
    known = (*MEANINGS, QUIT, "/?")
    found = [name for name in known if name.startswith(command)]
    if command in known or len(found) == 1:
        return command if command in known else found[0]
    near = found or get_close_matches(command, known, n=1, cutoff=LIKE)
    hint = f"did you mean {' or '.join(near)}?" if near else f"use {', '.join(MEANINGS)}"
    message = f"there is no {command}; {hint}"
    raise InvalidInput(message)


def obey(desk: Desk, command: str, rest: str) -> Drawn:
    """Do what a command says that :func:`meant` returned; yield what to show."""
    return ACTS[command](desk, rest)


def _clear(desk: Desk, rest: str) -> Drawn:
    held = len(desk.agent.chat)
    if not held:
        yield Text("nothing to clear", "dim")
    elif desk.agreed(f"Clear {counted(held, 'message')}?", rest.split()):
        desk.agent.chat.clear()
        yield Text(f"Cleared {counted(held, 'message')}; they can still be found.")
    else:
        yield Text("nothing was cleared", "dim")


def _memory(desk: Desk, rest: str) -> Drawn:
    del rest
    notes = desk.agent.memory.notes
    text = notes.read_memory()
    shown = notes_drawing.markdown(text or "nothing is noted yet")
    yield from chat_drawing.notes(shown, desk.look)
    where = str(notes.folder / MEMORY_FILE)
    yield styled(where if notes.is_lasting else f"{where}, until this chat ends", "dim")


def _context(desk: Desk, rest: str) -> Drawn:
    return chat_drawing.context(desk.agent.context(rest or None), desk.look)


def _help(desk: Desk, rest: str) -> Drawn:
    del desk, rest
    yield chat_drawing.listed(MEANINGS)
    yield Text()
    yield chat_drawing.listed(KEYS)


def _forget(desk: Desk, rest: str) -> Drawn:
    words = rest.split()
    wanted = " ".join(word for word in words if not word.startswith("--"))
    strange = [word for word in words if word.startswith("--") and word not in {YES, ERASE}]
    if strange or not wanted:
        problem = f"{strange[0]} is unknown" if strange else "say what"
        message = f"{problem}: /forget ID or /forget WORDS, with {ERASE} for good"
        raise InvalidInput(message)
    erase = ERASE in words
    if ID.fullmatch(wanted):
        yield from _one(desk, wanted, words)
    else:
        yield from _some(desk, wanted, erase=erase)


def _one(desk: Desk, id: str, words: Sequence[str]) -> Drawn:
    record = desk.agent.memory.get(id)
    if record is None:
        message = f"there is no record {id!r} for user {desk.agent.memory.user!r}"
        raise NotFound(message)
    yield from chat_drawing.facts([record], desk.session.settings, desk.look)
    erase = ERASE in words
    if desk.agreed(SURE[erase], words):
        yield from _gone(desk, record, erase=erase)
    else:
        yield Text("nothing was forgotten", "dim")


def _some(desk: Desk, wanted: str, *, erase: bool) -> Drawn:
    hits = desk.agent.memory.search(wanted, kind="fact", limit=FOUND)
    found = [hit.record for hit in hits]
    if not found:
        yield Text("no fact has to do with that", "dim")
        return
    yield from chat_drawing.facts(found, desk.session.settings, desk.look)
    chosen = _named(desk, found, erase=erase)
    for record in chosen:
        yield from _gone(desk, record, erase=erase)
    if not chosen:
        yield Text("nothing was forgotten", "dim")


def _named(desk: Desk, found: Sequence[Record], *, erase: bool) -> Sequence[Record]:
    """Return which of the records the person means to forget."""
    if len(found) == 1:
        return found if desk.agreed(SURE[erase], ()) else ()
    verb = "Erase for good" if erase else "Forget"
    return _chosen(desk.asked(f"{verb} which? [1-{len(found)}, {EVERY}; Enter for none]"), found)


def _chosen(answer: str, found: Sequence[Record]) -> list[Record]:
    """Return the records that an answer such as ``2`` or ``1, 3`` means.

    Raises:
        InvalidInput: it means something else.
    """
    if answer.casefold() == EVERY:
        return list(found)
    numbers = [part for part in re.split(r"[\s,]+", answer) if part]
    for number in numbers:
        if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= len(found)):
            message = f"{number!r:.40} is none of 1 to {len(found)}; nothing was forgotten"
            raise InvalidInput(message)
    return [found[place] for place in sorted({int(number) - 1 for number in numbers})]


def _gone(desk: Desk, record: Record, *, erase: bool) -> Drawn:
    receipt = desk.agent.memory.forget(record.id, erase=erase)
    if erase:
        desk.reader.forget([record.content])
        yield styled(f"Erased{_with(receipt)}.")
    else:
        said = one_line(record.content, LONGEST)
        yield from drawing.hung("", styled(f"Forgotten: {said}"), desk.look)


def _with(receipt: ForgetReceipt) -> str:
    parts = [
        counted(number, noun, many)
        for number, noun, many in (
            (len(receipt.versions), "former version", None),
            (len(receipt.copies), "exact copy", "exact copies"),
            (len(receipt.derived), "record drawn from it", "records drawn from it"),
            (receipt.messages, "message", None),
        )
        if number
    ]
    return f", with {', '.join(parts)}" if parts else ""


ACTS: dict[str, Callable[[Desk, str], Drawn]] = {
    "/clear": _clear,
    "/memory": _memory,
    "/context": _context,
    "/forget": _forget,
    "/help": _help,
    "/?": _help,
}

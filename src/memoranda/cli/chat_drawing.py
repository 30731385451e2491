"""How ``memoranda chat`` looks: words as they come, answers from memory, contexts, lists of facts.

What a model says, and what is remembered, is shown as it is and never obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from memoranda.agent import Agent, Answer
from memoranda.cli import conversations_drawing as drawing
from memoranda.cli import tables
from memoranda.cli.conversations_drawing import Look
from memoranda.cli.output import counted, day, one_line, plain, styled
from memoranda.model.models import Context, ContextReceipt, Item, Record
from memoranda.settings.settings import Settings

SOURCE = re.compile(r"(- )(\[[^\]]*\] )(.*)")
"""A line by which memory quotes itself: when and by whom, and what."""
MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)|[ \t]*")
"""What the other lines of an item stand behind."""
PIECES = re.compile(r"\n|[^\S\n]+|\S")
WIDE = 2
TAB = "    "
BAR = 12
MESSAGE = " message"
SET_MODEL = "memoranda config set llm.model anthropic:claude-haiku-4-5"


class Words:
    """Writes what is said as it comes. On a terminal no word is broken at its edge."""

    def __init__(self, console: Console) -> None:
        """Write nothing yet."""
        self._file = console.file
        self._width = console.width if console.is_terminal else None
        self._column = 0
        self._gap = ""
        self._word = ""
        self.said = False

    def say(self, text: str) -> None:
        """Write a piece; a word that may go on waits for its end."""
        self.said = self.said or bool(text)
        shown = plain(text.replace("\r", "").replace("\t", TAB))
        if self._width is None:
            self._file.write(shown)
            self._column = 0 if shown.endswith("\n") else self._column + len(shown)
        else:
            for piece in PIECES.findall(shown):
                self._take(piece)
        self._file.flush()

    def end(self) -> None:
        """Write what waits, and end the line."""
        self._flush()
        if self._column:
            self._file.write("\n")
        self._file.flush()
        self._column = 0

    def _take(self, piece: str) -> None:
        if piece == "\n":
            self._flush()
            self._file.write("\n")
            self._column, self._gap = 0, ""
        elif piece.isspace():
            self._flush()
            self._gap += piece
        else:
            self._word += piece
            if cell_len(piece) == WIDE:  # Between such characters a line may break.
                self._flush()

    def _flush(self) -> None:
        if not self._word:
            return
        width = self._width or 1
        wide = cell_len(self._word)
        if self._column and self._column + len(self._gap) + wide > width:
            self._file.write("\n")
            self._column, self._gap = 0, ""
        self._file.write(self._gap + self._word)
        self._column += len(self._gap) + wide
        if self._column > width:  # The terminal breaks what is longer than a line.
            self._column = (self._column - 1) % width + 1
        self._gap = self._word = ""


def greeting(agent: Agent, look: Look) -> Iterator[Text]:
    """Yield which model answers, which session goes on, and how to leave."""
    told = len(agent.chat)
    state = f"goes on with {counted(told, 'message')}" if told else "is new"
    who = Text("memory alone answers", "bold yellow")
    if agent.model is not None:
        who = styled(one_line(agent.model), "bold green")
    session = Text("session ", "dim").append_text(styled(one_line(agent.chat.id), "not dim bold"))
    yield from drawing.flowing([who, session.append(f" {state}", "not bold dim")], look)
    if agent.model is None:
        yield from drawing.flowing([Text(f"with a model: {SET_MODEL}", "dim")], look)
    hints = ("/help lists the commands", "Ctrl+D leaves, the session stays")
    yield from drawing.flowing([Text(hint, "dim") for hint in hints], look)


def remembered(text: str, look: Look) -> Iterator[Text]:
    """Yield an answer from memory alone; when and by whom its sources were said is dim."""
    for line in text.splitlines():
        found = SOURCE.fullmatch(line)
        if found is None:
            yield from drawing.hung("", line, look)
        else:
            body = styled(found[2], "dim").append_text(styled(found[3], "not dim"))
            yield from drawing.hung(found[1], body, look, "dim")


def notes(lines: Iterable[Text], look: Look) -> Iterator[Text]:
    """Yield lines of Markdown; those too long for the terminal go on below where they begin."""
    for line in lines:
        found = MARKER.match(line.plain)
        if line.plain.strip() and found is not None:
            start, rest = line.divide([found.end()]) if found.end() else (Text(), line)
            yield from drawing.hung(start, rest, look)
        else:
            yield line


def spent(answer: Answer, look: Look) -> Iterator[Text]:
    """Yield in a line what an answer of a model was made from, and what it took."""
    parts = [counted(len(answer.sources), "memory", "memories")] if answer.sources else []
    calls = {name: answer.tools.count(name) for name in dict.fromkeys(answer.tools)}
    parts += [f"{name} × {times}" if times > 1 else name for name, times in calls.items()]
    if answer.usage.input_tokens or answer.usage.output_tokens:
        parts.append(f"{answer.usage.input_tokens:,} tokens in")
        parts.append(f"{answer.usage.output_tokens:,} out")
    if answer.usage.cost:
        parts.append(f"${answer.usage.cost:.4f}")
    yield from drawing.flowing([styled(one_line(part), "dim") for part in parts], look)


def context(built: Context, look: Look) -> Iterator[RenderableType]:
    """Yield what a model would be sent: its size as a bar, and the share of each part."""
    slip = built.receipt
    share = slip.tokens / slip.budget
    colour = drawing.alert(share)
    used = Text("" if slip.exact else "about ")
    used.append(f"{slip.tokens:,}", f"bold {colour}").append(f" of {slip.budget:,} tokens ")
    used.append(f"({share:.0%})".replace("%", " %"), colour)
    yield from drawing.flowing([Text("  ").join([drawing.bar(share, colour), used])], look)
    made = tables.table("part", "tokens", "", "why", right=("tokens",), wide="why")
    for item in _parts(slip):
        part = item.tokens / slip.tokens if slip.tokens else 0.0
        why = styled(one_line(item.why), "dim")
        made.add_row(styled(item.what), f"{item.tokens:,}", tables.bar(part, BAR), why)
    yield made
    if slip.left_out:
        out = sum(item.tokens for item in slip.left_out)
        told = f"{out:,} tokens stayed out; they can still be found"
        yield from drawing.flowing([Text(told, "dim")], look)


def _parts(slip: ContextReceipt) -> Iterator[Item]:
    """Yield the parts of a context in order, the messages of the talk as one."""
    talk = [item for item in slip.included if item.what.endswith(MESSAGE)]
    roles: dict[str, int] = {}
    for item in talk:
        role = item.what.removesuffix(MESSAGE)
        roles[role] = roles.get(role, 0) + 1
    for item in slip.included:
        if item not in talk:
            yield item
        elif item is talk[0]:
            of = ", ".join(f"{number} of {role}" for role, number in roles.items())
            yield Item(counted(len(talk), "message"), sum(each.tokens for each in talk), of)


def facts(found: Sequence[Record], settings: Settings, look: Look) -> Iterator[Text]:
    """Yield records, numbered, each with its day and its id."""
    for place, record in enumerate(found, 1):
        start = Text(f"{place:>3}  ", "bold")
        start.append(f"{day(record.event_time, settings)}  ", "not bold dim")
        yield from drawing.hung(start, styled(one_line(record.content, tables.LONGEST)), look)
        yield from drawing.hung(" " * start.cell_len, record.id, look, "dim")


def listed(commands: Mapping[str, str]) -> RenderableType:
    """Return names and what they do, side by side."""
    made = tables.grid([(f"  {name}", meaning) for name, meaning in commands.items()])
    made.columns[0].style = "bold"
    return Group(made)

"""How the messages of a conversation look: a row each, tasks as rules, what is out as one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from textwrap import dedent

from rich.text import Text

from memoranda.cli.conversations_drawing import (
    ROLES,
    Look,
    ago,
    beside,
    fitting,
    flowing,
    hung,
    signature,
    wrapped,
)
from memoranda.cli.output import counted, local, minute, one_line, plain, styled
from memoranda.conversation.explain import (
    SHOWN,
    ExplainedMessage,
    ExplainedTask,
    FoldedMessages,
    MessageState,
    ViewExplanation,
    fold,
)
from memoranda.model.models import Message, ToolCall

STATES = {
    MessageState.IN: "green",
    MessageState.PINNED: "green",
    MessageState.SHORTENED: "yellow",
    MessageState.WAITING: "yellow",
    MessageState.OUT: "red",
    MessageState.ORPHAN: "red",
    MessageState.PRUNED: "red",
    MessageState.CLEARED: "red",
}
MISSING = {
    MessageState.OUT: "without room",
    MessageState.ORPHAN: "without counterpart",
    MessageState.PRUNED: "pruned",
    MessageState.CLEARED: "cleared",
}
SHORT = 3  # lines of a message on a terminal
CALLS = 4  # calls of a message on a terminal
LONG_CALL = 2  # lines of a call on a terminal
NARROW = 24  # columns of text below which it goes under its heading
ROLE, TIME, SCORE = 9, 5, 5
GAP = "  "
RULE = 60  # columns of a rule that goes to no terminal
ANSWER = "↳ "
LONGEST = 200  # characters of an address


def rows(found: ViewExplanation, look: Look) -> Iterator[Text]:
    """Yield the lines of the transcript: messages, and what stands for those that are out."""
    if not found.lines and not found.info.system and not found.cleared:
        yield Text("no messages", "dim")
        return
    drawing = _Rows(found, look)
    yield drawing.titles()
    if look.limit is None and found.info.system:
        yield from drawing.prompt(found.info.system)
    parts = list(fold(found, lambda line: _apart(line, look)))
    skipped = max(0, len(parts) - look.limit) if look.limit else 0
    if skipped:
        more = f"… {counted(skipped, 'earlier row')}; --limit {len(parts)} shows all"
        yield fitting(Text(more, "dim"), look)
    elif found.cleared and not look.everything:
        more = f"… {counted(found.cleared, 'message')} cleared before; --all shows what they said"
        yield fitting(Text(more, "dim"), look)
    for part in parts[skipped:]:
        yield from drawing.part(part)


def whole(message: Message, look: Look) -> Iterator[Text]:
    """Yield a message with all that it says, to the letter."""
    head = Text(f"#{message.position}", "bold")
    head.append(f"  {minute(message.timestamp, look.settings)}", "not bold dim")
    head.append(f"  {message.role}", ROLES.get(message.role, ""))
    result = message.tool_result
    if result is not None:
        head.append(f"  answers {one_line(result.call_id)}", "not bold dim")
        if result.is_error:
            head.append("  error", "red")
    yield head.append(f"  {message.tokens:,} tokens", "not bold dim")
    if message.content:
        yield styled(message.content)
    for image in message.images:
        yield styled(f"[image] {one_line(image.url, LONGEST)}", "blue")
    for call in message.tool_calls:
        yield styled(f"{signature(call)}  {one_line(call.id)}", "yellow")
    yield Text()


def _apart(line: ExplainedMessage, look: Look) -> bool:
    if look.everything or line.state in SHOWN or line.state is MessageState.WAITING:
        return True
    return look.explain and line.state in {MessageState.OUT, MessageState.ORPHAN}


class _Rows:
    """Draws part after part, and remembers day and task of the one before."""

    def __init__(self, found: ViewExplanation, look: Look) -> None:
        self._found = found
        self._look = look
        self._day: date | None = None
        self._task = 0
        self._told: set[str] = set()
        tasks = {task.number: task for task in found.tasks}
        self._tasks: dict[int, ExplainedTask] = tasks if len(tasks) > 1 else {}
        self._calls = {
            call.id: (call.name, len(line.message.tool_calls))
            for line in found.lines
            for call in line.message.tool_calls
        }
        last = found.lines[-1].message.position or 0 if found.lines else 0
        most = max([found.system, *(line.tokens for line in found.lines)])
        self._place = max(2, len(f"#{last}"))
        self._tokens = max(len("tokens"), len(f"{most:,}"))

    def titles(self) -> Text:
        """Return the line above the columns."""
        found = self._columns("#", "time", "role", "tokens", "score", style="dim")
        found.rstrip()
        return fitting(found, self._look)

    def _columns(
        self, place: str, time: str, role: str, tokens: str, score: str, *, style: str = ""
    ) -> Text:
        dim = style or "dim"
        return Text.assemble(
            (f"{place:>{self._place}}", dim),
            (f"{GAP}{time:<{TIME}}", dim),
            (f"{GAP}{role:<{ROLE}}", style or ROLES.get(role, "")),
            (f"{GAP}{tokens:>{self._tokens}}", style),
            (f"{GAP}{score:>{SCORE}}{GAP}", style),
        )

    def prompt(self, system: str) -> Iterator[Text]:
        """Yield the system prompt, which is no message of the transcript."""
        start = self._columns("", "", "system", f"{self._found.system:,}", "1.00")
        yield from self._beside(start, [*self._text(system, Text())])
        if self._look.explain:
            yield from self._why(MessageState.IN, "system prompt, always in", None)

    def part(self, part: ExplainedMessage | FoldedMessages) -> Iterator[Text]:
        """Yield a message, or the line that stands for several."""
        if isinstance(part, FoldedMessages):
            yield from self._new_day(part.since)
            yield from self._new_task(part.task)
            yield from self._fold(part)
            self._day = self._local(part.until).date()
        else:
            yield from self._new_day(part.message.timestamp)
            yield from self._new_task(part.task)
            yield from self._message(part)

    def _local(self, moment: datetime) -> datetime:
        return local(moment, self._look.settings)

    def _new_day(self, moment: datetime) -> Iterator[Text]:
        day = self._local(moment).date()
        if day != self._day:
            self._day = day
            yield Text(f"{day:%Y-%m-%d}", "dim")

    def _new_task(self, number: int | None) -> Iterator[Text]:
        task = self._tasks.get(number or 0)
        if task is None or task.number == self._task:
            return
        self._task = task.number
        done = " (done)" if task.completed else ""
        title = styled(f"── task {task.number}{done}: {one_line(task.title)}", "blue")
        width = self._look.width or max(RULE, title.cell_len + 3)
        title.truncate(width - 3, overflow="ellipsis")
        yield title.append(f" {'─' * (width - title.cell_len - 1)}", "blue")
        if self._look.explain:
            yield from hung("   ", f"begins here: {task.why}", self._look, "dim")

    def _message(self, line: ExplainedMessage) -> Iterator[Text]:
        message = line.message
        dim = "" if line.state in SHOWN else "dim"
        start = self._columns(
            f"#{message.position}",
            f"{self._local(message.timestamp):%H:%M}",
            message.role,
            f"{line.tokens:,}",
            "" if line.score is None else f"{line.score:.2f}",
            style=dim,
        )
        body = list(self._body(line))
        if dim:
            for text in body:
                text.stylize("dim")
        yield from self._beside(start, body)
        if self._look.explain:
            yield from self._why(line.state, line.why, line.score_why)

    def _beside(self, start: Text, body: Sequence[Text]) -> Iterator[Text]:
        if self._stacked:
            start.rstrip()
            yield start
            yield from beside(Text(GAP), body)
        else:
            yield from beside(start, body or [Text()])

    @property
    def _stacked(self) -> bool:
        width = self._look.width
        return width is not None and width - self._indent < NARROW

    @property
    def _indent(self) -> int:
        return self._place + TIME + ROLE + self._tokens + SCORE + 5 * len(GAP)

    @property
    def _room(self) -> int | None:
        if self._look.width is None:
            return None
        return max(1, self._look.width - (len(GAP) if self._stacked else self._indent))

    def _body(self, line: ExplainedMessage) -> Iterator[Text]:
        message, tags = line.message, _tags(line)
        if message.tool_result is not None:
            said = self._text(message.content, tags + self._answers(message), indent=len(ANSWER))
            yield from beside(Text(ANSWER, "yellow"), said)
        elif message.content.strip() or not message.tool_calls:
            yield from self._text(message.content, tags)
            tags = Text()
        yield from self._requests(message.tool_calls, tags)

    def _answers(self, message: Message) -> Text:
        """Return what the result of a call begins with: whose it is, if that is not clear."""
        found = Text()
        result = message.tool_result
        name, calls = self._calls.get(result.call_id if result else "", ("", 0))
        if calls != 1:
            found.append(f"{one_line(name) or 'unknown call'}: ", "dim")
        if result is not None and result.is_error:
            found.append("error ", "bold red")
        return found

    def _requests(self, calls: Sequence[ToolCall], tags: Text) -> Iterator[Text]:
        shown = calls if self._room is None else calls[:CALLS]
        for number, call in enumerate(shown):
            text = styled(signature(call), "yellow")
            text = text if number else tags + text
            yield from self._short(wrapped([text], self._look, self._room), LONG_CALL, self._room)
        if len(shown) < len(calls):
            yield Text(f"… {len(calls) - len(shown)} more calls", "dim")

    def _text(self, content: str, start: Text, *, indent: int = 0) -> Iterator[Text]:
        """Yield what a message says behind ``start``, on a terminal its first lines."""
        texts = content.replace("\r\n", "\n").split("\n") if content else []
        room = None if self._room is None else max(1, self._room - indent)
        if room is not None:
            texts = [text for text in texts if text.strip()][: SHORT + 1]
            texts = [text[: room * SHORT + 1].expandtabs(4) for text in texts]
        if room is not None and indent:
            # Of what a tool printed the lines matter, and not how far they are indented.
            texts = dedent("\n".join(texts)).split("\n")
        found = [styled(text) for text in texts] or [Text()]
        found[0] = start + found[0]
        if room is not None and indent and len(found) > 1:
            for text in found:
                text.truncate(room, overflow="ellipsis")
            yield from self._short(found, SHORT, room)
        else:
            yield from self._short(wrapped(found, self._look, room), SHORT, room)

    def _short(self, lines: Iterable[Text], most: int, room: int | None) -> Iterator[Text]:
        """Yield the first lines, with a sign where there are more; all where there is room."""
        found = list(lines if room is None else islice(lines, most + 1))
        if room is not None and len(found) > most:
            found[most - 1].rstrip()
            found[most - 1].truncate(room - 1)
            found[most - 1].rstrip()  # Half a wide character leaves a space.
            found[most - 1].append("…", "dim")
            del found[most:]
        yield from found

    def _why(self, state: MessageState, why: str, score: str | None) -> Iterator[Text]:
        said = Text(state.value, STATES[state]).append(f": {plain(why)}", "dim")
        if score is not None:
            # The sum stands in its column, unless it had to be limited.
            parts, _, total = score.partition(" = ")
            said.append(f" · score {score if ',' in total else parts}", "dim")
        yield from hung(" " * (self._place + len(GAP)), said, self._look)

    def _fold(self, fold: FoldedMessages) -> Iterator[Text]:
        parts = [counted(fold.messages, "message") + _gone(fold), f"{fold.tokens:,} tokens"]
        since, until = self._local(fold.since), self._local(fold.until)
        times = [f"{since:%H:%M}", f"{until:%H:%M}"]
        if since.date() != until.date():
            times[1] = f"{until:%Y-%m-%d %H:%M}"
        parts.append("–".join(dict.fromkeys(times)))
        if fold.prunings:
            last = fold.prunings[-1]
            many = f"{len(fold.prunings)} prunings, last " if len(fold.prunings) > 1 else ""
            when = ago(last.at, self._found.now, self._look.settings)
            parts.append(f"{many}{last.trigger.replace('_', ' ')} {when}")
        parts.append(fold.id)
        yield from flowing((styled(part, "dim") for part in parts), self._look, "… ")
        for told in (fold.summary or "").splitlines():
            yield from hung("  ", told, self._look, "dim italic")
        if self._look.explain:
            yield from self._receipts(fold)

    def _receipts(self, fold: FoldedMessages) -> Iterator[Text]:
        score = "" if fold.score is None else f"; highest score then {fold.score:.2f}"
        for item in fold.prunings:
            trigger = item.trigger.replace("_", " ")
            how = (
                f": {trigger}, {minute(item.at, self._look.settings)}, {item.strategy}: {item.why}"
            )
            told = f"{item.id}{' as above' if item.id in self._told else how}{score}"
            self._told.add(item.id)
            yield from hung("     ", told, self._look, "dim")


def _tags(line: ExplainedMessage) -> Text:
    """Return what is to be known of a message before what it says."""
    found = Text()
    if line.message.pinned:
        found.append("[pinned] ", "bold yellow")
    if line.state not in {MessageState.IN, MessageState.PINNED}:
        found.append(f"[{line.state}] ", STATES[line.state])
    return found.append("[image] " * len(line.message.images), "blue")


def _gone(fold: FoldedMessages) -> str:
    if set(fold.states) == {MessageState.CLEARED}:
        return " cleared"
    if set(fold.states) == {MessageState.PRUNED}:
        return " removed"
    parts = [f"{count:,} {MISSING[state]}" for state, count in fold.states.items()]
    return f" left out ({', '.join(parts)})" if len(parts) > 1 else f" left out: {parts[0]}"

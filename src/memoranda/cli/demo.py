"""``memoranda demo``: the main job, done on a conversation that ships with the package."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from memoranda.cli.command import Session, command
from memoranda.cli.output import counted, day, one_line, styled
from memoranda.cli.story import HITS, Answer, Correction, Demo, play
from memoranda.model.models import Hit
from memoranda.settings.settings import Settings

COLOURS = {
    "vector": "blue",
    "lexical": "green",
    "context": "cyan",
    "temporal": "magenta",
    "entity": "yellow",
}
BAR = 8  # characters for the score of a hit
ARMS = 3
QUOTE = 150
SHOWN = 4
SHOWN_HITS = 2
TALK = 2
NOTED = 4  # lines of MEMORY.md
INDENT = 2

PACKAGE = "memoranda.cli"

commands = typer.Typer()


@command(
    commands,
    "demo",
    examples=("memoranda demo", "memoranda demo --db demo.db", "memoranda demo --json"),
)
def demo(session: Session) -> None:
    """Show what it does, on a conversation that ships with it."""
    story = json.loads((files(PACKAGE) / "demo.json").read_text(encoding="utf-8"))
    place = session.shared.db or str(Path(tempfile.mkdtemp(prefix="memoranda-demo-")) / "demo.db")
    user = session.shared.user or story["user"]
    told = play(story, place, user, session.settings)
    session.show(told, *_page(told, session.settings))


def _page(told: Demo, settings: Settings) -> Iterator[RenderableType]:
    """Yield what a person sees of the demo, part by part."""
    yield _head("1", f"Four months of talk go into one {told.place}")
    yield _inset(_sessions(told))
    yield _head("2", "What was said becomes facts, without a model")
    yield _inset(_learned(told, settings))
    yield _head("3", f"Questions on {day(told.asked, settings)}")
    for answer in _best(told.answers):
        yield _inset(_answer(answer, settings))
    yield _inset(_score(told))
    if told.correction is not None:
        yield _head("4", "A fact changes; nothing is overwritten")
        yield _inset(_correction(told.correction, settings))
    yield _head("5", f"What a model is sent, in at most {told.context.receipt.budget} tokens")
    yield _inset(_context(told))
    yield _head("6", "Notes that you can read, and edit in any editor")
    yield _inset(_notes(told))
    yield _head("7", "Your turn")
    yield from _next(told)


def _head(number: str, title: str) -> RenderableType:
    title_text = Text(f"{number}  {title}", "bold")
    return Group(Text(), Rule(title_text, align="left", style="dim"))


def _inset(inner: RenderableType) -> RenderableType:
    return Padding(inner, (0, 0, 0, INDENT))


def _grid(*styles: str) -> Table:
    """Return a table without lines, whose last column takes what is left."""
    made = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for style in styles[:-1]:
        made.add_column(style=style, no_wrap=True)
    made.add_column(style=styles[-1], ratio=1, overflow="fold")
    return made


def _cropped(text: str, style: str = "dim") -> Text:
    return Text(one_line(text), style=style, no_wrap=True, overflow="ellipsis")


def _sessions(told: Demo) -> RenderableType:
    made = _grid("cyan", "dim", "")
    for session in told.sessions:
        made.add_row(
            styled(session.id), counted(session.turns, "turn"), _cropped(session.opening, "")
        )
    turns = sum(session.turns for session in told.sessions)
    stored = Text(
        f"{counted(turns, 'turn')} and {counted(len(told.facts), 'fact')} "
        f"stored in {told.storing:.2f} s"
    )
    if told.embedding:
        stored.append(f", vectors made in {told.embedding:.2f} s")
    names = ", ".join(f"{one_line(each.name)} ({each.mention_count})" for each in told.entities)
    return Group(
        made,
        Text(),
        stored,
        Text(f"They speak of {names}."),
        styled(f"Vectors {'' if told.vectors.startswith('off') else 'by '}{told.vectors}.", "dim"),
    )


def _learned(told: Demo, settings: Settings) -> RenderableType:
    made = _grid("green", "dim", "")
    for fact in told.learned[:SHOWN]:
        said = day(fact.event_time, settings)
        made.add_row(Text(f"{fact.confidence:.2f}"), Text(said), _cropped(fact.content, ""))
    number = counted(len(told.learned), "fact")
    last = Text(f"{number} drawn in {told.learning:.2f} s, by rules alone.")
    return Group(made, Text(), last)


def _best(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers to show: the best ones, in the order of the questions."""
    ranked = sorted(answers, key=lambda answer: answer.place or HITS + 1)[:SHOWN]
    return [answer for answer in answers if answer in ranked]


def _answer(answer: Answer, settings: Settings) -> RenderableType:
    made = _grid("", "")
    for rank, hit in enumerate(answer.hits[:SHOWN_HITS]):
        score = Text(f"{hit.score:.2f}", "dim" if rank else "bold green")
        if rank:
            made.add_row(score, _cropped(hit.record.content))
        else:
            quote = styled(one_line(hit.record.content, QUOTE), "bold")
            made.add_row(score, Group(quote, _reasons(hit, settings)))
    return Group(styled(f"? {answer.ask}", "yellow"), Padding(made, (0, 0, 1, 2)))


def _reasons(hit: Hit, settings: Settings) -> Text:
    """Return when and by whom a hit was said, and the arms that count most, on one line."""
    line = Text(no_wrap=True, overflow="ellipsis")
    said = one_line(hit.record.source_role or hit.record.kind.value)
    line.append(f"{day(hit.record.event_time, settings)}  {said}  ")
    ordered = sorted(hit.why.arms.items(), key=lambda item: -item[1].share)[:ARMS]
    for name, arm in ordered:
        line.append("━" * round(arm.share / hit.score * BAR), COLOURS.get(name, "white"))
    for name, arm in ordered:
        line.append(f" {name} ", "dim").append(f"{arm.share:.2f}", COLOURS.get(name, "white"))
    return line


def _score(told: Demo) -> RenderableType:
    first = sum(answer.place == 1 for answer in told.answers)
    among = sum(answer.place is not None for answer in told.answers)
    every = len(told.answers)
    if first == every:
        return Text(f"The first hit answers each of the {every} questions of the story.")
    return Text(
        f"Of the {every} questions of the story, the first hit answers {first}, "
        f"the first {HITS} answer {among}."
    )


def _correction(change: Correction, settings: Settings) -> RenderableType:
    made = _grid("dim", "")
    for name, found in (
        ("now", change.believed_now),
        (f"as of {day(change.before, settings)}", change.believed_before),
    ):
        text = found[0].record.content if found else "nothing"
        made.add_row(Text(name), styled(one_line(text, QUOTE), "bold" if name == "now" else ""))
    entries = (f"{one_line(each.reason)} {day(each.at, settings)}" for each in change.history)
    made.add_row(Text("history"), Text(" → ".join(entries)))
    return Group(styled(f"? {change.ask}", "yellow"), Padding(made, (0, 0, 0, 2)))


def _context(told: Demo) -> RenderableType:
    made = _grid("cyan", "")
    system, *talk, prompt = told.context.messages
    made.add_row(styled(system["role"]), styled(str(system["content"]).strip()))
    if len(talk) > TALK:
        made.add_row("", Text(f"… {counted(len(talk) - TALK, 'message')} before these", "dim"))
    for message in talk[-TALK:]:
        made.add_row(styled(message["role"]), _cropped(str(message["content"]), ""))
    made.add_row(styled(prompt["role"]), styled(str(prompt["content"]), "bold"))
    return Group(made, Text(), _slip(told))


def _slip(told: Demo) -> Text:
    slip = told.context.receipt
    parts = [f"{item.what} {item.tokens}" for item in slip.included if item.id is None]
    recent = [item.tokens for item in slip.included if item.id is not None]
    if recent:
        parts.insert(-2, f"{counted(len(recent), 'message')} {sum(recent)}")
    line = Text(f"{'' if slip.exact else 'about '}{slip.tokens} of {slip.budget} tokens", "bold")
    line.append(f": {', '.join(parts)}.", "not bold")
    if slip.left_out:
        out = counted(len(slip.left_out), "older message")
        line.append(f" {out} stayed out, and can still be found.", "not bold")
    return line


def _notes(told: Demo) -> RenderableType:
    lines = [line for line in told.notes.memory.splitlines() if line.strip()]
    left = sum(line.startswith("- ") for line in lines[NOTED + 1 :])
    return Group(
        Text("MEMORY.md has what is known; at the end, an entry of HISTORY.md:", "dim"),
        *map(_note, lines[1 : NOTED + 1]),
        Text(f"… {counted(left, 'more line')}", "dim"),
        _cropped(told.notes.entry.splitlines()[0], ""),
    )


def _note(line: str) -> Text:
    return _cropped(line, "bold" if line.startswith("#") else "")


def _next(told: Demo) -> Iterator[RenderableType]:
    margin = " " * INDENT
    where = f"--db {shlex.quote(told.file)} --user {shlex.quote(told.user)}"
    took = f"All this took {told.seconds:.1f} s. Try on it:"
    yield _inset(styled(f"The {told.place} is {told.file}. {took}", "not dim"))
    question = _best(told.answers)[0].ask
    for line in (f'search {where} "{question}" --why', f"facts {where}", f"chat {where}"):
        yield styled(f"{margin}memoranda {line}", "bold")

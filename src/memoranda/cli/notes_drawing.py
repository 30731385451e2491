"""How notes look on a terminal: Markdown, entries of the history, differences, commits, reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from memoranda.cli import tables
from memoranda.cli.output import minute, one_line, plain, styled
from memoranda.model.notes import HistoryEntry
from memoranda.notes.git import Commit
from memoranda.notes.sync import NotesReport
from memoranda.notes.writer import COMMENT
from memoranda.settings.settings import Settings

SHORT = 9  # characters of a commit's id
HEADING = re.compile(r"#{1,6} ")
REMARK = re.compile(r"\s*<!--.*-->\s*")
READ = ("+", "~", "-")  # deeds of a person
DEEDS = {"+": "green", "~": "yellow", "-": "red", "!": "bold yellow"}
CHANGES = (("+++", "bold"), ("---", "bold"), ("diff ", "bold"), ("index ", "dim"), ("", "cyan"))
SIDES = {"+": "green", "-": "red"}
FOUND = "bold yellow"


def markdown(text: str) -> Iterator[Text]:
    """Yield a text line by line: headings stand out, remarks stand back."""
    for line in text.strip("\r\n").splitlines():
        if HEADING.match(line):
            yield styled(line, "bold cyan")
        else:
            yield styled(line, "dim" if REMARK.fullmatch(line) else "")


def entries(
    found: Sequence[HistoryEntry], settings: Settings, keyword: str | None = None
) -> Iterator[Text]:
    """Yield entries of the history, each under its moment, with the keyword marked in them."""
    for place, entry in enumerate(found):
        if place:
            yield Text()
        head = styled(minute(entry.at, settings), "bold cyan")
        yield head.append(f"  {entry.file}", "not bold dim")
        for line in told(entry).splitlines():
            shown = styled(line)
            if keyword is not None:
                shown.highlight_regex(f"(?i){re.escape(plain(keyword.strip()))}", FOUND)
            yield shown


def told(entry: HistoryEntry) -> str:
    """Return what an entry tells, without the remark that says where it comes from."""
    return COMMENT.sub("", entry.text).strip("\r\n")


def difference(text: str) -> Iterator[Text]:
    """Yield a difference as git prints it, in its colours."""
    for line in text.removesuffix("\n").split("\n"):
        style = next((style for start, style in CHANGES if line.startswith(start)), None)
        yield styled(line, SIDES.get(line[:1], "") if style is None else style)


def commits(found: Sequence[Commit], settings: Settings) -> RenderableType:
    """Return commits with id, time, author, subject and files."""
    if not found:
        return Text("no commit has changed the notes yet", style="dim")
    made = tables.table("commit", "when", "who", "what", wide="what")
    made.columns[0].no_wrap = made.columns[1].no_wrap = True
    for each in found:
        what = styled(one_line(each.subject))
        if each.files:
            what.append(f"  {', '.join(each.files)}", "dim")
        made.add_row(
            Text(each.id[:SHORT], "yellow"),
            minute(each.at, settings),
            styled(one_line(each.author, tables.NAMES), "cyan"),
            what,
        )
    return made


def report(done: NotesReport) -> Iterator[Text]:
    """Yield what a look at MEMORY.md did: each deed, and all of it in a line."""
    for line in done.lines:
        yield _deed(line)
    yield styled(str(done), "bold" if done.lines else "dim")


def _deed(line: str) -> Text:
    sign, rest = line[:1], line[1:]
    if sign not in DEEDS:
        return styled(one_line(line))
    shown = styled(f" {one_line(rest)}", "not bold default")
    return Text(sign, DEEDS[sign]).append_text(shown)

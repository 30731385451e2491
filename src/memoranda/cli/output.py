"""What leaves the commands: text that is safe for a terminal, JSON, progress bars.

Stored text comes from anywhere. It is shown as it is, but never as something that a
terminal or Rich would obey: no markup, and no control character in its raw form.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from memoranda.model.ports import Progress as Told
from memoranda.settings.settings import Settings

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LATIN_CONTROL = re.compile(r"[\x7f-\x9f]")
PICTURES = 0x2400  # "symbol for null", the first of Unicode's control pictures
DELETE = 0x7F
DELETE_PICTURE = "\u2421"
REPLACEMENT = "\ufffd"
SPACE = 0x20


def console(*, stderr: bool = False) -> Console:
    """Return a console that takes text literally: no markup, no emoji codes, no guessing."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def plain(text: str) -> str:
    """Return ``text`` with control characters other than newline and tab made visible."""
    return CONTROL.sub(lambda match: _visible(ord(match[0])), text)


def _visible(code: int) -> str:
    if code < SPACE:
        return chr(PICTURES + code)
    return DELETE_PICTURE if code == DELETE else REPLACEMENT


def one_line(text: str, longest: int | None = None) -> str:
    """Return ``text`` on one line, safe to show, cut to ``longest`` characters if given."""
    line = plain(" ".join(text.split()))
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def styled(text: str, style: str = "") -> Text:
    """Return ``text`` as it is, safe to show."""
    return Text(plain(text), style=style)


def local(moment: datetime, settings: Settings) -> datetime:
    """Return ``moment`` in the user's zone, by the rules that held on its own day."""
    return moment.astimezone(settings.zone if settings.timezone else None)


def day(moment: datetime, settings: Settings) -> str:
    """Return the date of ``moment`` in the user's zone."""
    return local(moment, settings).strftime("%Y-%m-%d")


def minute(moment: datetime, settings: Settings) -> str:
    """Return date and time of ``moment`` in the user's zone."""
    return local(moment, settings).strftime("%Y-%m-%d %H:%M")


def size(amount: int) -> str:
    """Return a number of bytes as people write it."""
    value = float(amount)
    for unit in ("bytes", "KiB", "MiB"):
        if value < 1024:  # noqa: PLR2004 - the base of these units
            return f"{amount} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return ``number`` with its noun, in the singular or the plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def encoded(value: Any) -> Any:
    """Return ``value`` as what JSON can hold; dataclasses become objects of their fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: encoded(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [encoded(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def write_json(value: Any) -> None:
    """Write ``value`` as one JSON document to standard output."""
    _write_json(value, indent=2)


def write_json_line(value: Any) -> None:
    """Write ``value`` to standard output as one line of JSON Lines, at once."""
    _write_json(value, indent=None)


def _write_json(value: Any, *, indent: int | None) -> None:
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(encoded(value), indent=indent, ensure_ascii=not unicode)
    # json.dumps leaves these raw, and an old terminal takes some of them for commands.
    text = LATIN_CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def progress_bar(title: str) -> Iterator[Told]:
    """Show how far the work in the block is, on standard error if that is a terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)

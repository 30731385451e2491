"""Options and arguments that several commands declare, and what a shell completes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from typer import Argument, Option

Limit = Annotated[int, Option("--limit", "-n", min=1, help="How many at most.")]
Shown = Annotated[int, Option("--limit", "-n", min=0, help="How many of a kind to show.")]
Offset = Annotated[int, Option(min=0, help="How many to leave out before.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
Erase = Annotated[bool, Option("--erase", help="Remove the text for good, wherever it is kept.")]
DryRun = Annotated[bool, Option("--dry-run", help="Change nothing; say what would be done.")]
RecordId = Annotated[str, Argument(metavar="ID", help="The record, such as fact_01JD….")]


def complete(names: Callable[[], Iterable[str]] | Iterable[str]) -> Callable[[str], list[str]]:
    """Return what completes the beginning of one of ``names``."""

    def found(incomplete: str) -> list[str]:
        known = names() if callable(names) else names
        return [name for name in known if name.startswith(incomplete)]

    return found

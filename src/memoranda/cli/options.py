"""Options and arguments that several commands declare."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

Limit = Annotated[int, Option("--limit", "-n", min=1, help="How many at most.")]
Offset = Annotated[int, Option(min=0, help="How many to skip.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
Erase = Annotated[bool, Option("--erase", help="Remove the text for good, wherever it is kept.")]
DryRun = Annotated[bool, Option("--dry-run", help="Change nothing; say what would be done.")]
NAMED = "The record: its id, the beginning of it, or last."
RecordId = Annotated[str, Argument(metavar="ID", help=NAMED)]
# Of a record or, without it, of an item by namespace and key.
MaybeId = Annotated[str | None, Argument(metavar="ID", help=NAMED)]
Namespace = Annotated[
    str | None, Option(metavar="A/B", help="Where an item is, with / between the levels.")
]
Key = Annotated[str | None, Option(help="What the item is called there.")]
Words = Annotated[list[str], Argument(help="What it says; - reads standard input.")]

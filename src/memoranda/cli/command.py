"""What all commands share: the options, the memory they open, and how they fail."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text
from typer.core import TyperGroup

import memoranda
from memoranda.cli import output
from memoranda.errors import InvalidInput, MemorandaError
from memoranda.settings.settings import Settings

FAILED = 1
SHARED = "Options of every command"
LIST = "list"
WITH_VALUE = frozenset({"--db", "--user"})
HELP = frozenset({"-h", "--help"})
Database = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="PLACE",
        help="A file, chroma:///FOLDER or chroma+http://HOST:PORT; otherwise MEMORANDA_LOCATION, "
        "or a file in the user's data folder.",
        rich_help_panel=SHARED,
        show_default=False,
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        help="Whose memory; otherwise MEMORANDA_USER, or 'default'.",
        rich_help_panel=SHARED,
        show_default=False,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document.", rich_help_panel=SHARED),
]


@dataclass(frozen=True, slots=True)
class Shared:
    """The options that stand before or after the command; after wins."""

    db: str | None = None
    user: str | None = None
    as_json: bool = False

    def under(self, inner: Shared) -> Shared:
        """Return these options with what ``inner`` says in their place."""
        return Shared(
            db=self.db if inner.db is None else inner.db,
            user=self.user if inner.user is None else inner.user,
            as_json=self.as_json or inner.as_json,
        )


class Session:
    """One run of a command: its settings, its memory and its two outputs."""

    def __init__(self, shared: Shared) -> None:
        """Open nothing yet."""
        self.shared = shared
        self.out: Console = output.console()
        self.err: Console = output.console(stderr=True)

    @cached_property
    def settings(self) -> Settings:
        """The settings of file and environment."""
        return Settings()

    @property
    def user(self) -> str:
        """Whose memory it is."""
        return self.settings.user if self.shared.user is None else self.shared.user

    @property
    def location(self) -> Path | None:
        """The file or folder, ``None`` for a memory without one."""
        # With what it brings, a server that opens its memory later would start late, too.
        doctor = import_module("memoranda.serving.doctor")
        file: Path | None = doctor.located(self.shared.db, self.settings)
        return file

    @contextmanager
    def memory(self, *, writes: bool = False) -> Iterator[memoranda.Memory]:
        """Open the memory; say so where a command that reads found no file."""
        file = self.location
        new = file is not None and not file.exists()
        settings = foreground(self.settings)
        with memoranda.Memory(self.shared.db, user=self.user, settings=settings) as memory:
            if new and not writes:
                self.note(f"{file} is new and holds nothing yet")
            yield memory

    def show(self, value: Any, *rendered: RenderableType) -> None:
        """Print ``value`` as JSON where that is wanted, otherwise what was rendered."""
        if self.shared.as_json:
            output.write_json(value)
        else:
            for each in rendered:
                # A terminal wraps a line of text by itself; in a file it stays one line.
                self.out.print(each, soft_wrap=isinstance(each, Text))

    def note(self, text: str) -> None:
        """Tell a person something that is no result."""
        self.err.print(output.styled(f"note: {text}", "dim"), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Tell a person that something did not work, though the command goes on."""
        self.err.print(output.styled(f"warning: {text}", "yellow"), soft_wrap=True)

    def moment(self, text: str | None, name: str) -> datetime | None:
        """Return the moment written in ``text``; without a zone, in the user's.

        Raises:
            InvalidInput: it is neither a date nor a date with a time.
        """
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except (ValueError, OverflowError, OSError) as error:
            message = f"{name}={text!r} is no date; write 2025-03-31 or 2025-03-31T18:30"
            raise InvalidInput(message) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=self.settings.zone)


def foreground(settings: Settings) -> Settings:
    """Return ``settings`` without the background thread, which a command would not wait for.

    What waits is embedded by the next search, or by the command itself with a progress bar
    that then counts all there is. Nor is anything cleaned up at start: who looks at a memory,
    or asks for a dry run, changes nothing.
    """
    embedding = settings.embedding.model_copy(update={"background": False})
    schedule = settings.schedule.model_copy(update={"expire_at_start": False})
    return settings.model_copy(update={"embedding": embedding, "schedule": schedule})


def command(
    app: typer.Typer, name: str, *, examples: Sequence[str] = (), panel: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function of a session and its own options as the command ``name``.

    The shared options are added to its own, so that they may stand on either side of the
    command's name; its docstring is its help.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def run(**given: Any) -> None:
            before: Shared = given.pop("invocation").obj or Shared()
            after = Shared(given.pop("db"), given.pop("user"), as_json=given.pop("as_json"))
            with failures():
                function(Session(before.under(after)), **given)

        parameters = [
            _parameter("invocation", typer.Context, inspect.Parameter.empty),
            *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own),
            _parameter("db", Database, None),
            _parameter("user", User, None),
            _parameter("as_json", AsJson, default=False),
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__ = function.__doc__
        app.command(name, epilog=_epilog(examples), rich_help_panel=panel)(run)
        return function

    return register


def group(app: typer.Typer, *, bare: Callable[[Session], None] | None = None) -> None:
    """Let ``app`` take the shared options, too, and do ``bare`` where no command follows."""

    def keep(
        context: typer.Context, *, db: Database = None, user: User = None, as_json: AsJson = False
    ) -> None:
        before: Shared = context.obj or Shared()
        context.obj = before.under(Shared(db, user, as_json))
        if bare is not None and context.invoked_subcommand is None:
            with failures():
                bare(Session(context.obj))

    app.callback(invoke_without_command=bare is not None, help=app.info.help)(keep)


class Listing(TyperGroup):
    """A group whose command ``list`` is meant where none is named: ``facts``, ``facts tea``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``list`` before arguments that name no command."""
        completing = ctx.resilient_parsing and not args
        if not completing and not self._named(args):
            args = [LIST, *args]
        return super().parse_args(ctx, args)

    def _named(self, args: Sequence[str]) -> bool:
        rest = iter(args)
        for each in rest:
            if each in WITH_VALUE:
                next(rest, None)
            elif each in HELP:
                return True
            elif not each.startswith("-"):
                return each in self.commands
        return False


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _epilog(examples: Sequence[str]) -> str | None:
    # A blank line keeps Typer from joining the examples to one paragraph.
    return "\n\n".join(["Examples:", *(f"  {each}" for each in examples)]) if examples else None


@contextmanager
def failures() -> Iterator[None]:
    """Turn an expected error into one line on standard error and exit code 1."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (MemorandaError, OSError) as error:
        line = " ".join(output.plain(str(error)).split())
        output.console(stderr=True).print(
            output.styled("error: ", "bold red").append(line, "not bold default"), soft_wrap=True
        )
        raise typer.Exit(FAILED) from error


class Warnings(logging.Handler):
    """Shows what the library logs as one line on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of ``record``, without its traceback."""
        line = output.one_line(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {output.one_line(str(record.exc_info[1]))}"
        sys.stderr.write(f"{record.levelname.lower()}: {line}\n")


def show_warnings() -> None:
    """Let warnings of the library reach the person, once."""
    log = logging.getLogger("memoranda")
    if not any(isinstance(handler, Warnings) for handler in log.handlers):
        log.addHandler(Warnings(logging.WARNING))

"""What all commands share: how they are declared, the memory they open, and how they fail.

A command is a function of a session and its own options. Its docstring is its help: the lines
before ``Args:`` say what it does, and those below what each option means.
"""

from __future__ import annotations

import inspect
import logging
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast, get_args

import typer
from rich.console import Console, RenderableType
from rich.measure import measure_renderables
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from memoranda.errors import InvalidInput, MemorandaError
from memoranda.model.checks import parse_moment
from memoranda.model.ports import Progress
from memoranda.rendering.forms import format_json
from memoranda.rendering.layout import Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.serving.signals import SIGNALLED
from memoranda.text.patterns import compile_pattern

if TYPE_CHECKING:  # Help is printed without them.
    from memoranda.memory import Memory
    from memoranda.settings.settings import Settings

Handler = Callable[[int, FrameType | None], None]
# Seconds that the main thread waits at once: a signal just before a wait is seen when it ends.
SIGNAL_WAIT = 1.0
FAILED = 1
# Columns of what is no terminal, and those that a rule takes there.
UNBOUNDED = 1_000_000
LINE = 80
SHARED = "Options of every command"
SHARED_NAMES = ("db", "user", "as_json")
# What the options of several commands are called where it is not as in Python.
FLAGS: Mapping[str, Sequence[str]] = {
    "limit": ("--limit", "-n"),
    "yes": ("--yes", "-y"),
    "everything": ("--all",),
    "in_session": ("--session",),
}
DATES = {"since", "until", "as_of", "event_time"}
# What help calls a value, by its type; a switch has none.
METAVARS: Mapping[Any, str] = {
    bool: "", int: "NUMBER", float: "NUMBER", Path: "PATH", str: "TEXT", list[str]: "TEXT",
}  # fmt: skip
DESCRIPTION = compile_pattern(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
PLACE = (
    "A file, postgresql://HOST/DATABASE or chroma:///FOLDER; "
    "otherwise MEMORANDA_LOCATION, or a file in the user's data folder."
)
WHOSE = "Whose memory; otherwise MEMORANDA_USER, or 'default'."
_shared = partial(typer.Option, rich_help_panel=SHARED, show_default=False)
Database = Annotated[str | None, _shared("--db", metavar="PLACE", help=PLACE)]
User = Annotated[str | None, _shared("--user", metavar="NAME", help=WHOSE)]
AsJson = Annotated[bool, _shared("--json", metavar="", help="Print one JSON document.")]


class PlainSwitches:
    """Shows no type in help for what takes no value, as --help itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, switches without a name for their value."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if getattr(each, "is_flag", False) and each.metavar is None:
                each.metavar = ""
        return found


class Command(PlainSwitches, TyperCommand):
    """A command."""


class CommandGroup(PlainSwitches, TyperGroup):
    """A group of commands."""


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """The options that stand before or after the command; after wins."""

    db: str | None = None
    user: str | None = None
    as_json: bool = False

    @classmethod
    def read(cls, context: typer.Context | None) -> SharedOptions:
        """Return what a command line says so far, a command and what stands before it."""
        if context is None:
            return cls()
        before = cls.read(cast("typer.Context | None", context.parent))
        db, user, as_json = map(context.params.get, SHARED_NAMES)
        return cls(
            db=before.db if db is None else db,
            user=before.user if user is None else user,
            as_json=before.as_json or bool(as_json),
        )


class Session:
    """One run of a command: its settings, its memory and its two outputs."""

    def __init__(self, shared: SharedOptions) -> None:
        """Open nothing yet."""
        self.shared = shared
        self.closing = ExitStack()
        self.out = make_console()
        if not self.out.is_terminal:
            self.out.width = UNBOUNDED
        self.err = make_console(stderr=True)

    @cached_property
    def settings(self) -> Settings:
        """The settings of file and environment."""
        from memoranda.settings.settings import Settings  # noqa: PLC0415 - help does without

        return Settings()

    @property
    def quiet_settings(self) -> Settings:
        """The settings without the background thread, which a command would not wait for.

        What waits is embedded by the next search, or by the command itself with a progress bar
        that then counts all there is. Nor is anything cleaned up at start: who looks at a memory,
        or asks for a dry run, changes nothing.
        """
        return self.settings.with_values(
            embedding={"background": False}, schedule={"expire_at_start": False}
        )

    @cached_property
    def view(self) -> Display:
        """Standard output, in the user's time zone."""
        return Display(self.out, self.settings.zone if self.settings.timezone else None)

    @property
    def user(self) -> str:
        """Whose memory it is."""
        return self.settings.user if self.shared.user is None else self.shared.user

    @property
    def given(self) -> dict[str, tuple[str, str | None]]:
        """The options that win over settings, with their values, by the names of the settings."""
        return {"location": ("--db", self.shared.db), "user": ("--user", self.shared.user)}

    @property
    def location(self) -> Path | None:
        """The file or folder, ``None`` for a memory without one."""
        from memoranda.store.locations import file_of, place  # noqa: PLC0415 - a server starts without

        return file_of(place(self.shared.db, self.settings))

    def memory(
        self, at: str | None = None, *, writes: bool = False, all_users: bool = False
    ) -> Memory:
        """Open the memory till the command ends.

        Args:
            at: where it is, if not where the command line says.
            writes: it may begin here; otherwise the store and the user have to be there.
            all_users: the command is about the whole store, whoever the user is.

        Raises:
            NotFound: there is nothing to read; the message names what is near.
        """
        from memoranda.memory import Memory  # noqa: PLC0415 - only who opens one waits for it
        from memoranda.serving import existing  # noqa: PLC0415
        from memoranda.store.locations import place  # noqa: PLC0415

        reads = not writes and at is None
        if reads:
            existing.require_place(place(self.shared.db, self.settings))
        memory = Memory(at or self.shared.db, user=self.user, settings=self.quiet_settings)
        self.closing.enter_context(memory)
        if reads and not all_users and not existing.require_user(memory):
            self.hint(existing.NOTHING_YET)
        return memory

    def show(self, value: Any, *rendered: RenderableType, indent: int | None = 2) -> None:
        """Print ``value`` as JSON where that is wanted, otherwise what was rendered."""
        if self.shared.as_json:
            write_json(value, indent=indent)
        else:
            self.print(*rendered)

    def print(self, *rendered: RenderableType) -> None:
        """Print what was rendered at once: what goes to no terminal, as wide as it needs."""
        tables = [each for each in rendered if not isinstance(each, Text)]
        width = max(LINE, measure_renderables(self.out, self.out.options, tables).maximum)
        for each in rendered:
            if self.out.is_terminal or isinstance(each, Text):
                # A terminal wraps a line of text by itself; in a file it stays one line.
                self.out.print(each, soft_wrap=isinstance(each, Text))
                continue
            with self.out.capture() as captured:
                self.out.print(each, width=width)
            lines = captured.get().splitlines()
            self.out.file.writelines(f"{line.rstrip()}\n" for line in lines)  # It pads them.
        self.out.file.flush()

    def note(self, text: str) -> None:
        """Tell a person something that is no result."""
        self.err.print(safe_text(f"note: {text}", "dim"), soft_wrap=True)

    def hint(self, text: str) -> None:
        """Tell a person, not a program, something that is no result."""
        if not self.shared.as_json:
            self.note(text)

    def warn(self, text: str) -> None:
        """Tell a person that something did not work, though the command goes on."""
        self.err.print(safe_text(f"warning: {text}", "yellow"), soft_wrap=True)

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """Show how far the work in the block is, on standard error if that is a terminal."""
        from rich import progress  # noqa: PLC0415 - few commands show one

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
        )
        silent = not sys.stderr.isatty()
        shown = progress.Progress(*columns, console=self.err, transient=True, disable=silent)
        with shown:
            task = shown.add_task(title, total=None)
            yield lambda done, total: shown.update(task, completed=done, total=total or None)

    def confirm(self, question: str) -> bool:
        """Ask a question whose answer is no unless it is yes."""
        from rich.prompt import Confirm  # noqa: PLC0415 - few commands ask

        try:
            return Confirm.ask(question, console=self.err, default=False)
        except EOFError:
            return False

    def require_yes(self, question: str, refused: str, *, yes: bool = False) -> None:
        """Ask for a yes, unless ``yes`` says it; without one the command ends.

        Raises:
            InvalidInput: there is no terminal to ask on.
        """
        if yes:
            return
        if not sys.stdin.isatty():
            raise InvalidInput(f"{refused}: there is no terminal to ask on; say it with --yes")
        if not self.confirm(question):
            self.note(refused)
            raise typer.Exit(FAILED)

    def parse_moment(self, text: str | None, name: str) -> datetime | None:
        """Return the moment written in ``text``; without a zone, in the user's.

        Raises:
            InvalidInput: it is neither a date nor a date with a time.
        """
        return None if text is None else parse_moment(text, name, self.settings.zone)


# A console that takes text literally: no markup, no emoji codes, no guessing.
make_console = partial(Console, markup=False, emoji=False, highlight=False)


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """Write ``value`` to standard output at once, as a document or, without indent, as a line."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(f"{format_json(value, indent=indent, ascii_only=not unicode)}\n")
    sys.stdout.flush()


def read_argument(text: str) -> str:
    """Return ``text``, or standard input where it is a dash."""
    return sys.stdin.read().removesuffix("\n") if text == "-" else text


def command(
    app: typer.Typer, name: str, /, **options: Mapping[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function of a session and its own options as the command ``name``.

    A parameter without a default is an argument, the others are options; one of a dataclass is
    an option for each of its fields. The shared options are added, so that they may stand on
    either side of the command's name.

    Args:
        app: where it is registered.
        name: what it is called.
        options: for a parameter what else Typer takes: ``metavar``, ``min``, ``autocompletion``,
            a ``help`` that no docstring can hold, and so on; ``flags`` are its names on the
            command line, and ``argument`` says that it is one although it has a default.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        about, meanings, examples = _read_docstring(function)
        taken = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        groups: dict[str, Any] = {
            each.name: each.annotation for each in taken if is_dataclass(each.annotation)
        }
        own: list[inspect.Parameter] = []
        for each in taken:
            said = {"help": meanings.get(each.name), **options.get(each.name, {})}
            own += (
                _declare_fields(each.annotation)
                if each.name in groups
                else [_declare(each, **said)]
            )

        def run(context: typer.Context, **given: Any) -> None:
            grouped = {
                name: group(**{each.name: given.pop(each.name) for each in fields(group)})
                for name, group in groups.items()
            }
            given = {name: given[name] for name in given if name not in SHARED_NAMES}
            _run(function, context, **given, **grouped)

        parameters = [
            _parameter("context", annotation=typer.Context),
            *own,
            _parameter("db", annotation=Database, default=None),
            _parameter("user", annotation=User, default=None),
            _parameter("as_json", annotation=AsJson, default=False),
        ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__ = about
        app.command(name, cls=Command, epilog=examples)(run)
        return function

    return register


def _declare_fields(group: Any) -> Iterator[inspect.Parameter]:
    """Yield the options that the fields of a dataclass are."""
    meanings = _read_docstring(group)[1]
    parameters = inspect.signature(group, eval_str=True).parameters
    for each in fields(group):
        yield _declare(parameters[each.name], **{"help": meanings.get(each.name), **each.metadata})


def _read_docstring(described: Callable[..., Any]) -> tuple[str, dict[str, str], str | None]:
    """Return what a command does, what each parameter means, and the end of its help."""
    rest, _, examples = inspect.cleandoc(described.__doc__ or "").partition("\n\nExamples:\n")
    about, _, parameters = rest.replace("\n\nAttributes:\n", "\n\nArgs:\n").partition("\n\nArgs:\n")
    meanings = {each[1]: " ".join(each[2].split()) for each in DESCRIPTION.finditer(parameters)}
    # A blank line keeps Typer from joining the examples to one paragraph.
    lines = ["Examples:", *(f"  {each.strip()}" for each in examples.splitlines())]
    return about, meanings, "\n\n".join(lines) if examples else None


def _declare(
    parameter: inspect.Parameter, *, flags: Sequence[str] = (), argument: bool = False, **more: Any
) -> inspect.Parameter:
    """Return a parameter as Typer takes it, with its help."""
    name, default = parameter.name, parameter.default
    shows = default is not None and default is not False and default != 0
    kind = next(iter(get_args(parameter.annotation)), parameter.annotation)
    metavar = "DATE" if name in DATES else METAVARS.get(kind)
    if argument or default is inspect.Parameter.empty:
        declared = typer.Argument(**{"metavar": name.upper(), "show_default": shows, **more})
    else:
        flags = flags or FLAGS.get(name, (f"--{name.replace('_', '-')}",))
        declared = typer.Option(*flags, **{"metavar": metavar, "show_default": shows, **more})
    return parameter.replace(annotation=Annotated[parameter.annotation, declared])


_parameter = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)


def _run(function: Callable[..., None], context: typer.Context, **given: Any) -> None:
    """Run a command; an expected error is one line on standard error, and exit code 1."""
    session = Session(SharedOptions.read(context))
    try:
        with session.closing:
            function(session, **given)
    except BrokenPipeError:
        raise
    except (MemorandaError, OSError) as error:
        line = one_line(str(error))
        shown = safe_text("error: ", "bold red").append(line, "not bold default")
        session.err.print(shown, soft_wrap=True)
        raise typer.Exit(FAILED) from error


def make_group(
    commands: typer.Typer,
    name: str,
    cls: type[TyperGroup],
    bare: Callable[[Session], None] | None = None,
) -> typer.Typer:
    """Return a group of commands that takes the shared options, too.

    Args:
        commands: where the group is registered.
        name: what it is called.
        cls: how its arguments are read; its docstring is the help of the group.
        bare: what is done where no command follows.
    """
    about, _, examples = _read_docstring(cls)

    def keep(
        context: typer.Context, *, db: Database = None, user: User = None, as_json: AsJson = False
    ) -> None:
        del db, user, as_json  # A command reads them from its context.
        if bare is not None and context.invoked_subcommand is None:
            _run(bare, context)

    # Where words may follow that name no command, so may options: a command will know them.
    ignoring = {"ignore_unknown_options": issubclass(cls, ListingGroup)}
    made = typer.Typer(cls=cls, help=about, epilog=examples, context_settings=ignoring)
    made.callback(invoke_without_command=bare is not None, help=about)(keep)
    commands.add_typer(made, name=name)
    return made


class ListingGroup(CommandGroup):
    """A group whose command ``list`` is meant where none is named: ``facts``, ``facts tea``.

    Attributes:
        takes_words: whether ``list`` takes words, and not only options.
    """

    takes_words = False

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take what names no command for the options and words of ``list``."""
        lists = args[0] not in self.commands and (self.takes_words or args[0].startswith("-"))
        return super().resolve_command(ctx, ["list", *args] if lists else args)


def complete(names: Callable[[], Iterable[str]] | Iterable[str]) -> Callable[[str], list[str]]:
    """Return what completes the beginning of one of ``names``."""

    def found(incomplete: str) -> list[str]:
        known = names() if callable(names) else names
        return [name for name in known if name.startswith(incomplete)]

    return found


@contextmanager
def handle_signals(numbers: Sequence[signal.Signals], handler: Handler) -> Iterator[None]:
    """Handle signals; in another thread than the main one, where none comes, do nothing."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)


def exit_on_signal(number: int, frame: FrameType | None) -> NoReturn:
    """End the program in order: its terminal is as before, and no temporary file is left."""
    del frame
    raise SystemExit(SIGNALLED + number)


class StderrHandler(logging.Handler):
    """Shows what the library logs as one line on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of ``record``, without its traceback."""
        line = one_line(record.getMessage())
        if record.exc_info and record.exc_info[1] is not None:
            line += f": {one_line(str(record.exc_info[1]))}"
        sys.stderr.write(f"{record.levelname.lower()}: {line}\n")


def show_warnings() -> None:
    """Let warnings of the library reach the person, once; a pool's attempts are told as errors."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    log = logging.getLogger("memoranda")
    if not any(isinstance(handler, StderrHandler) for handler in log.handlers):
        log.addHandler(StderrHandler(logging.WARNING))

"""What all commands share: their common options, the memory they open, and how they fail.

A command is a function whose parameters are its options, as Typer declares them. Its docstring is
its help; what stands there below ``Examples:`` is shown at the end. Typer gives it the context of
its run, which is a :class:`Session` here.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property, partial
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.text import Text
from typer import Option
from typer.core import TyperCommand, TyperGroup

from memoranda.errors import ConfigError, InvalidInput, MissingExtra
from memoranda.model.checks import parse_moment
from memoranda.model.ports import Progress
from memoranda.rendering.forms import format_json
from memoranda.rendering.layout import Column, Display, format_error, safe_text, table
from memoranda.rendering.plain import one_line

if TYPE_CHECKING:  # Help is printed without them.
    from memoranda.memory import Memory
    from memoranda.model.models import ForgetReceipt
    from memoranda.settings.settings import Settings

Handler = Callable[[int, FrameType | None], None]
Function = TypeVar("Function", bound=Callable[..., None])
FAILED = 1
# What is added to the number of the signal that ended a program: its exit code.
SIGNALLED = 128
# What stands for the record that was stored last; characters that the beginning of an id has at
# least, and ids that are named where several begin so.
LAST, SHORTEST_ID, MOST_NAMED = "last", 6, 5
# Columns of what is no terminal.
UNBOUNDED = 1_000_000
EXAMPLES = "\n\nExamples:\n"


def keep(session: typer.Context, param: typer.CallbackParam, value: Any) -> None:
    """Keep the value of an option in the context's ``meta``; the innermost command's wins."""
    if value is not None and value is not False:
        session.meta[str(param.name)] = value


# An option that no function is given, as what all commands share needs it.
Kept = partial(Option, expose_value=False, callback=keep, show_default=False)
Shared = partial(Kept, rich_help_panel="Options of every command")

# What a chat is begun with.
ChatName = Annotated[
    str, Option("--session", metavar="NAME", help="The conversation to continue, or to begin.")
]
Model = Annotated[
    str | None, Option(metavar="NAME", help="The language model; otherwise llm.model.")
]


def shared_options(
    *,
    db: Annotated[
        str | None,
        Shared(
            metavar="PLACE",
            help="A file, postgresql://HOST/DATABASE or chroma:///FOLDER; otherwise "
            "MEMORANDA_LOCATION, or a file in the user's data folder.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        Shared(metavar="NAME", help="Whose memory; otherwise MEMORANDA_USER, or 'default'."),
    ] = None,
    as_json: Annotated[bool, Shared("--json", help="Print one JSON document.")] = False,
) -> None:
    """Declare the options of every command, which may stand before or after its name."""


class Session(typer.Context):
    """One run of a command: its options, its settings, its memory and its two outputs."""

    @property
    def db(self) -> str | None:
        """Where the memory is, if the command line says so."""
        return self.meta.get("db")

    @property
    def as_json(self) -> bool:
        """Whether results are JSON documents."""
        return "as_json" in self.meta

    @cached_property
    def out(self) -> Console:
        """Standard output."""
        console = make_console()
        if not console.is_terminal:
            console.width = UNBOUNDED
        return console

    @cached_property
    def err(self) -> Console:
        """Standard error."""
        return make_console(stderr=True)

    @cached_property
    def settings(self) -> Settings:
        """The settings of file and environment."""
        from memoranda.settings.settings import Settings  # noqa: PLC0415 - help does without

        return Settings()

    @cached_property
    def usable_settings(self) -> Settings:
        """The settings, without a language model that cannot be used; a warning says why."""
        from memoranda.providers.opening import open_language_model  # noqa: PLC0415 - as above

        settings = self.settings
        try:
            open_language_model(settings.llm, None)
        except (ConfigError, MissingExtra) as error:
            self.warn(f"{error}; to undo it: memoranda config unset llm.model")
            return settings.with_values(llm={"model": None})
        return settings

    @property
    def quiet_settings(self) -> Settings:
        """The settings without the background thread, which a command would not wait for.

        What waits is embedded by the next search, or by the command itself with a progress bar
        that then counts all there is. Nor is anything cleaned up at start: who looks at a memory,
        or asks for a dry run, changes nothing.
        """
        return self.usable_settings.with_values(
            embedding={"background": False}, schedule={"expire_at_start": False}
        )

    @cached_property
    def view(self) -> Display:
        """Standard output, in the user's time zone."""
        return Display(self.out, self.settings.zone if self.settings.timezone else None)

    @property
    def user(self) -> str:
        """Whose memory it is."""
        return str(self.meta.get("user", self.settings.user))

    @property
    def given(self) -> dict[str, tuple[str, str | None]]:
        """The options that win over settings, with their values, by the names of the settings."""
        return {"location": ("--db", self.db), "user": ("--user", self.meta.get("user"))}

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
            existing.require_place(place(self.db, self.settings))
        memory = Memory(at or self.db, user=self.user, settings=self.quiet_settings)
        self.with_resource(memory)
        if reads and not all_users and not existing.require_user(memory):
            self.note(existing.NOTHING_YET)
        return memory

    def find_id(self, text: str) -> tuple[Memory, str]:
        """Return the memory, and the id that a text stands for: an id, its beginning, or ``last``.

        A text that stands for none is returned as it is.

        Raises:
            InvalidInput: several ids begin with it.
        """
        from memoranda.memory import scope_of, services_of  # noqa: PLC0415 - as above

        memory = self.memory()
        if text == LAST:
            newest = memory.records(newest_first=True, limit=MOST_NAMED)
            # A person means what was said or stored, not an insight that was written since.
            return memory, next((each.id for each in newest if each.kind != "reflection"), text)
        if len(text) < SHORTEST_ID:
            return memory, text
        found = services_of(memory).store.ids(scope_of(memory), text, limit=MOST_NAMED)
        if len(found) > 1:
            raise InvalidInput(f"several ids begin with {text}: {', '.join(found)}; write one")
        return memory, found[0] if found else text

    def show(self, value: Any, *rendered: RenderableType, indent: int | None = 2) -> None:
        """Print ``value`` as JSON where that is wanted, otherwise what was rendered."""
        if self.as_json:
            write_json(value, indent=indent)
        else:
            self.print(*rendered)

    def show_table(
        self, rows: Sequence[Any], columns: Sequence[Column], empty: str | None = None
    ) -> None:
        """Print rows as JSON where that is wanted, otherwise as a table."""
        self.show(rows, table(rows, columns, self.view, empty=empty))

    def print(self, *rendered: RenderableType) -> None:
        """Print what was rendered at once: what goes to no terminal, as wide as it needs."""
        for each in rendered:
            if self.out.is_terminal or isinstance(each, Text):
                # In a file a line of text stays one line.
                self.out.print(each, soft_wrap=not self.out.is_terminal)
                continue
            with self.out.capture() as captured:
                self.out.print(each)
            lines = captured.get().splitlines()
            self.out.file.writelines(f"{line.rstrip()}\n" for line in lines)  # It pads them.
        self.out.file.flush()

    def show_erasure(self, receipt: ForgetReceipt, done: str, end: str = "") -> None:
        """Print what was forgotten or erased, and warn of what is left of it."""
        from memoranda.rendering.records import list_erased, warn_of_rest  # noqa: PLC0415 - as above

        self.show(receipt, safe_text(f"{', '.join([one_line(done), *list_erased(receipt)])}{end}"))
        self.warn(*warn_of_rest(receipt))

    def note(self, text: str) -> None:
        """Tell a person something that is no result."""
        self.err.print(safe_text(f"note: {text}", "dim"), soft_wrap=True)

    def warn(self, *texts: str) -> None:
        """Tell a person what did not work, though the command goes on."""
        for each in texts:
            self.err.print(safe_text(f"warning: {each}", "yellow"), soft_wrap=True)

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """Show how far the work in the block is, on standard error if that is a terminal."""
        from rich import progress  # noqa: PLC0415 - few commands show one

        silent = not self.err.is_terminal
        with progress.Progress(console=self.err, transient=True, disable=silent) as shown:
            task = shown.add_task(title, total=None)
            yield lambda done, total: shown.update(task, completed=done, total=total or None)

    def require_yes(self, question: str, refused: str, *, yes: bool) -> None:
        """Ask for a yes, unless ``yes`` says it; without one the command ends.

        Raises:
            InvalidInput: there is no terminal to ask on.
        """
        if not yes and not sys.stdin.isatty():
            raise InvalidInput(f"{refused}: there is no terminal to ask on; add --yes")
        if not yes:
            typer.confirm(question, abort=True, err=True)

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


def read_words(words: Sequence[str]) -> str:
    """Return the words of a command line as a text, or standard input where they are a dash."""
    text = " ".join(words)
    return read_input().removesuffix("\n") if text == "-" else text


def read_input(*, line: bool = False) -> str:
    """Return standard input, or its next line; empty at the end.

    Raises:
        InvalidInput: it is not UTF-8.
    """
    text = sys.stdin.readline() if line else sys.stdin.read()
    try:
        return text.encode(errors="surrogateescape").decode()
    except UnicodeDecodeError as error:
        message = f"{text[max(0, error.start - 20) : error.start + 20]!r}"
        raise InvalidInput(
            f"standard input is not UTF-8 near {message}; convert it, as by iconv -t UTF-8"
        ) from error


def tell_error(message: str) -> None:
    """Write an error as one line on standard error."""
    make_console(stderr=True).print(format_error(message), soft_wrap=True)


def declare_options(declared: Callable[..., None]) -> list[Any]:
    """Return the parameters of a function, as those of a command."""
    app = typer.Typer(add_completion=False)
    app.command()(declared)
    return typer.main.get_command(app).params


class SharedHelp:
    """A command that also takes the shared options, and whose help ends with its examples."""

    context_class: Any = Session
    params: Any
    options: ClassVar[Any] = declare_options(shared_options)

    def __init__(self, name: str | None = None, *, help: str | None = None, **given: Any) -> None:
        """Take the help apart: a line break in a paragraph is a blank."""
        about, _, examples = (help or "").partition(EXAMPLES)
        given["help"] = "\n\n".join(" ".join(each.split()) for each in about.split("\n\n"))
        if examples:
            lines = (each.strip() for each in examples.split("\n"))
            given["epilog"] = "\n\n".join(("Examples:", *lines))
        super().__init__(name=name, **given)  # type: ignore[call-arg] # its sibling in a command
        self.params = [*self.params, *self.options]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; what is wrong with them says of which command."""
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc, no-any-return]
        except typer.TyperException as error:
            vars(error)["ctx"] = getattr(error, "ctx", None) or ctx
            raise

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; help shows no value of a switch."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if each.bare_type() == "bool":
                each.metavar = ""
        return found


class Command(SharedHelp, TyperCommand):
    """A command."""


class CommandGroup(SharedHelp, TyperGroup):
    """A group of commands; its docstring is its help.

    Attributes:
        default: the command that is meant where none is named: ``facts``, ``facts --all``.
        takes_words: whether words may follow that name no command: ``facts tea``.
    """

    default: str | None = None
    takes_words = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the command that is meant, unless one is named or help is wanted."""
        named = {*self.commands, *ctx.help_option_names} & set(args)
        bare = self.takes_words or not args or args[0].startswith("-")
        if self.default and bare and not named and not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def command(
    app: typer.Typer, name: str, cls: type[TyperCommand] = Command
) -> Callable[[Function], Function]:
    """Register a function of a session and of its own options as the command ``name``."""
    return app.command(name, cls=cls)


def make_group(commands: typer.Typer, name: str, cls: type[CommandGroup]) -> typer.Typer:
    """Return a group of commands that is registered as ``name``; its class is its help."""
    made = typer.Typer(cls=cls, help=cls.__doc__)
    commands.add_typer(made, name=name)
    return made


@contextmanager
def handle_signals(numbers: Sequence[signal.Signals], handler: Handler) -> Iterator[None]:
    """Handle signals while the block runs."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, handled in before.items():
            signal.signal(number, handled)


def ending_signals() -> Sequence[signal.Signals]:
    """Return the signals that terminate a program, or tell that its terminal was closed.

    Not those that are ignored, as by ``nohup``: such a program is to outlive its terminal.
    """
    return [
        each
        for each in signal.Signals
        if each.name in {"SIGTERM", "SIGHUP"} and signal.getsignal(each) != signal.SIG_IGN
    ]


def exit_on_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """End the program as a signal would, but with the terminal as before and no temporary file."""
    raise SystemExit(SIGNALLED + number)


class StderrHandler(logging.Handler):
    """Shows what the library logs as one line on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of ``record``, without its traceback."""
        failed = record.exc_info[1] if record.exc_info else None
        line = record.getMessage() if failed is None else f"{record.getMessage()}: {failed}"
        sys.stderr.write(f"{record.levelname.lower()}: {one_line(line)}\n")


def show_warnings() -> None:
    """Let warnings of the library reach the person, once; a pool's attempts are told as errors."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    log = logging.getLogger("memoranda")
    if not any(isinstance(handler, StderrHandler) for handler in log.handlers):
        log.addHandler(StderrHandler(logging.WARNING))

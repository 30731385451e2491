"""Any values at every door: the library, the tools of agents, MCP and the command line.

Whatever is given, nothing but errors of ours may come out: no exception of Python's own or of a
driver's, no traceback on a terminal, no unexpected error in the log of a server.
"""

from __future__ import annotations

import io
import logging
import random
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import click
import typer
from anyio.from_thread import start_blocking_portal
from mcp import Client, MCPError
from typer.testing import CliRunner

from benchmarks.torture.calls import arguments, of_schema, verbs_of
from benchmarks.torture.figures import Figure, Tally, Task, place_of
from benchmarks.torture.verbs import opened
from memoranda import Memory, Settings
from memoranda.cli import app
from memoranda.errors import MemorandaError
from memoranda.mcp.server import build
from memoranda.model.clock import SystemClock
from memoranda.serving.late import LateMemory

SHOWN = 40
# What a server says of an error that it did not expect.
UNEXPECTED = "the log of the server"
# Commands that wait for a person or a client, or fetch models.
NOT_RUN = frozenset({"chat", "tui", "mcp", "serve", "worker", "hook", "demo"})
NOT_RUN_BELOW = frozenset({"pull", "edit"})
ENDLESS_OPTIONS = frozenset({"--watch", "--help"})
NOW = datetime.now(UTC)
TEXTS = (
    *("", " ", "\0", "a\0b", "\ud800", "\u202e", "é" * 300, "x" * 5_000, "%", "'", '"', "--", "-"),
    *(
        "fact",
        "episode",
        "item",
        "user",
        "default",
        "trip",
        "5",
        "1e400",
        "nan",
        "None",
        "[]",
        "{}",
    ),
    *("fact_01K0000000000000000000000A", "../..", "/dev/null", ":memory:", "2025-03-31", "日本語"),
    *("postgresql://u:p@h/x", "tag,tag", "key=value", "a=b=c", "🜚", "İ", "ﬁ", "\n\r\t", "$HOME"),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00+14:00", "2025-13-45", "expire", "importance"),
)
NUMBERS = (0, 1, -1, 5, 2**31, 2**63, 2**64, -(2**63), 10**400, 0.5, -0.0, 1e308)
ODD = (float("nan"), float("inf"), float("-inf"), 1j, True, False, None, b"\xff", b"", ...)


class Nasty:
    """Makes up values of any type, some of which fit the name of their argument."""

    # What would fit, so that some calls get past the first check.
    FITTING: ClassVar[dict[str, tuple[Any, ...]]] = {
        "kind": ("fact", "episode", "context", "reflection", "item", "conversation"),
        "role": ("user", "assistant", "system", "tool"),
        "trust": ("person", "agent", "external"),
        "limit": (1, 5, 50),
        "offset": (0, 2),
        "budget": (10, 1_000),
        "metadata": ({"a": 1}, {"a": {"gt": 0}}, {"a": {"in": [1]}}),
        "tags": (["x"], []),
        "namespace": (("a",), ()),
        "items": (["a text"], [{"content": "b"}]),
        "messages": ([{"role": "user", "content": "c"}],),
        "since": (NOW - timedelta(days=1), "2025-01-01"),
        "until": (NOW,),
        "stages": (["expire"],),
        "event": ("added",),
        "strategy": ("recency", "hybrid"),
        "form": ("openai", "anthropic"),
    }

    def __init__(self, rng: random.Random, folder: Path) -> None:
        """Name files below ``folder`` alone."""
        self.rng, self._folder, self._files = rng, folder, 0
        self.ids: list[str] = ["fact_0", "trip"]

    def text(self) -> str:
        """Return a text of any kind."""
        rng = self.rng
        if rng.random() < 0.6:
            return rng.choice(TEXTS)
        if rng.random() < 0.5:
            return rng.choice(self.ids)
        return "".join(chr(rng.choice((65, 97, 0x300, 0x5D0, 0x1F600, 10))) for _ in range(9))

    def any(self, depth: int = 2) -> Any:
        """Return a value of any type."""
        rng = self.rng
        makers: list[Callable[[], Any]] = [
            self.text,
            self.text,
            lambda: rng.choice(NUMBERS),
            lambda: rng.choice(ODD),
            lambda: rng.choice((NOW, NOW.replace(tzinfo=None), NOW.date(), timedelta(1), object())),
            self.path,
        ]
        if depth:
            makers += [
                lambda: [self.any(depth - 1) for _ in range(rng.randrange(3))],
                lambda: {self.text(): self.any(depth - 1) for _ in range(rng.randrange(3))},
                lambda: {rng.choice((1, None, ())): self.any(depth - 1)},
                lambda: (self.text(),),
                lambda: {self.text()},
                lambda: iter([self.any(depth - 1)]),
            ]
        return rng.choice(makers)()

    def value(self, name: str) -> Any:
        """Return a value for an argument of that name."""
        rng = self.rng
        if name in {"callback", "progress", "on_report"}:
            return None
        if name in {"path", "format"} and rng.random() < 0.7:
            return self.path() if name == "path" else self.text()
        if rng.random() < 0.5:
            return rng.choice(self.FITTING.get(name, (self.text(),)))
        return self.any()

    def json(self, name: str) -> Any:
        """Return a value as JSON can hold it."""
        rng = self.rng
        if rng.random() < 0.6:
            found = rng.choice(self.FITTING.get(name, (self.text(),)))
            return found if not isinstance(found, datetime | tuple) else str(found)
        return rng.choice(
            [self.text(), rng.choice(NUMBERS[:9]), None, True, [], [self.text()], {self.text(): 1}]
        )

    def path(self) -> Any:
        """Return a path: below the folder, so that nothing is written elsewhere."""
        rng, folder = self.rng, self._folder
        self._files += 1
        return rng.choice(
            [
                folder / f"new-{self._files}.jsonl",
                str(folder / f"new-{self._files}.json"),
                folder,
                folder / "missing" / "x",
                f"{folder}/a\0b",
                str(folder / ("y" * 5_000)),
                folder / "garbage.json",
                io.BytesIO(),
            ]
        )


Door = Callable[[Task, Nasty, Tally], None]


def run(task: Task) -> list[Figure]:
    """Return for each door how many calls were made, and what came out that should not."""
    rng = random.Random(task.seed)  # noqa: S311 - no secret
    figures = []
    logging.disable()
    for number, (name, (door, share, of_calls)) in enumerate(DOORS.items()):
        part, tally = task.part(share, f"door-{number}"), Tally()
        nasty = Nasty(rng, part.folder)
        (part.folder / "garbage.json").write_bytes(b'{"a": [\xff')
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while not part.over and tally.calls < of_calls * task.calls:
                door(part, nasty, tally)
        figures.append(
            Figure(
                f"fuzzed calls: {name}",
                f"{of_calls * task.calls:,.0f} calls, nothing but errors of ours",
                f"{tally.calls:,} calls, {tally.wrong.total():,} other errors "
                f"({len(tally.wrong)} places)",
                held=not tally.wrong,
                reached=tally.calls >= of_calls * task.calls,
                details=tally.details()[:SHOWN],
            )
        )
    logging.disable(logging.NOTSET)
    return figures


def _attempt(tally: Tally, name: str, call: Callable[[], object], given: object) -> object:
    """Make a call, and count it with what it raises."""
    tally.calls += 1
    try:
        return call()
    except MemorandaError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        tally.add(f"{name}: {place_of(error)}", f"{error!s:.100} for {given!r:.200}")
        return None


def fuzz_library(task: Task, nasty: Nasty, tally: Tally) -> None:
    """Call the verbs of a memory, of a conversation and of notes."""
    given: Any = {name: nasty.value(name) for name in ("location", "user", "agent")}
    if nasty.rng.random() < 0.2 and "chroma" not in str(given["location"]):
        made = _attempt(tally, "Memory", lambda: Memory(**given), given)
        if isinstance(made, Memory):
            made.close()
    with opened(":memory:", SystemClock()) as memory:
        nasty.ids[:] = [memory.remember("Ana sails.").id, "trip"]
        chat = memory.conversation("trip")
        nasty.ids.append(chat.add("user", "We go to Faro.").id)
        subjects = (
            (verbs_of(memory, "doctor", "admin", "conversation"), 90),
            ([memory.as_user, memory.conversation], 5),
            (verbs_of(chat), 40),
            (verbs_of(memory.notes, "restore"), 10),
            ([memory.admin.delete_user, memory.admin.users], 1),
        )
        for verbs, number in subjects:
            for _ in range(number):
                if task.over:
                    return
                verb = nasty.rng.choice(verbs)
                given = arguments(verb, nasty.rng, nasty.value)
                name = f"{type(getattr(verb, '__self__', None)).__name__}.{verb.__name__}"
                _attempt(tally, name, lambda verb=verb, given=given: _used(verb(**given)), given)


def _used(answer: object) -> object:
    """Use what a verb returns, as a caller would who prints it."""
    if isinstance(answer, Iterator):
        return list(answer)
    return f"{answer!r} {answer}"


def fuzz_tools(task: Task, nasty: Nasty, tally: Tally) -> None:
    """Call the tools of an agent, and those that consolidate."""
    with opened(":memory:", SystemClock()) as memory:
        nasty.ids[:] = [memory.remember("Ana sails.").id, "trip"]
        memory.conversation("trip").add("user", "We go to Faro.")
        tools = [*memory.tools(), *memory.consolidator_tools()]
        for _ in range(200):
            if task.over:
                return
            tool = nasty.rng.choice(tools)
            given: Any = of_schema(tool.parameters, nasty.rng, nasty.value, ("x", "user"))
            if nasty.rng.random() < 0.1:
                given = nasty.any()
            _attempt(tally, tool.name, lambda tool=tool, given=given: tool.call(given), given)


def fuzz_mcp(task: Task, nasty: Nasty, tally: Tally) -> None:
    """Call the tools of an MCP server in this process."""
    settings = Settings()
    late = LateMemory(":memory:", user="ana", settings=settings)
    tools = {each.name: each.parameters for each in _tools()}
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(build(late, tools="full"))) as client,
    ):
        for _ in range(500):
            if task.over:
                return
            name = nasty.rng.choice(list(tools))
            given = of_schema(tools[name], nasty.rng, nasty.json, ("x", "user"))
            tally.calls += 1
            try:
                result = portal.call(client.call_tool, name, given)
            except (MCPError, UnicodeEncodeError, ValueError):
                continue  # What no JSON can hold is refused before it is sent, or as no request.
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                tally.add(f"{name}: {place_of(error)}", f"{error!s:.100} for {given!r:.200}")
                continue
            said = " ".join(getattr(each, "text", "") for each in result.content)
            if UNEXPECTED in said:
                tally.add(f"{name}: unexpected", f"{said:.200} for {given!r:.200}")


def _tools() -> list[Any]:
    with opened(":memory:") as memory:
        return list(memory.tools())


def fuzz_commands(task: Task, nasty: Nasty, tally: Tally) -> None:
    """Run commands in this process, with options and arguments of all kinds."""
    runner, root = CliRunner(), typer.main.get_command(app)
    commands = list(_commands(root, ()))
    database = str(task.folder / "memory.db")
    for _ in range(50):
        if task.over:
            return
        words, command = nasty.rng.choice(commands)
        given = [*words, *_words(command, nasty, database)]
        tally.calls += 1
        result = runner.invoke(app, given, input=nasty.rng.choice(["", "y\n", "n\n"]))
        error = result.exception
        if error is not None and not isinstance(error, SystemExit):
            tally.add(f"{' '.join(words)}: {place_of(error)}", f"{error!s:.100} for {given!r:.300}")
        elif result.exit_code not in {0, 1, 2} or "Traceback" in result.output:
            tally.add(f"{' '.join(words)}: exit {result.exit_code}", f"{given!r:.300}")


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with the words that call it."""
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        if (not words and name in NOT_RUN) or (words and name in NOT_RUN_BELOW):
            continue
        found = command.get_command(context, name)
        if not words:  # A command of the first row is loaded when it is wanted.
            _, found, _ = command.resolve_command(context, [name])
        yield from _commands(found, (*words, name))


def _words(command: Any, nasty: Nasty, database: str) -> list[str]:
    """Return arguments and options of a command, as words."""
    found: list[str] = []
    for each in command.params:
        texts = [nasty.text() for _ in range(1 if each.nargs == 1 else nasty.rng.randrange(3))]
        if each.name in {"path", "file", "folder", "output", "target", "source", "into"}:
            texts = [str(nasty.path())]
        if each.param_type_name == "argument":
            found += texts if each.required or nasty.rng.random() < 0.7 else []
        elif each.name == "database" or "--db" in each.opts:
            found += ["--db", database]
        elif not ENDLESS_OPTIONS.intersection(each.opts) and nasty.rng.random() < 0.25:
            option = nasty.rng.choice(each.opts)
            found += [option] if getattr(each, "is_flag", False) else [option, *texts[:1]]
    # No program can be given a NUL; half a character is replaced where `main` opens its streams.
    return [word.replace("\0", "").encode(errors="ignore").decode() for word in found]


# Each with its share of the time that is left, and of the calls.
DOORS: dict[str, tuple[Door, float, float]] = {
    "library": (fuzz_library, 0.45, 0.6),
    "tools of agents": (fuzz_tools, 0.2, 0.2),
    "MCP": (fuzz_mcp, 0.4, 0.1),
    "command line": (fuzz_commands, 1.0, 0.1),
}

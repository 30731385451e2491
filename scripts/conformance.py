"""Check the MCP server with the protocol's own tools and clients: ``make conformance``.

The conformance suite asks a server over HTTP in all of its scenarios; those that it cannot pass are
listed with their reasons in ``conformance/expected-failures.yaml``. The Inspector's command line,
the official clients for Python and TypeScript and FastMCP's client list and use every tool,
resource and prompt, over standard input and output and over HTTP, in the present revision of the
protocol and in those with a handshake. They come from npm and PyPI in the versions of
``conformance/package.json`` and ``conformance/requirements.txt``; the Python client is that of the
installed SDK. Servers are started and stopped here, on free ports, over temporary databases,
without a model.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any, Protocol

from memoranda import Memory, Settings

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "conformance" / "package.json"
EXPECTED = ROOT / "conformance" / "expected-failures.yaml"
REQUIREMENTS = ROOT / "conformance" / "requirements.txt"
TYPESCRIPT = ROOT / "conformance" / "typescript_client.mjs"
TOOLS = ROOT / ".venv" / "conformance"
FASTMCP = ROOT / ".venv" / "fastmcp"
PROGRAMS = TOOLS / "node_modules" / ".bin"
SERVER = (sys.executable, "-m", "memoranda", "mcp")
OLDEST_NODE = (22, 19)
PATIENCE = 300  # seconds that a program may take
ERAS = {"legacy": None, "modern": "2026-07-28"}
"""What the Inspector calls them: with a handshake, whose version is any, and without."""
CLIENTS: Mapping[str, tuple[str | Path, ...]] = {
    "Python client": (sys.executable, ROOT / "conformance" / "python_client.py"),
    "FastMCP": (FASTMCP / "bin" / "python", ROOT / "conformance" / "fastmcp_client.py"),
    "TypeScript client": ("node", TOOLS / TYPESCRIPT.name),
}
INSPECTOR = "Inspector"
TRIP = "trip"  # a conversation that is there before
ENTRY = re.compile(r"  - (?P<scenario>[a-z0-9-]+)  # (?P<reason>\S.*)")


class Failed(Exception):
    """Something is not as it should be; the message says what."""


def expected_failures(text: str) -> dict[str, str]:
    """Return the scenarios that may fail, and why, from the suite's list of them.

    Raises:
        Failed: a line is neither a remark nor a scenario with its reason.
    """
    listed: dict[str, str] = {}
    for line in text.splitlines():
        if not line or line.startswith("#") or line == "server:":
            continue
        entry = ENTRY.fullmatch(line)
        if entry is None or entry["scenario"] in listed:
            raise Failed(f"{EXPECTED.name}: {line!r} is no new scenario with a reason behind it")
        listed[entry["scenario"]] = entry["reason"]
    return listed


def said(command: Sequence[str | Path], **named: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; return what it said."""
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, **named
    )


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with our programs, and without settings of this machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORANDA_")}
    path = f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**kept, **settings(folder), "PATH": path, "HOME": str(folder)}


def settings(folder: Path) -> dict[str, str]:
    """Return the settings of a server over a database of its own, which needs no model."""
    return {
        "MEMORANDA_CONFIG": str(folder / "no-config.toml"),
        "MEMORANDA_LOCATION": str(folder / "agent.db"),
        "MEMORANDA_EMBEDDING__MODEL": "none",
        "MEMORANDA_SCHEDULE__IN_BACKGROUND": "false",
    }


def install() -> None:
    """Install the programs, unless they are there in the versions of the list.

    Raises:
        Failed: there is no npm, it fails, or there is no Node.js that can run them.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise Failed(
            "npm is not installed, and conformance needs it; install Node.js, see nodejs.org"
        )
    done = TOOLS / "installed.json"
    if not done.exists() or done.read_bytes() != PACKAGES.read_bytes():
        shutil.rmtree(TOOLS, ignore_errors=True)
        TOOLS.mkdir(parents=True)
        shutil.copy(PACKAGES, TOOLS)
        flags = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")
        tried = said([npm, "install", "--loglevel=error", *flags], cwd=TOOLS)
        if tried.returncode != 0:
            raise Failed(f"npm could not install {PACKAGES.name}:\n{tried.stderr}")
        shutil.copy(PACKAGES, done)
    shutil.copy(TYPESCRIPT, TOOLS)
    node = shutil.which("node", path=environment(TOOLS)["PATH"]) or "node"
    version = said([node, "--version"]).stdout.strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_NODE:
        wanted = ".".join(map(str, OLDEST_NODE))
        raise Failed(f"Node.js is {version}; install {wanted} or later: no package has it for here")


def install_fastmcp() -> None:
    """Install FastMCP in an environment of its own, unless it is there in the listed version.

    Raises:
        Failed: pip could not install it.
    """
    done = FASTMCP / "installed.txt"
    if not done.exists() or done.read_bytes() != REQUIREMENTS.read_bytes():
        venv.create(FASTMCP, clear=True, with_pip=True)
        flags = ("--quiet", "--disable-pip-version-check", "--requirement", REQUIREMENTS)
        tried = said([FASTMCP / "bin" / "python", "-m", "pip", "install", *flags])
        if tried.returncode != 0:
            raise Failed(f"pip could not install {REQUIREMENTS.name}:\n{tried.stderr}")
        shutil.copy(REQUIREMENTS, done)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run a server over HTTP; yield where it listens, and stop it."""
    with subprocess.Popen(
        [*SERVER, "--http", "127.0.0.1:0"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(folder),
    ) as server:
        try:
            first = server.stderr.readline() if server.stderr else ""
            if not first.startswith("listening at "):
                raise Failed(f"the server did not start: {first}")
            yield first.split()[-1]
        finally:
            server.send_signal(signal.SIGTERM)
            _, log = server.communicate(timeout=PATIENCE)
    if server.returncode != 0 or "Traceback" in log:
        raise Failed(f"the server ended with {server.returncode}:\n{log}")


@dataclass(frozen=True)
class Suite:
    """What the scenarios came to, and whether that is as expected."""

    failures: dict[str, list[str]]
    """Scenario → what was wrong in it; nothing, if it passed."""
    listed: dict[str, str]

    def problems(self) -> list[str]:
        """Return what is not as expected."""
        ran = self.failures
        new = [f"{name} fails: {'; '.join(ran[name])}" for name in ran if ran[name]]
        return [
            *(each for each in new if each.split()[0] not in self.listed),
            *(f"{name} passes and is listed" for name in self.listed if ran.get(name) == []),
            *(
                f"{name} is listed and there is no such scenario"
                for name in self.listed - ran.keys()
            ),
        ]

    def lines(self) -> Iterator[str]:
        """Yield a line for each scenario."""
        for name, wrong in self.failures.items():
            if not wrong:
                yield f"passed    {name}"
            elif name in self.listed:
                yield f"expected  {name}: {self.listed[name]}"
            else:
                yield f"FAILED    {name}: {'; '.join(wrong)}"


def suite(folder: Path) -> Suite:
    """Run the conformance suite.

    Raises:
        Failed: it gave no results.
    """
    results = folder / "results"
    with served(folder) as url:
        program: list[str | Path] = [PROGRAMS / "conformance", "server", "--suite", "all"]
        program += ["--url", url, "--expected-failures", EXPECTED, "--output-dir", results]
        run = said(program, env=environment(folder), cwd=folder)
    names = re.findall(r"=== Running scenario: (\S+) ===", run.stdout)
    failures: dict[str, list[str]] = {}
    for name in names:
        (checks,) = results.glob(f"server-{name}-[0-9]*T*/checks.json")
        bad = [each for each in json.loads(checks.read_text("utf-8")) if is_bad(each)]
        failures[name] = [each.get("errorMessage") or each["description"] for each in bad]
    if not failures:
        raise Failed(f"the conformance suite gave no results:\n{run.stdout}{run.stderr}")
    outcome = Suite(failures, expected_failures(EXPECTED.read_text("utf-8")))
    if run.returncode != 0 and not outcome.problems():
        raise Failed(f"the conformance suite sees it otherwise:\n{run.stdout}{run.stderr}")
    return outcome


def is_bad(check: dict[str, Any]) -> bool:
    """Return whether a check makes its scenario fail, as the suite has it."""
    return check["status"] in {"FAILURE", "WARNING"}


class Client(Protocol):
    """A client on one way to the server, in one era of the protocol."""

    name: str

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; return its result.

        Raises:
            Failed: there is none.
        """


@dataclass(frozen=True)
class Inspector:
    """The Inspector's command line: a process for each request."""

    name: str
    folder: Path
    target: tuple[str, ...]

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; return its result. Tools are listed with a check of their schemas."""
        words = {"tools/list": ["--strict"]}.get(method, [])
        if "uri" in params:
            words = ["--uri", params["uri"]]
        elif method == "tools/call":
            arguments = json.dumps(params["arguments"])
            words = ["--tool-name", params["name"], "--tool-args-json", arguments]
        elif method == "prompts/get":
            pairs = [f"{name}={value}" for name, value in params["arguments"].items()]
            words = ["--prompt-name", params["name"]]
            words += [word for pair in pairs for word in ("--prompt-args", pair)]
        patient = ("--connect-timeout", str(1_000 * PATIENCE))
        command = ["--cli", *self.target, *patient, "--format", "json", "--quiet"]
        environ = environment(self.folder)
        asked = [PROGRAMS / "inspector", *command, "--method", method, *words]
        run = said(asked, env=environ, cwd=self.folder)
        if run.returncode != 0:
            raise Failed(f"{method} {params} by {self.name}:\n{run.stderr}")
        result: dict[str, Any] = json.loads(run.stdout)["result"]
        return result


@dataclass(frozen=True)
class Program:
    """A client in a process of its own, which takes and gives lines of JSON."""

    name: str
    process: subprocess.Popen[str]
    log: Path

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; return its result."""
        assert self.process.stdin is not None  # noqa: S101 - as it was started
        self.process.stdin.write(json.dumps([method, params]) + "\n")
        self.process.stdin.flush()
        result: dict[str, Any] = self.read(f"{method} {params}")
        return result

    def read(self, asked: str) -> Any:
        """Return the next line that the program says."""
        assert self.process.stdout is not None  # noqa: S101 - as it was started
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{asked} by {self.name}:\n{self.log.read_text('utf-8')}")
        return json.loads(line)


@contextmanager
def connected(
    name: str, folder: Path, target: Mapping[str, Any], revision: str | None
) -> Iterator[Program]:
    """Run a client that is connected in a version of the protocol; None is any by a handshake.

    Raises:
        Failed: it does not connect, or in another version.
    """
    log = folder / "client.log"
    command = [*CLIENTS[name], json.dumps({"version": revision, **target})]
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment(folder),
            cwd=folder,
        ) as process,
    ):
        limit = Timer(PATIENCE, process.kill)
        limit.start()
        try:
            program = Program(name, process, log)
            agreed = program.read("connecting")
            if (agreed == ERAS["modern"]) != (revision is not None):
                raise Failed(f"{name} wanted {revision or 'a handshake'}, and has {agreed}")
            yield program
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait(PATIENCE)
            limit.cancel()
    if process.returncode != 0:
        raise Failed(f"{name} ended with {process.returncode}:\n{log.read_text('utf-8')}")


def prepare(folder: Path) -> None:
    """Keep a conversation whose messages can be expanded, and an entry of the history."""
    quiet = Settings(embedding={"model": "none"}, schedule={"in_background": False})
    with Memory(folder / "agent.db", settings=quiet) as memory:
        memory.conversation(TRIP).add("user", "Book me something in Porto.")
        memory.notes.append_history("Chose Lisbon for the offsite.")


def use_all(ask: Client) -> list[str]:
    """Use everything the server offers, as a person would; return what was found in order.

    Raises:
        Failed: a request fails, its result is not what it should be, or something is not used.
    """
    done: list[str] = []
    used: set[str] = set()

    def check(what: str, holds: object) -> None:
        if not holds:
            raise Failed(f"{what} by {ask.name} is not what it should be")
        done.append(what)

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        used.add(tool)
        result = ask("tools/call", name=tool, arguments=arguments)
        if result.get("isError") or "structuredContent" not in result:
            raise Failed(f"tools/call {tool} by {ask.name}: {result['content']}")
        content: dict[str, Any] = result["structuredContent"]
        return content

    tools = {each["name"] for each in ask("tools/list")["tools"]}
    kept = call("store_memory", content="Ana is vegetarian", metadata={"category": "diet"})
    check("store_memory", kept["type"] == "fact")
    found = call("search_memories", query="vegetarian", limit=3)["result"]
    check("search_memories", [each["id"] for each in found] == [kept["id"]])
    recalled = call("recall_context", query="Who is vegetarian?", budget=500)
    check("recall_context", "Ana is vegetarian" in json.dumps(recalled))
    right = call("correct_fact", memory_id=kept["id"], content="Ana is vegan")
    check("correct_fact", right["content"] == "Ana is vegan")
    confirmed = call("confirm_fact", memory_id=right["id"])
    check("confirm_fact", confirmed["id"] == right["id"])
    check("get_entity_info", "Ana" in json.dumps(call("get_entity_info", name="Ana")))
    entries = call("search_history", query="offsite")
    check("search_history", "Lisbon" in json.dumps(entries))
    check("memory_stats", call("memory_stats"))
    expanded = call("expand_messages", marker="cut_0-0", session=TRIP)
    check("expand_messages", "Porto" in json.dumps(expanded))
    uris = [each["uri"] for each in ask("resources/list")["resources"]]
    check("resources/list", "memoranda://notes/MEMORY.md" in uris)
    read = {uri: ask("resources/read", uri=uri)["contents"][0]["text"] for uri in uris}
    check("resources/read", "Ana is vegan" in read["memoranda://notes/MEMORY.md"])
    templates = ask("resources/templates/list")["resourceTemplates"]
    (template,) = (each["uriTemplate"] for each in templates)
    record = ask("resources/read", uri=template.format(id=right["id"]))["contents"][0]["text"]
    check("resources/templates/list", "Ana is vegan" in record)
    prompts = {each["name"] for each in ask("prompts/list")["prompts"]}
    check("prompts/list", prompts == {"recall", "remember_this_session"})
    question = {"question": "Who is vegan?"}
    told = ask("prompts/get", name="recall", arguments=question)["messages"][0]["content"]["text"]
    check("prompts/get recall", "Ana is vegan" in told)
    remember = ask("prompts/get", name="remember_this_session", arguments={})
    check("prompts/get remember_this_session", remember["messages"])
    gone = call("forget_memory", memory_id=right["id"])
    check("forget_memory", gone["success"] and gone["id"] == right["id"])
    check("tools/list", tools == used)
    return done


def used_by(name: str, way: str, folder: Path, url: str | None) -> list[str]:
    """Use a server by a client on one way, in each era of the protocol; return what was found."""
    lines: list[str] = []
    started = {"command": SERVER[0], "args": list(SERVER[1:]), "env": environment(folder)}
    for era, revision in ERAS.items():
        if name == INSPECTOR:
            given = [word for pair in settings(folder).items() for word in ("-e", "=".join(pair))]
            target = (*SERVER, *given) if url is None else (url, "--transport", "http")
            done = use_all(Inspector(name, folder, (*target, "--protocol-era", era)))
        else:
            aim = started if url is None else {"url": url}
            with connected(name, folder, aim, revision) as program:
                done = use_all(program)
        lines.append(f"passed    {name} over {way}, {era} era: {', '.join(done)}")
    return lines


def clients(place: Path) -> list[str]:
    """Use a server over HTTP, and others over standard input and output, by every client."""

    def use(name: str, way: str) -> list[str]:
        folder = place / f"{name} {way}"
        folder.mkdir()
        prepare(folder)
        if way == "stdio":
            return used_by(name, way, folder, None)
        with served(folder) as url:
            return used_by(name, way, folder, url)

    with ThreadPoolExecutor(max_workers=2) as pool:
        names = (INSPECTOR, *CLIENTS)
        ways = [pool.submit(use, name, way) for name in names for way in ("stdio", "HTTP")]
        return [line for way in ways for line in way.result()]


def versions() -> str:
    """Return which versions of the programs were used."""
    npm = json.loads(PACKAGES.read_text("utf-8"))["dependencies"]
    named = [f"{name} {number}" for name, number in npm.items()]
    return ", ".join([*named, f"mcp {version('mcp')}", REQUIREMENTS.read_text("utf-8").strip()])


def main() -> int:
    """Run all; return 0 if all is as expected."""
    try:
        install()
        install_fastmcp()
        print(versions())
        with TemporaryDirectory(prefix="memoranda-conformance-") as place:
            folder = Path(place) / "suite"
            folder.mkdir()
            outcome = suite(folder)
            print("Conformance suite:", *outcome.lines(), sep="\n  ")
            print("Clients:", *clients(Path(place)), sep="\n  ", flush=True)
    except Failed as problem:
        print(f"conformance: {problem}", file=sys.stderr)
        return 1
    problems = outcome.problems()
    for each in problems:
        print(f"conformance: {each}", file=sys.stderr)
    passed = sum(not wrong for wrong in outcome.failures.values())
    print(f"{passed} scenarios passed, {len(outcome.listed)} are expected to fail")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

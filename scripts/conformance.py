"""Check the MCP server with the protocol's own tools: ``make conformance``.

The conformance suite asks a server over HTTP in all of its scenarios; those that it cannot pass are
listed with their reasons in ``conformance/expected-failures.yaml``. The Inspector's command line
lists and uses tools, resources and prompts, over standard input and output and over HTTP, in the
present revision of the protocol and in those with a handshake. Both come from npm in the versions
of ``conformance/package.json``. Servers are started and stopped here, on free ports, over temporary
databases, without a model.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "conformance" / "package.json"
EXPECTED = ROOT / "conformance" / "expected-failures.yaml"
TOOLS = ROOT / ".venv" / "conformance"
PROGRAMS = TOOLS / "node_modules" / ".bin"
SERVER = (sys.executable, "-m", "memoranda", "mcp")
OLDEST_NODE = (22, 19)
PATIENCE = 300  # seconds that a program may take
ERAS = ("legacy", "modern")
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
    node = shutil.which("node", path=environment(TOOLS)["PATH"]) or "node"
    version = said([node, "--version"]).stdout.strip()
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_NODE:
        wanted = ".".join(map(str, OLDEST_NODE))
        raise Failed(f"Node.js is {version}; install {wanted} or later: no package has it for here")


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


@dataclass(frozen=True)
class Inspector:
    """The Inspector's command line, on one way to the server."""

    name: str
    folder: Path
    target: tuple[str, ...]

    def __call__(self, method: str, *arguments: str) -> dict[str, Any]:
        """Send a request; return its result.

        Raises:
            Failed: there is none.
        """
        command = ["--cli", *self.target, "--format", "json", "--quiet", "--method", method]
        environ = environment(self.folder)
        run = said([PROGRAMS / "inspector", *command, *arguments], env=environ, cwd=self.folder)
        if run.returncode != 0:
            raise Failed(f"{method} {' '.join(arguments)} over {self.name}:\n{run.stderr}")
        result: dict[str, Any] = json.loads(run.stdout)["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return its structured content."""
        given = json.dumps(arguments)
        result = self("tools/call", "--tool-name", tool, "--tool-args-json", given)
        content: dict[str, Any] = result["structuredContent"]
        return content


def inspect(ask: Inspector) -> list[str]:
    """Use everything the server offers, as a person would; return what was found in order.

    Raises:
        Failed: a request fails, or its result is not what it should be.
    """
    done: list[str] = []

    def check(what: str, holds: object) -> None:
        if not holds:
            raise Failed(f"{what} over {ask.name} is not what it should be")
        done.append(what)

    tools = {each["name"] for each in ask("tools/list", "--strict")["tools"]}
    check("tools/list", tools > {"search_memories", "store_memory", "forget_memory"})
    kept = ask.call("store_memory", content="Ana is vegetarian", metadata={"category": "diet"})
    check("tools/call store_memory", kept["type"] == "fact")
    found = ask.call("search_memories", query="vegetarian", limit=3)["result"]
    check("tools/call search_memories", [each["id"] for each in found] == [kept["id"]])
    uris = {each["uri"] for each in ask("resources/list")["resources"]}
    check("resources/list", "memoranda://notes/MEMORY.md" in uris)
    templates = ask("resources/templates/list")["resourceTemplates"]
    template = templates[0]["uriTemplate"]
    check("resources/templates/list", template == "memoranda://records/{id}")
    for uri in ("memoranda://notes/MEMORY.md", template.format(id=kept["id"])):
        text = ask("resources/read", "--uri", uri)["contents"][0]["text"]
        check(f"resources/read {uri.removesuffix(kept['id'])}", "Ana is vegetarian" in text)
    prompts = {each["name"] for each in ask("prompts/list")["prompts"]}
    check("prompts/list", prompts == {"recall", "remember_this_session"})
    question = ("--prompt-name", "recall", "--prompt-args", "question=Who is vegetarian?")
    told = ask("prompts/get", *question)["messages"][0]["content"]["text"]
    check("prompts/get recall", "Ana is vegetarian" in told)
    gone = ask.call("forget_memory", memory_id=kept["id"])
    check("tools/call forget_memory", gone == {"success": True, "id": kept["id"]})
    return done


def inspected(way: str, folder: Path, target: tuple[str, ...]) -> list[str]:
    """Use a server on one way in each era of the protocol; return what was found."""
    found: list[str] = []
    for era in ERAS:
        ask = Inspector(f"{way}, {era} era", folder, (*target, "--protocol-era", era))
        found += [f"passed    {what} over {ask.name}" for what in inspect(ask)]
    return found


def inspector(folder: Path) -> list[str]:
    """Use a server over HTTP, and others over standard input and output at the same time."""
    apart = folder / "stdio"
    apart.mkdir()
    given = [word for pair in settings(apart).items() for word in ("-e", "=".join(pair))]
    with served(folder) as url, ThreadPoolExecutor() as pool:
        ways = [
            pool.submit(inspected, "stdio", apart, (*SERVER, *given)),
            pool.submit(inspected, "HTTP", folder, (url, "--transport", "http")),
        ]
        return [line for way in ways for line in way.result()]


def main() -> int:
    """Run both; return 0 if all is as expected."""
    try:
        install()
        with TemporaryDirectory(prefix="memoranda-conformance-") as place:
            folders = [Path(place) / name for name in ("suite", "inspector")]
            for folder in folders:
                folder.mkdir()
            outcome = suite(folders[0])
            print("Conformance suite:", *outcome.lines(), sep="\n  ")
            print("Inspector:", *inspector(folders[1]), sep="\n  ")
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

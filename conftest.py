"""How much property tests try, and the runner of the code blocks of README.md and docs/."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from functools import partial

import pytest
from hypothesis import settings
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.typing import Evaluator
from typer.testing import CliRunner
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from memoranda.cli import app

# Every push tries the same few examples of each law, so that what fails is what changed;
# `make torture` tries many others (--hypothesis-profile).
settings.register_profile("push", deadline=None, max_examples=8, derandomize=True)
settings.register_profile("torture", deadline=None, max_examples=1_000)
settings.load_profile("push")

CODES = re.compile(r"\x1b\[[0-9;]*m")
FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE
COMMAND = re.compile(r"^\$ (?P<command>.+)\n(?P<output>(?:(?!\$ ).*\n?)*)", re.MULTILINE)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Keep a file in one process: the blocks of a page follow each other. Slow files come last."""
    config.option.loadscopereorder = False  # By how many tests a file has; tests/conftest.py sorts.
    return LoadFileScheduling(config, log)


def run_console(example: Example) -> None:
    """Run each ``$ memoranda …`` line and compare what a terminal shows with the lines below it.

    Commands run in this process; ``tests/doors/test_cli_process.py`` has them as processes.
    """
    runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": "1", "TERM": "xterm"})
    for match in COMMAND.finditer(example.parsed):
        words = shlex.split(match["command"])
        assert words[0] == "memoranda", f"only memoranda is run in console blocks, not {words[0]}"
        done = runner.invoke(app, words[1:], catch_exceptions=False)
        assert done.exit_code == 0, f"{match['command']}: {done.stderr}"
        shown = CODES.sub("", done.stdout)
        same = OutputChecker().check_output(match["output"], shown, FLAGS)
        assert same, f"{match['command']} printed:\n{shown}\ninstead of:\n{match['output']}"


def run_if_installed(run: Evaluator, example: Example) -> None:
    """Run a Python block, or skip it where the framework of its page is not installed."""
    missing = example.namespace.get("__missing__")
    try:
        if missing is None:
            run(example)
    except ModuleNotFoundError as error:
        if "integrations" not in example.path and "web-server" not in example.path:
            raise
        missing = example.namespace["__missing__"] = str(error)
    if missing is not None:
        pytest.skip(missing)


class PythonBlocks(PythonCodeBlockParser):
    """Runs Python blocks, those for a framework only where that is installed."""

    def __call__(self, document: Document) -> Iterator[Region]:
        """Yield the blocks of a page."""
        for region in super().__call__(document):
            region.evaluator = partial(run_if_installed, region.evaluator)
            yield region


def check_shell(example: Example) -> None:
    """Check the syntax of an ``sh`` block: installing is not for a test to do."""
    subprocess.run(["bash", "-n"], input=example.parsed, text=True, check=True)


def check_json(example: Example) -> None:
    """Check that a ``json`` block is JSON."""
    json.loads(example.parsed)


class OtherBlocks:
    """Lets no code block pass unseen: each language is run, or listed as plain here."""

    # The scripts of SQL run in tests/store/test_postgres_schema.py.
    plain = frozenset({"text", "toml", "sql"})

    def __call__(self, document: Document) -> Iterator[Region]:
        """Fail for a block of a language that nothing runs."""
        run = {"python", "console", "sh", "json"}
        for language in re.findall(r"^```(\w*)\n(?=[^`])", document.text, re.MULTILINE):
            if language and language not in run | self.plain:
                message = f"{document.path}: nothing runs ```{language} blocks"
                raise ValueError(message)
        return iter(())


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run the blocks of one document in an empty folder, as a reader would."""
    folder = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))  # Where a store is without --db.
        yield


pytest_collect_file = Sybil(
    parsers=[
        PythonBlocks(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_console),
        CodeBlockParser(language="sh", evaluator=check_shell),
        CodeBlockParser(language="json", evaluator=check_json),
        OtherBlocks(),
    ],
    patterns=["README.md", "docs/*.md", "docs/**/*.md", "CONTRIBUTING.md"],
    fixtures=["scratch"],
).pytest()

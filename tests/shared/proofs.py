"""The table of requirements, and a plugin that fails a full run in which a proof did not pass.

A test that is skipped proves nothing. So after a run of everything, each proof of a requirement
that the table calls done must have passed in at least one of its cases. A proof marked
``(with data)`` may be skipped, because its data is not part of the repository; the run says so.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PROOF = re.compile(r"`(?P<path>tests/[\w/]+\.py)::(?P<name>\w+)`(?P<data> \(with data\))?")


class Proof(NamedTuple):
    """A test that proves a requirement; one that needs ``data`` may be skipped."""

    path: str
    name: str
    data: bool

    def __str__(self) -> str:
        """Return it as pytest names it."""
        return f"{self.path}::{self.name}"


class Row(NamedTuple):
    """A requirement, as the table states it."""

    id: str
    requirement: str
    status: str
    proof: str

    @property
    def proofs(self) -> list[Proof]:
        """The tests that it names."""
        found = PROOF.finditer(self.proof)
        return [Proof(each["path"], each["name"], bool(each["data"])) for each in found]


def read_rows(page: Path) -> list[Row]:
    """Return the rows of all tables of the page, their headings left out."""
    rows = []
    for line in page.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and cells[0] != "id" and set(cells[0]) != {"-"}:
            assert len(cells) == 4, line
            rows.append(Row(*cells))
    return rows


def is_full(config: pytest.Config) -> bool:
    """Return whether a run is of everything, with nothing chosen or left out."""
    chosen = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "collectonly", "lf")
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return everything and not any(getattr(config.option, each, None) for each in chosen)


class ProofCheck:
    """Fails a full run that passes although a proof of a done requirement did not pass in it.

    With xdist only the controller judges: the reports of all workers come together there.
    """

    def __init__(self, page: Path) -> None:
        """Judge by the table of ``page``."""
        self.page = page
        self.passed: set[tuple[str, str]] = set()
        self.unproved: list[str] = []
        self.without_data: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep which test functions passed, in any class and with any parameters."""
        if report.when == "call" and report.outcome == "passed":
            path, *inner = report.nodeid.split("[")[0].split("::")
            self.passed.add((path, inner[-1] if inner else ""))

    def _not_passed(self) -> Iterator[tuple[str, Proof]]:
        for row in read_rows(self.page):
            for proof in row.proofs if row.status == "done" else ():
                if (proof.path, proof.name) not in self.passed:
                    yield row.id, proof

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge a full run that has gone well so far; what failed needs no second reason."""
        if hasattr(session.config, "workerinput") or not is_full(session.config):
            return
        if session.exitstatus != pytest.ExitCode.OK:
            return
        for name, proof in self._not_passed():
            (self.without_data if proof.data else self.unproved).append(f"{name}: {proof}")
        if self.unproved:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the proofs that did not pass."""
        if self.without_data:
            terminalreporter.section("not proven here: the evaluation data is missing")
            terminalreporter.write_line("\n".join(self.without_data))
        if self.unproved:
            terminalreporter.section("requirements called done whose proof did not pass", red=True)
            terminalreporter.write_line("\n".join(self.unproved))
            terminalreporter.write_line("Skipped or missing. Make it run, or say `not yet`.")

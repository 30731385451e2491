"""Runs ``git`` so that it asks nothing, starts no other program, and ends in time."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memoranda.errors import (
    InvalidInput,
    MemorandaError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

TIMEOUT = 30.0
"""Seconds for one call."""
OPTIONS = (
    "--no-pager",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "core.editor=:",
    "-c",
    "i18n.commitEncoding=UTF-8",
    "-c",
    "i18n.logOutputEncoding=UTF-8",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
)
KEPT = re.compile(
    r"GIT_(AUTHOR|COMMITTER)_\w+|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)"
    r"|GIT_(CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|EXEC_PATH)"
)
"""The variables of git that hold here, too; the others, such as GIT_DIR, mean another place."""
SCREENS = frozenset({"DISPLAY", "WAYLAND_DISPLAY", "GPG_TTY"})
"""Where a program that signs would ask for a passphrase."""
QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
}
REMEDIES: tuple[tuple[str, type[MemorandaError], str], ...] = (
    ("not a git repository", InvalidInput, "run 'git init' there, or work without git"),
    ("cannot change to", InvalidInput, "check the folder of the notes"),
    ("dubious ownership", StoreError, "if you trust it, add it to git's safe.directory"),
    (r"\.lock'?: File exists", StoreBusy, "wait until the other git has ended, and try again"),
    (
        "gpg failed|failed to sign|sign the data|signing",
        StoreError,
        "unlock the key that signs, or run 'git config commit.gpgsign false' in this repository",
    ),
    (
        "partial commit during",
        StoreError,
        "finish or abort what is under way in the repository (see 'git status')",
    ),
    ("No space left", StoreFull, "make room on the disk"),
    (
        "Permission denied|insufficient permission|Read-only file system",
        StoreReadOnly,
        "check the permissions of the repository",
    ),
)
"""What git says, the error that it is here, and the remedy."""
USUAL_REMEDY = "try the same with git in that folder"
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of git gave.

    Attributes:
        code: its exit code.
        out: what it wrote to standard output.
        complaint: what it wrote to standard error.
    """

    code: int
    out: bytes
    complaint: str

    @property
    def text(self) -> str:
        """Its output as text; what is no UTF-8 is replaced."""
        return self.out.decode(errors="replace")


class GitProgram:
    """The ``git`` program, at work in one folder.

    Args:
        folder: where.
        timeout: how many seconds one call may take.
    """

    def __init__(self, folder: Path, timeout: float) -> None:
        """Run nothing yet."""
        self._folder = folder
        self._timeout = timeout

    def run(self, *arguments: str, given: bytes = b"", literal: bool = True) -> Answer:
        """Return what ``git arguments`` gave, whatever its exit code is.

        Args:
            arguments: as at a shell, though none reads them.
            given: its standard input.
            literal: whether paths are names rather than patterns; ``check-ignore`` has no such
                choice.

        Raises:
            InvalidInput: git is not installed.
            StoreError: it could not be run, or took too long and was stopped.
        """
        paths = ["--literal-pathspecs"] * literal
        with self._started([*OPTIONS, *paths, "-C", str(self._folder), *arguments]) as process:
            try:
                out, complaint = process.communicate(given, timeout=self._timeout)
            except subprocess.TimeoutExpired as error:
                _stop(process)
                message = (
                    f"git {_verb(arguments)} took longer than {self._timeout:g} s in "
                    f"{self._folder} and was stopped; {USUAL_REMEDY}"
                )
                raise StoreError(message) from error
            except BaseException:  # Ctrl+C: nothing goes on behind the caller's back.
                _stop(process)
                raise
        return Answer(process.returncode, out, complaint.decode(errors="replace"))

    def _started(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        program = shutil.which("git")
        if program is None:
            message = f"git is not installed, so {self._folder} has no log; install git"
            raise InvalidInput(message)
        try:
            return subprocess.Popen(  # noqa: S603 - no shell reads it, and options are ours alone
                [program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(os.environ),
                start_new_session=True,  # Without a terminal, nothing can ask there.
            )
        except (OSError, ValueError) as error:
            message = f"git cannot be run in {str(self._folder)!r:.200}: {error}"
            raise StoreError(message) from error

    def knows_identity(self, key: str) -> bool:
        """Whether git was told ``user.name`` or ``user.email``, by settings or environment."""
        part = key.rpartition(".")[2].upper()
        roles = ("AUTHOR", "COMMITTER")
        if all(os.environ.get(f"GIT_{role}_{part}") for role in roles):
            return True
        if part == "EMAIL" and os.environ.get("EMAIL"):
            return True
        return bool(self.run("config", "--get", key).text.strip())

    def failure(self, answer: Answer) -> MemorandaError:
        """Return the error that tells of a call that failed: git's own words and the remedy."""
        kind: type[MemorandaError] = StoreError
        remedy = USUAL_REMEDY
        for pattern, found, advice in REMEDIES:
            if re.search(pattern, answer.complaint, re.IGNORECASE):
                kind, remedy = found, advice
                break
        said = _told(answer.complaint) or f"exit code {answer.code}"
        return kind(f"git cannot do this in {self._folder}: {said}; {remedy}")


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in given.items()
        if name not in SCREENS and (not name.startswith("GIT_") or KEPT.fullmatch(name))
    }
    return kept | QUIET


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End git with all that it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired, ValueError, OSError):
        process.communicate(timeout=1)


def _verb(arguments: tuple[str, ...]) -> str:
    """Return which command of git it is."""
    plain = iter(arguments)
    for word in plain:
        if word != "-c":
            return word
        next(plain, None)
    return ""


def _told(complaint: str) -> str:
    """Return the line of a complaint that says most, cut to a line's length."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    said = (fatal or lines or [""])[0]
    return re.sub(r"^(?:fatal|error): ", "", said)[:LONGEST].rstrip(".")

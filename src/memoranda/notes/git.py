"""The notes in git: a log, differences, what MEMORY.md said, and a commit of the notes alone.

Everything goes through the ``git`` program, in the folder of the notes and on the notes' files
only. It asks nothing, runs no hook, pager or signing program, and goes over no network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import datetime
from difflib import unified_diff
from pathlib import Path

from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError
from memoranda.model.notes import HISTORY_FILE, MEMORY_FILE
from memoranda.model.text import clean

TIMEOUT = 30.0
"""Seconds for one call of git."""
LOGGED = 20
FILES = (MEMORY_FILE, HISTORY_FILE, ":(glob)HISTORY-*.md")
NOTE = re.compile(r"MEMORY\.md|HISTORY(-[\w.-]*)?\.md", re.ASCII)
OPTIONS = ("core.hooksPath=", "core.fsmonitor=false", "core.quotePath=false", "gc.auto=0")
KEPT = re.compile(r"GIT_((AUTHOR|COMMITTER)_\w+|CONFIG_\w+|CEILING_DIRECTORIES|EXEC_PATH)|[^G].*")
"""The variables that git is given: others, such as GIT_DIR, would mean another repository."""
QUIET = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}
FORMAT = "--format=%x00%H%x00%cI%x00%an%x00%s%x00"
NAMED = ("-c", "user.name=memoranda", "-c", "user.email=memoranda@localhost")
"""Who commits where git was never told."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that changed notes: its id, when, by whom, its first line, and the notes' files."""

    id: str
    at: datetime
    author: str
    subject: str
    files: tuple[str, ...]


class NotesGit:
    """The git repository around the folder of the notes.

    Every method but :meth:`is_repository` raises ``NotFound`` where there is no such folder,
    ``InvalidInput`` without git or a repository, and ``StoreError`` with git's words if it fails.
    """

    def __init__(self, folder: Path, *, timeout: float = TIMEOUT) -> None:
        """Run nothing yet; each call of git may take ``timeout`` seconds."""
        self._folder = folder
        self._timeout = timeout

    def is_repository(self) -> bool:
        """Whether the folder is in a work tree of git; false also where git is not installed."""
        try:
            return self._git("rev-parse", "--is-inside-work-tree").strip() == b"true"
        except MemorandaError:
            return False

    def log(self, limit: int = LOGGED) -> list[Commit]:
        """Return the last commits that changed notes, the newest first."""
        if self._commit("HEAD") is None:
            return []
        shown = ("--name-only", "--relative", "--no-renames", "--no-show-signature", "--no-notes")
        found = self._git("log", f"--max-count={limit}", FORMAT, *shown, "--", *FILES)
        fields = found.decode(errors="replace").split("\0")[1:]
        return [
            Commit(name, datetime.fromisoformat(at), author, subject, tuple(sorted(files.split())))
            for name, at, author, subject, files in zip(*[iter(fields)] * 5, strict=True)
        ]

    def diff(self, revision: str | None = None) -> str:
        """Return how the notes differ from a commit, or from the last one; empty if not at all.

        Raises:
            NotFound: there is no such commit.
        """
        commit = self._commit("HEAD") if revision is None else self._require(revision)
        listed = self._git("ls-tree", "-z", "--name-only", commit).decode() if commit else ""
        then = {name for name in listed.split("\0") if NOTE.fullmatch(name)}
        names = sorted(then.union(self._names()))
        return "".join(
            compared(
                self._content(commit, name) if commit and name in then else "",
                _text(self._folder / name),
                (f"a/{name}", f"b/{name}"),
            )
            for name in names
        )

    def memory(self, revision: str) -> str:
        """Return what MEMORY.md said in a commit, exactly.

        Raises:
            NotFound: there is no such commit, or MEMORY.md is not in it.
            InvalidInput: it is no UTF-8 text there.
        """
        return self._content(self._require(revision), MEMORY_FILE)

    def commit(self, message: str) -> str | None:
        """Commit the notes' files as they are; return the id, ``None`` if nothing was changed.

        What else is changed or staged stays as it is. The commit is not signed.

        Raises:
            InvalidInput: the message is blank, or git is told to ignore the notes.
        """
        text, names = clean(message, "message"), self._names()
        if not names:
            message = f"git knows no notes in {self._folder}: there are none, or it ignores them"
            raise InvalidInput(message)
        self._git("add", "--all", "--", *names)
        staged = self._git("diff", "--cached", "--name-only", "--relative", "--", *names)
        if not staged:
            return None
        known = self._run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        plain = ("--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--quiet", "--file=-")
        options = () if known.returncode == 0 else NAMED
        self._git(*options, "commit", "--only", *plain, "--", *names, given=text.encode())
        return self._require("HEAD")

    def _names(self) -> list[str]:
        """Return the notes' files that git has, or would take; not those that it ignores."""
        kinds = ("--cached", "--others", "--exclude-standard")
        found = self._git("ls-files", "-z", *kinds, "--", *FILES).decode(errors="replace")
        return sorted({name for name in found.split("\0") if NOTE.fullmatch(name)})

    def _content(self, commit: str, name: str) -> str:
        answer = self._run("cat-file", "blob", f"{commit}:./{name}")
        if answer.returncode:
            raise NotFound(f"{name} is not in commit {commit} of {self._folder}; see the log")
        try:
            return answer.stdout.decode()
        except UnicodeDecodeError as error:
            message = f"{name} in commit {commit} is no UTF-8 text ({error}); restore it with git"
            raise InvalidInput(message) from error

    def _commit(self, revision: str) -> str | None:
        """Return the id of the commit that ``revision`` names, if there is one."""
        self._git("rev-parse", "--git-dir")
        wanted = f"{revision}^{{commit}}"
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", wanted)
        name = found.stdout.decode().strip()
        return name if name.isalnum() else None  # A range names two.

    def _require(self, revision: str) -> str:
        text = clean(revision, "revision").strip()
        found = self._commit(text)
        if found is None:
            message = f"there is no commit {text!r:.80} in the repository of {self._folder}"
            raise NotFound(f"{message}; the log of the notes shows which there are")
        return found

    def _git(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what a call of git wrote; raise an error with its words if it failed."""
        answer = self._run(*arguments, given=given)
        if not answer.returncode:
            return answer.stdout
        said = answer.stderr.decode(errors="replace").strip().partition("\n")[0][:300]
        if "not a git repository" in said:
            message = f"{self._folder} is in no git repository; run 'git init' there"
            raise InvalidInput(message)
        raise StoreError(f"git failed in {self._folder}: {said}; try the same with git there")

    def _run(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        program = shutil.which("git")
        if program is None:
            raise InvalidInput("git is not installed; install git, or work without it")
        if not self._folder.is_dir():
            raise NotFound(f"there are no notes in {self._folder} yet")
        options = [word for option in OPTIONS for word in ("-c", option)]
        kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
        command = [program, "--no-pager", *options, "-C", str(self._folder), *arguments]
        try:
            return subprocess.run(  # noqa: S603 - no shell reads it
                command, input=given, capture_output=True, timeout=self._timeout,
                env=kept | QUIET, check=False, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            message = f"git took longer than {self._timeout:g} s in {self._folder} and was stopped"
            raise StoreError(message) from error


def compared(before: str, after: str, names: tuple[str, str]) -> str:
    """Return what was changed from one text to another as a unified diff; empty if nothing."""
    # Split at line feeds alone: other line ends are part of the text.
    lines = [text.replace("\r\n", "\n").removesuffix("\n").split("\n") for text in (before, after)]
    old, new = ([] if not any(each) else each for each in lines)
    return "".join(f"{line}\n" for line in unified_diff(old, new, *names, lineterm="", n=2))


def _text(path: Path) -> str:
    """Return what a file says; nothing of a folder, or of a link, which may lead anywhere."""
    if not path.is_file() or path.is_symlink():
        return ""
    return path.read_bytes().decode(errors="replace")

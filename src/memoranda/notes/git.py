"""The notes in git: a log, differences, what MEMORY.md said, and a commit of the notes alone.

Everything goes through the ``git`` program, in the folder of the notes and on the notes' files
only. It asks nothing, runs no hook, pager or signing program, and goes over no network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError
from memoranda.model.checks import clean

TIMEOUT = 30.0
"""Seconds for one call of git."""
NOTE = re.compile(r"MEMORY\.md|HISTORY(-[\w.-]*)?\.md", re.ASCII)
FILES = ("MEMORY.md", "HISTORY.md", ":(glob)HISTORY-*.md")
OPTIONS = {"core.hooksPath": "", "core.fsmonitor": "false", "gc.auto": "0"}
KEPT = re.compile(r"GIT_((AUTHOR|COMMITTER)_\w+|CONFIG_\w+|CEILING_DIRECTORIES|EXEC_PATH)|[^G].*")
"""The variables that git is given: others, such as GIT_DIR, would mean another repository."""
QUIET = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}
NAMED = {"user.name": "memoranda", "user.email": "memoranda@localhost"}
"""Who commits where git was never told."""
LOG = ("--format=%x00%H%x00%cI%x00%an%x00%s%x00", "--name-only", "--relative", "--no-notes")
DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--relative")
COMMIT = ("--only", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--quiet", "--file=-")


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

    Every method but :meth:`is_repository` raises ``NotFound`` where there is no such folder or
    commit, ``InvalidInput`` without git or a repository, and ``StoreError`` if git fails.
    """

    def __init__(self, folder: Path, *, timeout: float = TIMEOUT) -> None:
        """Run nothing yet; each call of git may take ``timeout`` seconds."""
        self._folder, self._timeout = folder, timeout

    def is_repository(self) -> bool:
        """Whether the folder is in a work tree of git; false also where git is not installed."""
        try:
            return self._git("rev-parse", "--is-inside-work-tree").strip() == b"true"
        except MemorandaError:
            return False

    def log(self, limit: int = 20) -> list[Commit]:
        """Return the last commits that changed notes, the newest first."""
        if self._commit("HEAD") is None:
            return []
        found = self._git("log", f"--max-count={limit}", *LOG, "--", *FILES)
        fields = iter(found.decode(errors="replace").split("\0")[1:])
        return [
            Commit(name, datetime.fromisoformat(at), author, subject, tuple(sorted(files.split())))
            for name, at, author, subject, files in zip(*[fields] * 5, strict=True)
        ]

    def diff(self, revision: str | None = None, *, undo: bool = False) -> str:
        """Return how the notes differ from a commit, or from the last one; empty if not at all.

        With ``undo``, what bringing MEMORY.md of that commit back would change.
        """
        commit = self._commit("HEAD") if revision is None else self._require(revision)
        names = ["MEMORY.md"] if undo else self._add("--intent-to-add")
        how = [*DIFF, *["-R"] * undo, *([commit] if commit else [])]
        return self._git("diff", *how, "--", *names).decode(errors="replace") if names else ""

    def memory(self, revision: str) -> str:
        """Return what MEMORY.md said in a commit, exactly."""
        answer = self._run("cat-file", "blob", f"{self._require(revision)}:./MEMORY.md")
        if answer.returncode:
            raise NotFound(f"MEMORY.md is not in {revision!r:.80} of {self._folder}; see the log")
        try:
            return answer.stdout.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"MEMORY.md is no UTF-8 text in {revision!r:.80}") from error

    def commit(self, message: str) -> str | None:
        """Commit the notes' files as they are; return the id, ``None`` if nothing was changed.

        What else is changed or staged stays as it is. The commit is not signed.
        """
        text, names = clean(message, "message"), self._add("--all")
        if not names:
            wrong = f"git knows no notes in {self._folder}: there are none, or it ignores them"
            raise InvalidInput(wrong)
        if not self._git("diff", "--cached", "--name-only", "--", *names):
            return None
        known = self._run("-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
        author = _options(NAMED) if known.returncode else []
        self._git(*author, "commit", *COMMIT, "--", *names, given=text.encode())
        return self._commit("HEAD")

    def _add(self, how: str) -> list[str]:
        """Have git know the notes' files that it does not ignore; return their names."""
        kinds = ("--cached", "--others", "--exclude-standard")
        found = self._git("ls-files", "-z", *kinds, "--", *FILES).decode(errors="replace")
        names = sorted({name for name in found.split("\0") if NOTE.fullmatch(name)})
        new = [name for name in names if how == "--all" or (self._folder / name).exists()]
        if new:
            self._git("add", how, "--", *new)
        return names

    def _commit(self, revision: str) -> str | None:
        """Return the id of the commit that ``revision`` names, if there is one."""
        self._git("rev-parse", "--git-dir")
        wanted = ("--end-of-options", f"{revision}^{{commit}}")
        name = self._run("rev-parse", "--verify", "--quiet", *wanted).stdout.decode().strip()
        return name if name.isalnum() else None  # A range names two.

    def _require(self, revision: str) -> str:
        found = self._commit(clean(revision, "revision").strip())
        if found is None:
            raise NotFound(f"there is no commit {revision!r:.80} in {self._folder}; see the log")
        return found

    def _git(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what a call of git wrote; raise an error with its words if it failed."""
        answer = self._run(*arguments, given=given)
        if not answer.returncode:
            return answer.stdout
        said = answer.stderr.decode(errors="replace").strip().partition("\n")[0][:300]
        if "not a git repository" in said:
            raise InvalidInput(f"{self._folder} is in no git repository; run 'git init' there")
        raise StoreError(f"git failed in {self._folder}: {said}; try the same with git there")

    def _run(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        program = shutil.which("git")
        if program is None:
            raise InvalidInput("git is not installed; install git, or work without it")
        if not self._folder.is_dir():
            raise NotFound(f"there are no notes in {self._folder} yet")
        kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)} | QUIET
        command = [program, "--no-pager", *_options(OPTIONS), "-C", str(self._folder), *arguments]
        try:
            return subprocess.run(  # noqa: S603 - no shell reads it
                command, input=given, capture_output=True, env=kept, timeout=self._timeout,
                check=False, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            message = f"git took longer than {self._timeout:g} s in {self._folder} and was stopped"
            raise StoreError(message) from error


def _options(values: Mapping[str, str]) -> list[str]:
    return [word for pair in values.items() for word in ("-c", "=".join(pair))]

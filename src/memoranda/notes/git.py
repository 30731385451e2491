"""The notes in git: a log, differences, what MEMORY.md said, and a commit of the notes alone.

Everything goes through the ``git`` program, in the folder of the notes and on the notes' files
only. It asks nothing, runs no hook, pager or signing program, and goes over no network.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError
from memoranda.model.checks import clean
from memoranda.text.patterns import compile_pattern

FILES = (":(glob)MEMORY.md", ":(glob)HISTORY.md", ":(glob)HISTORY-*.md")
CALM = ("--no-pager", "-c", "core.hooksPath=", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
# Who commits where git was never told.
NAMED = ("-c", "user.name=memoranda", "-c", "user.email=memoranda@localhost")
ASKS_NOTHING = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}
# The variables that git is not given: GIT_DIR and its kin would mean another repository.
OTHERS = compile_pattern(r"GIT_(?!AUTHOR|COMMITTER|CONFIG|CEILING|EXEC)\w+")
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


@dataclass(frozen=True, slots=True)
class NotesGit:
    """The git repository around the folder of the notes.

    Every method but :meth:`is_repository` raises ``NotFound`` where there is no such folder,
    ``InvalidInput`` without git or a repository, and ``StoreError`` with git's words if it fails.
    """

    folder: Path

    def is_repository(self) -> bool:
        """Whether the folder is in a work tree of git; false also where git is not installed."""
        try:
            return self._git("rev-parse", "--is-inside-work-tree") == "true\n"
        except MemorandaError:
            return False

    def log(self, limit: int = 20) -> list[Commit]:
        """Return the last commits that changed notes, the newest first."""
        if not self._git("rev-list", "--max-count=1", "--all"):
            return []
        fields = self._git("log", f"--max-count={limit}", *LOG, "--", *FILES).split("\0")[1:]
        return [
            Commit(name, datetime.fromisoformat(at), author, subject, tuple(sorted(files.split())))
            for name, at, author, subject, files in zip(*[iter(fields)] * 5, strict=True)
        ]

    def diff(self, revision: str = "HEAD", *, undo: bool = False) -> str:
        """Return how the notes differ from a commit; empty if not at all.

        With ``undo``, what bringing MEMORY.md of that commit back would change.
        """
        if new := self._names("--others"):
            self._git("add", "--intent-to-add", "--", *new)
        how = ("-R", *DIFF) if undo else DIFF
        return self._git("diff", *how, *_commit(revision), "--", *FILES[: 1 if undo else None])

    def memory(self, revision: str) -> str:
        """Return what MEMORY.md said in a commit, exactly."""
        return self._git("show", "--no-textconv", *_commit(f"{revision}:./MEMORY.md"))

    def commit(self, message: str) -> str | None:
        """Commit the notes' files as they are; return the id, ``None`` if nothing was changed.

        What else is changed or staged stays as it is. The commit is not signed.
        """
        text, names = clean(message, "message"), self._names("--cached", "--others")
        if not names:
            wrong = f"git knows no notes in {self.folder}: there are none, or it ignores them"
            raise InvalidInput(wrong)
        self._git("add", "--all", "--", *names)
        if not self._git("diff", "--cached", "--name-only", "--", *names):
            return None
        who = () if self._git("config", "--default", "", "user.email").strip() else NAMED
        self._git(*who, "commit", *COMMIT, "--", *names, given=text)
        return self._git("rev-parse", "HEAD").strip()

    def _names(self, *kinds: str) -> list[str]:
        """Return the names of the notes' files that git knows, or could know."""
        found = self._git("ls-files", "-z", *kinds, "--exclude-standard", "--", *FILES)
        return found.split("\0")[:-1]

    def _git(self, *arguments: str, given: str = "") -> str:
        """Return what a call of git wrote, byte by byte; raise an error with its words."""
        if not self.folder.is_dir():
            raise NotFound(f"there are no notes in {self.folder} yet")
        kept = {name: each for name, each in os.environ.items() if not OTHERS.fullmatch(name)}
        try:
            answer = subprocess.run(  # noqa: S603 - no shell reads it
                ["git", *CALM, *arguments],  # noqa: S607 - wherever it is installed
                cwd=self.folder, env=kept | ASKS_NOTHING, input=given.encode(),
                capture_output=True, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise InvalidInput("git is not installed; install git, or work without it") from error
        if not answer.returncode:
            return answer.stdout.decode(errors="replace")
        said = answer.stderr.decode(errors="replace").partition("\n")[0][:300]
        if "not a git repository" in said:
            raise InvalidInput(f"{self.folder} is in no git repository; run 'git init' there")
        raise StoreError(f"git failed in {self.folder}: {said}; try the same with git there")


def _commit(revision: str) -> tuple[str, str]:
    """Return arguments that name a commit, or a file in one, and can be no option."""
    return "--end-of-options", clean(revision, "revision").strip()

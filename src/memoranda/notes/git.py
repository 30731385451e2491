"""The notes in git: what was changed and when, what they said, and a commit of them alone.

Everything goes through the ``git`` program, on the notes' files only: what else is changed or
staged in the repository is neither shown nor touched. Hooks, pagers, editors, external diff
programs and questions at a terminal are off, and nothing goes over the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memoranda.errors import InvalidInput, MemorandaError, NotFound, StoreError
from memoranda.model.notes import MEMORY_FILE
from memoranda.model.text import clean
from memoranda.model.times import EPOCH
from memoranda.notes.git_program import TIMEOUT, Answer, GitProgram

NOTES = re.compile(r"MEMORY\.md|HISTORY[-.\w]*\.md", re.ASCII)
"""The names of the notes' files."""
PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")
"""Shows what is in the repository, and runs no program to do so."""
AS_DIFF = (*PLAIN, "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")
OBJECT = re.compile(r"[0-9a-f]{40,64}")
FILE_MODES = frozenset({"100644", "100755"})
LONGEST_REVISION = 250
FALLBACK = {"user.name": "memoranda", "user.email": "memoranda@localhost"}
"""Who commits where git was never told."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that changed notes.

    Attributes:
        id: its full id.
        at: when it was committed, in UTC; 1970 where the commit has no date that can be read.
        author: the author's name.
        subject: the first line of its message.
        files: which of the notes' files it changed, by name, in order.
    """

    id: str
    at: datetime
    author: str
    subject: str
    files: tuple[str, ...]


class NotesGit:
    """The git repository around the folder of the notes, which may be a part of it.

    Args:
        folder: where MEMORY.md and HISTORY.md are.
        timeout: how many seconds one call of git may take.

    Every method but :meth:`is_repository` raises ``InvalidInput`` where git is not installed or
    the folder is in no work tree, and ``StoreError`` or one below it where git fails; the message
    holds git's own words.
    """

    def __init__(self, folder: str | Path, *, timeout: float = TIMEOUT) -> None:
        """Run nothing yet."""
        self._folder = Path(folder).absolute()
        self._git = GitProgram(self._folder, timeout)

    def is_repository(self) -> bool:
        """Whether the folder is in a work tree of git; false also where git is not installed."""
        try:
            return self._git.run("rev-parse", "--is-inside-work-tree").text.strip() == "true"
        except MemorandaError:
            return False

    def log(self, limit: int = 20) -> list[Commit]:
        """Return the last commits that changed notes, the newest first.

        Args:
            limit: at most so many.

        Raises:
            InvalidInput: ``limit`` is no positive number.
        """
        if limit < 1:
            message = f"limit={limit!r} must be 1 or more"
            raise InvalidInput(message)
        head = self._head()
        names = self._names(head)
        if head is None or not names:  # Without names git would tell of every file.
            return []
        # Records end in NUL and no field but the last can hold a line break: no author and no
        # message can pass for something else.
        shown = self._checked(
            "log",
            "-z",
            f"--max-count={limit}",
            "--no-show-signature",
            "--no-notes",
            "--format=%H%n%cI%n%an%n%s",
            head,
            "--",
            *names,
        )
        found = [record.split("\n", 3) for record in shown.text.split("\0") if record]
        files = self._changed([fields[0] for fields in found], names)
        return [
            Commit(name, _moment(at), author, subject, files.get(name, ()))
            for name, at, author, subject in found
        ]

    def diff(self, revision: str | None = None) -> str:
        """Return how the notes differ from a commit, as git shows it; empty if they do not.

        Args:
            revision: what to compare the files with; the last commit, if not given.

        Raises:
            InvalidInput: ``revision`` cannot be one.
            NotFound: there is no such commit.
        """
        head = self._head()
        commit = head if revision is None else self._commit(revision)
        names = self._names(head, commit)
        if not names:
            return ""
        base = commit or self._empty_tree()
        told = [self._checked("diff", *AS_DIFF, "--relative", base, "--", *names).text]
        for name in self._untracked(names):
            answer = self._git.run("diff", *AS_DIFF, "--no-index", "--", "/dev/null", name)
            if answer.code > 1:
                raise self._failure(answer)
            told.append(answer.text)
        return "".join(told)

    def show(self, revision: str, name: str = MEMORY_FILE) -> str:
        """Return what a file of the notes said in a commit, exactly.

        Args:
            revision: the commit: an id, ``HEAD~2``, a branch, ``HEAD@{yesterday}``, …
            name: which file: ``MEMORY.md``, ``HISTORY.md`` or ``HISTORY-….md``.

        Raises:
            InvalidInput: ``revision`` cannot be one, ``name`` is no file of the notes, or what
                it holds there is no UTF-8 text.
            NotFound: there is no such commit, or the file is not in it.
        """
        if NOTES.fullmatch(name) is None:
            message = f"name={name!r:.80} is no file of the notes; use MEMORY.md or HISTORY….md"
            raise InvalidInput(message)
        commit = self._commit(revision)
        entry = self._checked("ls-tree", "-z", commit, "--", name).text.rstrip("\0")
        mode, _, rest = entry.partition(" ")
        if mode not in FILE_MODES:
            message = (
                f"{name} is not in commit {revision} of {self._folder}; "
                f"the log of the notes shows which commits have it"
            )
            raise NotFound(message)
        blob = rest.partition(" ")[2].partition("\t")[0]
        content = self._checked("cat-file", "blob", blob).out
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            message = f"{name} in commit {revision} is no UTF-8 text ({error}); restore it with git"
            raise InvalidInput(message) from error

    def commit(self, message: str) -> str | None:
        """Commit the notes' files as they are now, and nothing else.

        What else is changed or staged stays as it is. Where git was never told who commits, the
        author is ``memoranda``.

        Args:
            message: the commit's message.

        Returns:
            the id of the commit, or ``None`` if no note was changed since the last.

        Raises:
            InvalidInput: ``message`` is blank, or git is told to ignore all notes.
            StoreError: there are no notes yet, or git refused, for example because it cannot
                sign without asking.
        """
        text = clean(message, "message")
        head = self._head()
        names = self._names(head)
        known, new = self._tracked(names, head), self._untracked(names)
        if not known and not new:
            raise self._nothing(names)
        if new:  # A partial commit takes only what the index knows.
            self._checked("add", "--intent-to-add", "--", *new)
        made = False
        try:
            made = self._differs(head, known | set(new)) and self._made(text, known | set(new))
        finally:
            if new and not made:
                self._git.run("rm", "--cached", "--force", "--quiet", "--", *new)
        return self._head() if made else None

    def _made(self, text: str, names: Iterable[str]) -> bool:
        """Make a commit of ``names`` alone."""
        self._checked(
            *self._identity(),
            "commit",
            "--only",
            "--quiet",
            "--no-verify",
            "--no-status",
            "--cleanup=whitespace",
            "--file=-",
            "--",
            *sorted(names),
            given=text.encode(),
        )
        return True

    # What is there

    def _head(self) -> str | None:
        """Return the id of the last commit; ``None`` before the first."""
        self._require()
        answer = self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return answer.text.strip() or None

    def _require(self) -> None:
        answer = self._git.run("rev-parse", "--is-inside-work-tree")
        if answer.code:
            raise self._failure(answer)
        if answer.text.strip() != "true":
            message = f"{self._folder} is in a git repository without a work tree; use a clone"
            raise InvalidInput(message)

    def _commit(self, revision: str) -> str:
        """Return the id of the commit that ``revision`` names."""
        self._require()
        text = clean(revision, "revision").strip()
        if text.startswith("-") or not text.isprintable() or len(text) > LONGEST_REVISION:
            message = f"revision={revision!r:.80} cannot be one; use a commit's id, or HEAD~1"
            raise InvalidInput(message)
        answer = self._git.run("rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")
        if OBJECT.fullmatch(answer.text.strip()) is None:
            message = (
                f"there is no commit {text!r:.80} in the repository of {self._folder}; "
                f"the log of the notes shows which there are"
            )
            raise NotFound(message)
        return answer.text.strip()

    def _names(self, *commits: str | None) -> list[str]:
        """Return the names of the notes' files in the folder and in ``commits``."""
        found = {MEMORY_FILE}
        for commit in commits:
            if commit is not None:
                found.update(self._listed("ls-tree", "-z", "--name-only", commit))
        with suppress(OSError):
            found.update(path.name for path in self._folder.iterdir())
        # As a path, a folder would stand for all that is in it.
        return sorted(name for name in found if NOTES.fullmatch(name) and not self._is_folder(name))

    def _is_folder(self, name: str) -> bool:
        path = self._folder / name
        return path.is_dir() and not path.is_symlink()

    def _tracked(self, names: Sequence[str], head: str | None) -> set[str]:
        """Return those of ``names`` that the index or the last commit knows."""
        if not names:
            return set()
        known = set(self._listed("ls-files", "-z", "--cached", "--", *names))
        if head is not None:
            known.update(self._listed("ls-tree", "-z", "--name-only", head, "--", *names))
        return known

    def _untracked(self, names: Sequence[str]) -> list[str]:
        """Return those of ``names`` that are new to git and not to be ignored."""
        if not names:
            return []
        return self._listed("ls-files", "-z", "--others", "--exclude-standard", "--", *names)

    def _listed(self, *arguments: str) -> list[str]:
        names = self._checked(*arguments).text.split("\0")
        return list(dict.fromkeys(name for name in names if name))

    def _empty_tree(self) -> str:
        return self._checked("hash-object", "-t", "tree", "--stdin").text.strip()

    def _differs(self, head: str | None, names: Iterable[str]) -> bool:
        base = head or self._empty_tree()
        answer = self._git.run("diff", "--quiet", *PLAIN, base, "--", *sorted(names))
        if answer.code > 1:
            raise self._failure(answer)
        return answer.code == 1

    def _changed(self, commits: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return which of ``names`` each commit changed."""
        shown = self._checked(
            "diff-tree",
            "--stdin",
            "-z",
            "-r",
            "-m",
            "--root",
            "--name-only",
            "--relative",
            "--",
            *names,
            given="".join(f"{commit}\n" for commit in commits).encode(),
        )
        wanted, current = set(commits), ""
        files: dict[str, set[str]] = {}
        for part in shown.text.split("\0"):
            if part in wanted:  # No name of the notes looks like an id.
                current = part
            elif part:
                files.setdefault(current, set()).add(part)
        return {commit: tuple(sorted(found)) for commit, found in files.items()}

    # What git is told

    def _identity(self) -> list[str]:
        """Return the options that name who commits, as far as git does not know."""
        options: list[str] = []
        for key, value in FALLBACK.items():
            if not self._git.knows_identity(key):
                options += ["-c", f"{key}={value}"]
        return options

    def _checked(self, *arguments: str, given: bytes = b"") -> Answer:
        answer = self._git.run(*arguments, given=given)
        if answer.code:
            raise self._failure(answer)
        return answer

    def _failure(self, answer: Answer) -> MemorandaError:
        return self._git.failure(answer)

    def _nothing(self, names: Iterable[str]) -> MemorandaError:
        there = [name for name in names if (self._folder / name).exists()]
        if not there:
            return StoreError(f"there are no notes in {self._folder} yet; nothing to commit")
        asked = f"{there[0]}\0".encode()
        answer = self._git.run(
            "check-ignore", "--verbose", "--stdin", "-z", given=asked, literal=False
        )
        rule = ":".join(answer.text.split("\0")[:3])
        return InvalidInput(
            f"git is told to ignore {', '.join(there)} in {self._folder} ({rule}); take "
            f"that line out, or do not commit the notes"
        )


def _moment(text: str) -> datetime:
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(text).astimezone(UTC)
    return EPOCH

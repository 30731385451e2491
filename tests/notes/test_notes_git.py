"""The notes in git: real repositories, made by the git program."""

import os
import shutil
import subprocess
from datetime import UTC, datetime

import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput, NotFound, StoreError
from memoranda.notes.git import NotesGit

GIT = shutil.which("git")
pytestmark = pytest.mark.skipif(GIT is None, reason="git is not installed")


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(tmp_path, monkeypatch):
    """No git settings, identity or repository of the machine reaches a test."""
    for name in os.environ:
        if name.startswith("GIT_") or name == "EMAIL":
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


def git(folder, *arguments):
    """Run git as a person would; return what it wrote."""
    command = [GIT, "-c", "user.name=Ana", "-c", "user.email=ana@example.org", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603 - our own
    return done.stdout.decode()


@pytest.fixture
def repository(tmp_path):
    """A repository whose notes are in a folder of their own, before its first commit."""
    root = tmp_path / "repo"
    (root / "notes").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    return root


@pytest.fixture
def folder(repository):
    """The folder of the notes, committed once beside a file that is no note."""
    notes = repository / "notes"
    (repository / "code.py").write_text("one\n")
    (notes / "other.md").write_text("no note\n")
    (notes / "MEMORY.md").write_text("- one\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "start")
    return notes


def write(folder, text, name="MEMORY.md"):
    """Write a file of the notes."""
    (folder / name).write_bytes(text.encode())


def test_a_folder_outside_git_is_no_repository(tmp_path, repository, monkeypatch):
    """False without a repository, a folder or git; every other method then says the remedy."""
    assert NotesGit(repository).is_repository()
    assert NotesGit(repository / "notes").is_repository()
    bare = tmp_path / "bare"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    assert not NotesGit(bare).is_repository()
    for place, remedy in {tmp_path: "git init", tmp_path / "none": "no notes in"}.items():
        notes = NotesGit(place)
        assert not notes.is_repository()
        for call in (
            notes.log,
            notes.diff,
            lambda n=notes: n.memory("HEAD"),
            lambda n=notes: n.commit("x"),
        ):
            with pytest.raises((InvalidInput, NotFound), match=remedy):
                call()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not NotesGit(repository).is_repository()
    with pytest.raises(InvalidInput, match=r"git is not installed.*install git"):
        NotesGit(repository).log()


def test_before_the_first_commit(repository):
    """Without commits the log is empty, and the first commit can be made."""
    folder = repository / "notes"
    notes = NotesGit(folder)
    assert notes.log() == []
    for call in (notes.diff, lambda: notes.memory("HEAD")):
        with pytest.raises(StoreError, match="'HEAD'"):
            call()
    with pytest.raises(InvalidInput, match="knows no notes"):
        notes.commit("nothing")
    write(folder, "- first\n")
    made = notes.commit("first")
    assert [commit.id for commit in notes.log()] == [made]
    assert notes.memory(made) == "- first\n"
    assert notes.commit("again") is None


def test_the_log_tells_of_notes_alone(repository, folder):
    """Each commit with its author, time, subject and the notes it changed; newest first."""
    write(folder, "- one\n- two\n")
    write(folder, "entry\n", "HISTORY-2026-02.md")
    write(folder, "entry\n", "HISTORY.md")
    second = NotesGit(folder).commit("second\n\nwith a body")
    (repository / "code.py").write_text("two\n")
    git(repository, "commit", "-qam", "no note at all")
    newest, oldest = NotesGit(folder).log()
    assert (newest.id, newest.subject, newest.author) == (second, "second", "memoranda")
    assert newest.files == ("HISTORY-2026-02.md", "HISTORY.md", "MEMORY.md")
    assert (oldest.subject, oldest.author, oldest.files) == ("start", "Ana", ("MEMORY.md",))
    assert abs((datetime.now(UTC) - newest.at).total_seconds()) < 600
    assert newest.at.tzinfo is UTC
    assert NotesGit(folder).log(limit=1) == [newest]


def test_a_removed_history_stays_in_the_log(folder):
    """A month that was removed from the folder is still told of, and its removal committed."""
    write(folder, "old\n", "HISTORY-2020-01.md")
    notes = NotesGit(folder)
    before = notes.commit("a month")
    (folder / "HISTORY-2020-01.md").unlink()
    assert "-old" in notes.diff()
    notes.commit("less")
    assert notes.diff() == ""
    assert "+old" not in notes.diff(before)


def test_the_diff_is_of_notes_alone(repository, folder):
    """The working tree against the last or any commit; new files too; nothing of other files."""
    notes = NotesGit(folder)
    assert notes.diff() == ""
    write(folder, "- two\n")
    write(folder, "new\n", "HISTORY.md")
    (repository / "code.py").write_text("secret\n")
    (folder / "other.md").write_text("secret\n")
    shown = notes.diff()
    assert "-- one" in shown
    assert "+- two" in shown
    assert "+new" in shown
    assert "secret" not in shown
    first = notes.commit("two")
    write(folder, "- three\n")
    notes.commit("three")
    assert notes.diff() == ""
    assert "-- two\n+- three" in notes.diff(first)
    assert "-- one\n+- three" in notes.diff("HEAD~2")


def test_only_the_notes_are_committed(repository, folder):
    """What else is staged, changed or new stays exactly as it was."""
    (repository / "code.py").write_text("staged\n")
    git(repository, "add", "code.py")
    (repository / "code.py").write_text("changed again\n")
    (folder / "other.md").write_text("changed\n")
    (repository / "new.txt").write_text("new\n")
    before = git(repository, "status", "--porcelain")
    write(folder, "- two\n")
    write(folder, "entry\n", "HISTORY.md")
    made = NotesGit(folder).commit("notes")
    assert git(repository, "status", "--porcelain") == before
    changed = git(repository, "show", "--name-only", "--format=%H%n%B", made)
    assert changed.split() == [made, "notes", "notes/HISTORY.md", "notes/MEMORY.md"]


def test_nothing_changed_is_no_commit(repository, folder):
    """Without a change there is no commit, also with other changes or a mere touch."""
    (repository / "code.py").write_text("two\n")
    os.utime(folder / "MEMORY.md", (1, 1))
    assert NotesGit(folder).commit("nothing") is None
    write(folder, "- staged\n")
    git(repository, "add", "notes/MEMORY.md")
    write(folder, "- one\n")  # As in the last commit, whatever is staged.
    assert NotesGit(folder).commit("nothing") is None
    git(repository, "rm", "-qf", "--cached", "notes/MEMORY.md")
    assert NotesGit(folder).commit("nothing") is None
    assert len(NotesGit(folder).log()) == 1


def test_a_detached_head_takes_commits(repository, folder):
    """A commit is made where no branch is checked out."""
    git(repository, "checkout", "-q", "--detach")
    write(folder, "- two\n")
    made = NotesGit(folder).commit("two")
    assert git(repository, "rev-parse", "HEAD").strip() == made
    assert git(repository, "log", "--format=%s", "main").split() == ["start"]


def test_worktrees_and_submodules_are_repositories(tmp_path, repository, folder):
    """Commits go to the work tree or the submodule that holds the notes, not to what is around."""
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    write(other / "notes", "- side\n")
    made = NotesGit(other / "notes").commit("side")
    assert git(repository, "rev-parse", "side").strip() == made
    assert NotesGit(folder).diff() == ""

    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository))
    inner = outer / "repo" / "notes"
    write(inner, "- inner\n")
    made = NotesGit(inner).commit("inner")
    assert git(outer / "repo", "rev-parse", "HEAD").strip() == made
    assert len(NotesGit(inner).log()) == 2


def test_an_identity_is_given_only_where_there_is_none(repository, folder, monkeypatch):
    """Without one it is memoranda; a configured one, or the environment's, is kept."""
    write(folder, "- two\n")
    NotesGit(folder).commit("two")
    git(repository, "config", "user.name", "Bea")
    git(repository, "config", "user.email", "bea@example.org")
    write(folder, "- three\n")
    NotesGit(folder).commit("three")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Eve")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "eve@example.org")
    write(folder, "- four\n")
    NotesGit(folder).commit("four")
    assert git(repository, "log", "-3", "--format=%an <%ae> %cn").splitlines() == [
        "Eve <eve@example.org> Eve",
        "Bea <bea@example.org> Bea",
        "memoranda <memoranda@localhost> memoranda",
    ]


def test_hooks_and_other_programs_do_not_run(repository, folder, monkeypatch):
    """No hook, editor, pager, external diff or text converter runs, whatever is configured."""
    trace = repository / "ran"
    script = repository / "program.sh"
    script.write_text(f"#!/bin/sh\necho ran >>'{trace}'\nexit 1\n")
    script.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit"):
        shutil.copy(script, hooks / hook)
    for key in ("core.editor", "core.pager", "diff.external", "diff.md.textconv", "core.fsmonitor"):
        git(repository, "config", key, str(script))
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "metadata").write_text("*.md diff=md\n")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    write(folder, "- two\n")
    write(folder, "entry\n", "HISTORY.md")
    notes = NotesGit(folder)
    assert "+- two" in notes.diff()
    made = notes.commit("two")
    assert notes.log()[0].id == made
    assert notes.memory(made) == "- two\n"
    assert notes.diff("HEAD~1") != ""
    assert not trace.exists()


def test_the_callers_repository_is_not_mistaken(tmp_path, repository, folder, monkeypatch):
    """GIT_DIR and its kin, as hooks of another repository set them, mean nothing here."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    write(folder, "- two\n")
    NotesGit(folder).commit("two")
    monkeypatch.undo()
    assert git(repository, "log", "-1", "--format=%s").strip() == "two"


def test_notes_that_git_ignores_are_not_committed(repository):
    """Where git is told to ignore all notes, the error says so; some ignored is a choice."""
    folder = repository / "notes"
    (repository / ".gitignore").write_text("*.pyc\nHISTORY*\nMEMORY.md\n")
    write(folder, "- one\n")
    with pytest.raises(InvalidInput, match="it ignores them"):
        NotesGit(folder).commit("one")
    (repository / ".gitignore").write_text("HISTORY*\n")
    write(folder, "entry\n", "HISTORY.md")
    assert NotesGit(folder).commit("one") is not None
    assert NotesGit(folder).log()[0].files == ("MEMORY.md",)
    assert NotesGit(folder).commit("one") is None


def test_contents_come_back_exactly(folder):
    """Line ends, missing last ones and any script are as they were."""
    notes = NotesGit(folder)
    for text in ("- one\r\n- two", "メモ ☂\n\n\n", "tab\t\x1b[31m\n"):
        write(folder, text)
        assert notes.memory(notes.commit("a text")) == text


def test_messages_come_back_whole(repository, folder):
    """A message may start with # or -, have any script; blank and NUL are refused."""
    notes = NotesGit(folder)
    for number, text in enumerate(
        ("# no comment", "-m option", "Notizen ☂ über\n\n# body", "--amend")
    ):
        write(folder, f"- {number}\n")
        notes.commit(text)
        assert git(repository, "log", "-1", "--format=%B").strip() == text
        assert notes.log()[0].subject == text.split("\n", maxsplit=1)[0]
    for text in ("", " \n", "a\0b"):
        with pytest.raises(InvalidInput, match="message"):
            notes.commit(text)
    assert len(notes.log()) == 5


REVISIONS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "--output=pwned",
            "-o",
            "--upload-pack=touch pwned",
            "--",
            "HEAD --output=pwned",
            "HEAD:code.py",
            "HEAD:../code.py",
            ":code.py",
            "HEAD..HEAD",
            "^HEAD",
            "HEAD^{tree}",
            "@{-99}",
            "$(touch pwned)",
            "`touch pwned`",
            "HEAD;touch pwned",
            "HEAD\n--output=pwned",
            "x" * 10_000,
        ]
    ),
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(revision=REVISIONS)
def test_no_revision_makes_git_do_anything_else(repository, folder, revision):
    """Any revision gives the notes of a commit or our own error, and no file appears."""
    notes = NotesGit(folder)
    before = sorted(path for path in repository.rglob("*") if ".git" not in path.parts)
    for call in (notes.memory, notes.diff):
        try:
            shown = call(revision)
        except (InvalidInput, StoreError):
            continue
        assert shown in {"- one\n", ""}
    assert sorted(path for path in repository.rglob("*") if ".git" not in path.parts) == before


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
    ).filter(str.strip)
)
def test_no_message_passes_for_something_else(repository, folder, text):
    """Whatever a message or a note says, the log has one commit with one line for it."""
    notes = NotesGit(folder)
    (repository / "code.py").write_text("never committed\n")
    already = len(notes.log(limit=1_000))
    write(folder, f"{already}\n{text}")
    made = notes.commit(text)
    newest, *rest = notes.log(limit=1_000)
    assert (newest.id, newest.files, len(rest)) == (made, ("MEMORY.md",), already)
    assert "\n" not in newest.subject
    assert notes.memory(made) == f"{already}\n{text}"

"""``storage.key``: an SQLite file that nobody reads without its passphrase.

The build of SQLite that can encrypt is the module ``apsw`` too. So `make setup` puts it into a
folder of its own, and the processes of a test find it there.
"""

import sys
from pathlib import Path

import pytest
from bare_environment import bare_environment, run_python

from memoranda import Memory, Settings
from memoranda.errors import ConfigError, NotADatabase

BUILD = Path(sys.prefix) / "encryption"
KEY = 'it\'s a "long" key'
WORD = b"zanzibar"
# The whole memory in one process: threads that read, upkeep, and a rebuild.
USED = """
from concurrent.futures import ThreadPoolExecutor
from memoranda import Memory
with Memory() as memory:
    memory.conversation("trip").add("user", "My sister Rita lives in Zanzibar.")
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(memory.search, ["Zanzibar tea"] * 8)
    print({len(hits) for hits in found})
    memory.maintain()
    memory.rebuild()
    print(memory.verify(), memory.forget(memory.remember("zanzibar cat").id, erase=True).purged)
"""


@pytest.fixture
def run(tmp_path):
    """Run Python with the build that can encrypt; return its exit code and what it printed."""
    if not BUILD.exists():
        pytest.skip(f"{BUILD} is not there: make setup")

    def start(*arguments, key=KEY):
        environment = bare_environment(tmp_path, PYTHONPATH=str(BUILD), NO_COLOR="1")
        environment |= {"MEMORANDA_STORAGE__KEY": key} if key else {}
        done = run_python(*arguments, env=environment, cwd=tmp_path)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return start


@pytest.mark.slow
def test_every_file_of_an_encrypted_memory_needs_the_key(run, tmp_path):
    """The file, its log, a backup and a copy; commands, threads and upkeep work as without."""
    command = ("-m", "memoranda")
    for line in (
        "remember Zanzibar.tea",
        "backup backup.db",
        "copy agent.db copied.db",
        "doctor --rebuild",
        "worker --once",
    ):
        code, printed = run(*command, *line.split())
        assert code == 0, printed
    assert run("-c", USED) == (0, "{2} [] True")
    names = ("agent.db", "backup.db", "copied.db")
    assert {path.name for path in tmp_path.glob("*.db*")} == {*names}
    for name in names:
        assert WORD not in (tmp_path / name).read_bytes().lower()
        assert "Zanzibar.tea" in run(*command, "--db", name, "search", "Zanzibar")[1]
        for key, told in (("another", "storage.key: the key is wrong"), (None, "encrypted (stor")):
            code, printed = run(*command, "--db", name, "search", "Zanzibar", key=key)
            assert (code != 0, told in printed) == (True, True), printed


@pytest.mark.slow
def test_a_plain_file_is_encrypted_by_the_documented_statements(run, tmp_path):
    """A file that is not encrypted is refused with a key, until it was given that key."""
    path = tmp_path / "agent.db"
    with Memory(path) as memory:
        memory.remember("Zanzibar tea")
    assert "not encrypted" in run("-m", "memoranda", "search", "Zanzibar")[1]
    quoted = KEY.replace("'", "''")
    statements = ("PRAGMA journal_mode = DELETE", f"PRAGMA rekey = '{quoted}'")
    assert run("-m", "apsw", "agent.db", *statements) == (0, "delete ok")
    assert WORD not in path.read_bytes().lower()
    assert "Zanzibar tea" in run("-m", "memoranda", "search", "Zanzibar")[1]


def test_a_key_without_encryption_is_refused(tmp_path):
    """Without the build, or for a store that is no SQLite file: nothing is written in the clear."""
    settings = Settings(storage={"key": KEY})
    for location, told in (
        ("agent.db", "apsw-sqlite3mc"),
        (f"chroma://{tmp_path}/memory", "encrypt the disk"),
        ("postgresql://localhost/memory", "encrypt the disk"),
    ):
        with pytest.raises(ConfigError, match=told):
            Memory(tmp_path / location if "://" not in location else location, settings=settings)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match=r"storage\.key"):
        Settings(storage={"key": ""})


def test_an_encrypted_file_without_its_key_is_named(tmp_path):
    """Plain SQLite sees bytes that are no database: the error says that it may be encrypted."""
    path = tmp_path / "agent.db"
    path.write_bytes(bytes(range(256)) * 16)
    with pytest.raises(NotADatabase, match=r"encrypted \(storage\.key\)"):
        Memory(path)

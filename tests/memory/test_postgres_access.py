"""Passwords of a PostgreSQL server: as libpq has them, and shown nowhere."""

import logging
import traceback
from contextlib import closing
from pathlib import Path

import pytest
from both_stores import remembering
from postgres_server import connected, new_role, running_server
from psycopg.sql import SQL, Identifier, Literal

from memoranda.errors import StoreError

PASSWORD = "tiger@lily/7"  # noqa: S105 - of a server of this test
ENCODED = "tiger%40lily%2F7"


@pytest.fixture(scope="module")
def server():
    """Run one server for all tests."""
    with running_server() as address:
        yield address


@pytest.fixture(scope="module")
def owner(server):
    """Create a role that has to say a password; return its name."""
    name = new_role(server, schema=True)
    with connected(server) as connection:
        sql = SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(name), Literal(PASSWORD))
        connection.execute(sql)
        (rules,) = connection.execute("SHOW hba_file").fetchone()
        told = Path(rules).read_text("utf-8")
        Path(rules).write_text(f"local all {name} scram-sha-256\n{told}", "utf-8")
        connection.execute("SELECT pg_reload_conf()")
    return name


def address(server, owner, password=""):
    """Return the address of the server's own database for the role."""
    return server.replace("postgres:@", f"{owner}{password and ':'}{password}@")


def test_a_password_comes_from_where_libpq_looks(server, owner, tmp_path, monkeypatch):
    """From the environment, or a file that is named there or in the address."""
    file = tmp_path / "passwords"
    escaped = PASSWORD.replace(":", r"\:")
    file.write_text(f"*:*:*:{owner}:{escaped}\n", "utf-8")
    file.chmod(0o600)
    named = address(server, owner)
    with pytest.raises(StoreError, match=r"no password supplied; .* PGPASSWORD"):
        remembering(named)
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        remembering(named).close()
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSFILE", str(file))
        remembering(named).close()
    remembering(f"{named}&passfile={file}").close()
    remembering(address(server, owner, ENCODED)).close()


def test_a_password_is_shown_nowhere(server, owner, caplog):
    """Neither right nor wrong: by no report, message, log or cause of an error."""
    caplog.set_level(logging.DEBUG)
    told = []
    with closing(remembering(address(server, owner, ENCODED))) as memory:
        memory.remember("Ana likes tea")
        store = memory._services.store
        told += [memory, memory.stats(), memory.doctor(), store]
        with pytest.raises(StoreError) as raised, store._lend() as connection:
            connection.run("SELECT nothing")
        told += traceback.format_exception(raised.value)
    for wrong in (
        address(server, owner, "tiger-lily"),
        address(server, owner, ENCODED).replace("/postgres?", "/none?"),
        address(server, owner, ENCODED).replace("host=", "host=/none"),
    ):
        with pytest.raises(StoreError) as raised:
            remembering(wrong, storage={"busy_timeout": 0.5})
        told += traceback.format_exception(raised.value)
        told += [repr(raised.value), repr(raised.value.__cause__), repr(raised.value.__context__)]
        assert owner in str(raised.value) or "none" in str(raised.value)
    for text in (*map(str, told), *map(repr, told), caplog.text):
        assert "tiger" not in text


def test_a_wrong_password_is_told_of(server, owner):
    """With what to do, at once."""
    with pytest.raises(StoreError, match=r"password authentication failed .* PGPASSWORD"):
        remembering(address(server, owner, "wrong"))

"""Passwords and TLS of a PostgreSQL server: as libpq has them, and shown nowhere."""

import logging
import shutil
import subprocess
import traceback
from contextlib import closing
from pathlib import Path

import pytest
from both_stores import remembering
from pgbouncer import pooling
from postgres_server import connected, new_role, programs, running_server
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
    monkeypatch.setenv("PATH", programs(server))
    file = tmp_path / "passwords"
    escaped = PASSWORD.replace(":", r"\:")
    file.write_text(f"*:*:*:{owner}:{escaped}\n", "utf-8")
    file.chmod(0o600)
    named = address(server, owner)
    with pytest.raises(StoreError, match="no password supplied; give the password in PGPASSWORD"):
        remembering(named)
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        remembering(named).close()
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSFILE", str(file))
        remembering(named).close()
    with closing(remembering(f"{named}&passfile={file}")) as memory:
        memory.backup(tmp_path / "by a file")
    with closing(remembering(address(server, owner, ENCODED))) as memory:
        memory.backup(tmp_path / "by the address")


def test_a_password_is_shown_nowhere(server, owner, caplog):
    """Neither right nor wrong: by no report, message, log or cause of an error."""
    caplog.set_level(logging.DEBUG)
    told = []
    with closing(remembering(address(server, owner, ENCODED))) as memory:
        memory.remember("Ana likes tea")
        store = memory._services.store
        told += [memory, memory.stats(), memory.doctor(), store, store.capabilities()]
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


@pytest.fixture(scope="module")
def secure(server, tmp_path_factory):
    """Run a pooler that speaks TLS alone; give its address, and the certificate of its issuer."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    files = {"client_tls_key_file": key, "client_tls_cert_file": certificate}
    texts = {name: file.read_text("utf-8") for name, file in files.items()}
    with pooling(server, **texts) as given:
        yield given, certificate


def test_what_the_address_says_of_tls_is_done(secure):
    """An encrypted connection, to the host that the certificate names, by whom it has to be."""
    given, certificate = secure
    trusted = f"sslrootcert={certificate}"
    named = given.replace("127.0.0.1", "localhost")
    with closing(remembering(f"{named}?sslmode=verify-full&{trusted}")) as memory:
        memory.remember("Ana likes tea")
        (check,) = [each for each in memory.doctor() if each.name == "server"]
        assert "TLS" in check.detail
    for wrong, why in (
        (f"{given}?sslmode=verify-full&{trusted}", "does not match host name"),
        (f"{named}?sslmode=verify-full&sslrootcert=/no/file", "does not exist"),
        (f"{named}?sslmode=disable", "SSL required"),
    ):
        with pytest.raises(StoreError, match=rf"{why}.*; look at sslmode"):
            remembering(wrong)


def test_a_server_without_tls_is_told_of(server):
    """Where the address asks for it, nothing is sent in the clear."""
    with (
        pooling(server) as given,
        pytest.raises(StoreError, match=r"does not support SSL.*; look at sslmode"),
    ):
        remembering(f"{given}?sslmode=require")

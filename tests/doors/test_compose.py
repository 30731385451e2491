"""What compose.yaml runs works: each service's own command line, environment and health check."""

import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from threading import Event
from time import monotonic
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from postgres_server import connected, running_server
from ruamel.yaml import YAML

from memoranda import Memory, Settings
from memoranda.model.ports import ENTITIES
from memoranda.model.query import Filter

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text("utf-8")
SERVICES = YAML(typ="safe").load(TEXT)["services"]
VARIABLE = re.compile(r"\$\{(\w+)(:[?-])([^}]*)\}")
TOKEN = "0123456789abcdef" * 2
GIVEN = {"POSTGRES_PASSWORD": "tiger lily", "MEMORANDA_MCP__TOKENS": f"{TOKEN}=ana"}
PATIENCE = 60
QUIET = Settings(embedding={"model": "none", "background": False})


def filled(value):
    """Return a value of an environment as Compose fills it in."""
    return VARIABLE.sub(lambda found: GIVEN.get(found[1], ""), str(value))


@pytest.fixture(scope="module")
def database():
    """Run a server with the database and the role of the file; return its address."""
    with running_server() as address:
        with connected(address) as connection:
            connection.execute("CREATE ROLE memoranda SUPERUSER LOGIN")
            connection.execute("CREATE DATABASE memory OWNER memoranda")
        yield address.replace("://postgres:@/postgres?", "://memoranda@/memory?")


@pytest.fixture
def run(database, tmp_path):
    """Start the program of a service, on a free port; return the process and its health check."""
    started = []

    def start(name):
        service = SERVICES[name]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        (asked,) = re.findall(r"0\.0\.0\.0:(\d+)", " ".join(service["command"]))
        words = [word.replace(asked, port) for word in service["command"]]
        kept = {it: each for it, each in os.environ.items() if not it.startswith("MEMORANDA_")}
        own = {it: filled(each) for it, each in service["environment"].items()}
        assert own["MEMORANDA_LOCATION"] == "postgresql://memoranda@database/memory"
        changed = {
            "MEMORANDA_LOCATION": database,
            "MEMORANDA_CONFIG": str(tmp_path / "no-config.toml"),
            "MEMORANDA_EMBEDDING__MODEL": "none",
            "MEMORANDA_SCHEDULE__EXPIRE": "1d",  # Once, also where an hour ends meanwhile.
        }
        process = subprocess.Popen(  # noqa: S603 - this interpreter, on the words of the file
            [sys.executable, "-m", "memoranda", *words],
            env=kept | own | changed,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        kind, program, *arguments = service["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        arguments = [each.replace(asked, port) for each in arguments]
        return process, port, [sys.executable, *arguments]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def becomes_healthy(process, check):
    """Wait until the health check of a service passes."""
    since = monotonic()
    while subprocess.run(check, stderr=subprocess.DEVNULL, check=False).returncode:  # noqa: S603 - as above
        assert process.poll() is None, process.stdout.read()
        assert monotonic() - since < PATIENCE
        Event().wait(0.1)


def stopped(process):
    """Stop a service as Docker does; return its exit code and what it wrote."""
    process.send_signal(signal.SIGTERM)
    shown, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, shown


def test_a_secret_comes_from_outside_and_is_asked_for():
    """No password or token stands in the file, and without one Compose says what to write."""
    wanted = {name: message for name, sign, message in VARIABLE.findall(TEXT) if sign == ":?"}
    assert set(wanted) == set(GIVEN)
    assert all(f"write {name}=" in message for name, message in wanted.items())
    named = re.findall(r"^ +(\w*(?:PASSWORD|TOKENS)): (.*)$", TEXT, re.MULTILINE)
    assert len(named) == 3
    assert all(VARIABLE.fullmatch(value) for _, value in named)


def test_the_worker_works(run, database):
    """It becomes healthy, finds the names in what waits, and stops when it is told to."""
    with Memory(database, user="ana", settings=QUIET) as memory:
        memory.remember("Ana met Marta")
        process, _, check = run("worker")
        becomes_healthy(process, check)
        since = monotonic()
        while memory._services.store.count(None, Filter.at_any_time(waiting=ENTITIES)):
            assert monotonic() - since < PATIENCE
            Event().wait(0.1)
        code, shown = stopped(process)
    assert code == 0
    assert re.search(r"derived: vectors 0, entities 1; stages run \d times, 0 failed", shown)


def test_the_server_serves_those_who_have_a_token(run):
    """It becomes healthy, refuses who has none, and stops when it is told to."""
    process, port, check = run("mcp")
    becomes_healthy(process, check)
    answers = []
    for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
        with pytest.raises(HTTPError) as refused:
            urlopen(Request(f"http://localhost:{port}/mcp", b"{}", headers))
        answers.append(refused.value.code)
        refused.value.close()
    assert answers[0] == 401
    assert answers[1] not in {401, 403, 421}
    assert stopped(process)[0] == 0


def test_the_database_is_kept():
    """In a volume with a name; who needs it waits until it answers."""
    database = SERVICES["database"]
    assert database["image"].startswith("pgvector/pgvector:")
    (volume,) = database["volumes"]
    assert volume.partition(":")[0] in YAML(typ="safe").load(TEXT)["volumes"]
    for name in ("worker", "mcp"):
        assert SERVICES[name]["depends_on"] == {"database": {"condition": "service_healthy"}}


def test_the_image_has_what_it_copies_and_installs():
    """What the Dockerfile names is in the repository."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    copied = [
        each for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for each in line.split()
    ]
    assert copied
    assert all((ROOT / each).exists() for each in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (extras,) = re.findall(r"'\.\[(.+)\]'", text)
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert {project["readme"], *project["license-files"]} <= set(copied)

"""What compose.yaml runs works: each service's own command line, environment and health check."""

import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from postgres_server import connected, running_server
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text("utf-8")
SERVICES = YAML(typ="safe").load(TEXT)["services"]
VARIABLE = re.compile(r"\$\{(\w+)(:[?-])([^}]*)\}")
TOKEN = "0123456789abcdef" * 2
GIVEN = {"POSTGRES_PASSWORD": "tiger lily", "MEMORANDA_MCP__TOKENS": f"{TOKEN}=ana"}


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


def test_a_secret_comes_from_outside_and_is_asked_for():
    """No password or token stands in the file, and without one Compose says what to write."""
    wanted = {name: message for name, sign, message in VARIABLE.findall(TEXT) if sign == ":?"}
    assert set(wanted) == set(GIVEN)
    assert all(f"write {name}=" in message for name, message in wanted.items())
    named = re.findall(r"^ +(\w*(?:PASSWORD|TOKENS)): (.*)$", TEXT, re.MULTILINE)
    assert len(named) == 3
    assert all(VARIABLE.fullmatch(value) for _, value in named)


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

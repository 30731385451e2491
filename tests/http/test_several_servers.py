"""Two servers and a worker on one PostgreSQL, by the commands of compose.yaml."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic

import httpx
import psycopg
import pytest
from bare_environment import bare_environment, run_python
from http_server import PATIENCE
from postgres_server import new_database
from ruamel.yaml import YAML

COMPOSE = YAML(typ="safe").load((Path(__file__).parents[2] / "compose.yaml").read_text("utf-8"))
ADDED = 240  # records, of which the last are stored when one server is gone


@contextmanager
def started(service, environment):
    """Run a service of compose.yaml as a process; give it and, at a free port, its address."""
    words = [each.rpartition(":")[0] + ":0" if ":" in each else each for each in service["command"]]
    with subprocess.Popen(  # noqa: S603 - this interpreter, on the commands of the project
        [sys.executable, "-m", "memoranda", *words],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            line = next(each for each in process.stderr if "http://" in each or "Ctrl+C" in each)
            yield process, line.split()[-1].replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - told
        finally:
            process.kill()


def repeat_until(ask, wanted):
    """Ask until the answer is as wanted; return how many seconds that took."""
    since = monotonic()
    while not wanted(ask()):
        assert monotonic() - since < PATIENCE
    return monotonic() - since


@pytest.mark.slow
def test_two_servers_are_one_memory_and_one_may_be_killed(postgres, tmp_path):
    """What one acknowledged the other has at once, also after a kill; a revoked token ends in both.

    The worker makes what is derived, as both leave it to it.
    """
    services = COMPOSE["services"]
    own = services["serve"]["environment"] | {"MEMORANDA_HTTP__ALLOWED_HOSTS": ""}
    place = {"MEMORANDA_LOCATION": new_database(postgres, schema=False)}
    environment = bare_environment(tmp_path) | {
        name: value for name, value in own.items() if name.startswith("MEMORANDA_")
    }
    environment |= place

    def make_token(user, scope):
        words = "token", "create", "--user", user, "--scope", scope
        made = run_python("-m", "memoranda", *words, env=environment)
        return {"Authorization": f"Bearer {made.stdout.split()[-1]}"}

    ana, ben = make_token("ana", "admin"), make_token("ben", "write")
    with ExitStack() as stack:
        start = [started(services["serve"], environment) for _ in range(2)]
        worker = started(services["worker"], bare_environment(tmp_path) | place)
        (first, one), (_, two), _ = map(stack.enter_context, [*start, worker])
        client = stack.enter_context(httpx.Client(timeout=PATIENCE, trust_env=False, headers=ana))

        def add(number):
            url = f"{(one, two)[number % 2]}/v1/records"
            if number == ADDED // 2:
                first.kill()
            try:
                told = client.post(url, json={"content": f"Ana met Marta in Porto, day {number}"})
            except httpx.TransportError:
                return None
            assert told.status_code == 201, told.text
            made = told.json()["id"]
            if first.poll() is None:
                assert client.get(f"{two}/v1/records/{made}").status_code == 200
            return made

        (listed,) = [
            each for each in client.get(f"{two}/v1/admin/tokens").json() if each["user"] == "ben"
        ]
        assert client.get(f"{two}/v1/records", headers=ben).json()["records"] == []
        client.delete(f"{one}/v1/admin/tokens/{listed['id']}").raise_for_status()
        assert client.get(f"{one}/v1/records", headers=ben).status_code == 401
        repeat_until(
            lambda: client.get(f"{two}/v1/records", headers=ben),
            lambda told: told.status_code == 401,
        )
        with ThreadPoolExecutor(8) as threads:
            acknowledged = {each for each in threads.map(add, range(ADDED)) if each}
        there = client.get(f"{two}/v1/records", params={"limit": 1_000}).json()["records"]
        assert acknowledged <= {each["id"] for each in there}
        assert len(acknowledged) > ADDED // 2
        database = stack.enter_context(psycopg.connect(*place.values(), autocommit=True))
        waiting = "SELECT count(*) FROM derivations WHERE work = 'entities'"
        repeat_until(lambda: database.execute(waiting).fetchone(), lambda left: left == (0,))

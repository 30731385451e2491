"""The commands ``serve`` and ``token``, as processes and on the command line."""

import json
import signal

import httpx
import pytest
from bare_environment import bare_environment
from http_server import PATIENCE, started
from typer.testing import CliRunner

from memoranda import Memory, Settings, errors
from memoranda.cli import app
from memoranda.http.app import run
from memoranda.serving.addresses import ListenAddress


@pytest.fixture
def environment(tmp_path):
    """An environment of its own."""
    return bare_environment(tmp_path, MEMORANDA_SCHEDULE__IN_BACKGROUND="false")


@pytest.fixture
def command(environment):
    """Run a command that has to succeed; return its document."""

    def start(*words, code=0):
        done = CliRunner().invoke(app, [*words, "--json"], env=environment)
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if code == 0 else done.stderr

    return start


@pytest.mark.slow
def test_a_server_answers_until_it_is_told_to_stop(environment, command):
    """What the command line made opens it, and is refused once it is revoked; it ends cleanly."""
    made = command("token", "create", "--user", "ana", "--scope", "read", "--expires", "90d")
    headers = {"Authorization": f"Bearer {made['token']}"}
    with started(environment, "--http", "127.0.0.1:0") as (process, url):
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE, trust_env=False) as ana:
            assert ana.get("/v1/records").status_code == 200
            command("token", "revoke", made["id"])
            asked = (ana.get("/v1/records") for _ in iter(int, 1))
            # Who asks so often may also be told to wait.
            refused = next(each for each in asked if each.status_code not in {200, 429})
            assert refused.status_code == 401
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


@pytest.mark.slow
def test_whoever_listens_keeps_no_server_from_ending(environment, command):
    """An open stream of events ends with the server, soon after it is told to stop."""
    made = command("token", "create", "--user", "ana")
    headers = {"Authorization": f"Bearer {made['token']}"}
    with (
        started(environment, "--http", "127.0.0.1:0") as (process, url),
        httpx.Client(base_url=url, headers=headers, timeout=PATIENCE, trust_env=False) as ana,
        ana.stream("GET", "/v1/events") as stream,
    ):
        assert stream.status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        told = process.stderr.read()
        assert "Traceback" not in told, told
        assert made["token"] not in told


def test_tokens_are_listed_without_their_texts(command):
    """A list tells whose they are and until when; what is no token or no span is refused."""
    made = [command("token", "create", "--user", name) for name in ("ana", "ben")]
    listed = command("token", "list")
    assert [each["user"] for each in listed] == ["ana", "ben"]
    assert all(each["token"] not in str(listed) for each in made)
    assert "there is no token 'tok_1'" in command("token", "revoke", "tok_1", code=1)
    assert "--expires=" in command("token", "create", "--expires", "soon", code=1)


def test_others_are_let_in_only_with_tokens():
    """An address that other machines reach is refused until somebody has a token."""
    settings = Settings(embedding={"model": "none", "background": False})
    with (
        Memory(":memory:", user="ana", settings=settings) as memory,
        pytest.raises(errors.ConfigError, match="memoranda token create, or listen at 127"),
    ):
        run(memory, ListenAddress("0.0.0.0", 0))  # noqa: S104 - it is refused

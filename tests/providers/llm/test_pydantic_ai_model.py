"""A language model over HTTP: asked, asked again, timed out, cut off, and understood."""

import asyncio
import gc
import json
import socket
from dataclasses import dataclass, field

import pytest
from model_server import answered, cut_off, failing, raw, said, stalling
from tables import each_row

from memoranda.errors import LLMError
from memoranda.providers.llm.pydantic_ai_model import PydanticAIModel
from memoranda.providers.llm.spec import ModelConnection, parse_spec
from memoranda.providers.opening import open_language_model
from memoranda.settings.sections import LLMSettings

ANSWER = {"name": "Ana", "claims": [{"text": "Ana moved.", "sure": 0.5}]}
FORMATS = ["openai", "anthropic"]


@dataclass
class Item:
    """One claim."""

    text: str
    sure: float = 0.8


@dataclass
class Answer:
    """What is wanted.

    Attributes:
        name: whom it is about.
        claims: what is said.
    """

    name: str
    claims: list[Item] = field(default_factory=list)


class Client:
    """A model of the server."""

    def __init__(self, spec, api_key=None, **options):
        """Name the model."""
        self.model = PydanticAIModel(
            ModelConnection(parse_spec(spec), api_key, **({"timeout": 20.0} | options))
        )

    def ask(self, answer=Answer):
        """Ask in an event loop of its own."""
        return asyncio.run(self.model.ask("Find the claims.", "Ana: I moved.", answer))

    def fail(self):
        """Return the error that asking ends with."""
        with pytest.raises(LLMError) as caught:
            self.ask()
        return caught.value


@each_row("spoken", FORMATS)
def test_an_answer_comes_back_as_its_type(server, spoken):
    """Both formats carry the instructions, the prompt and the schema, and bring a typed answer."""
    server.play(answered(ANSWER))
    reply = Client(getattr(server, spoken)).ask()
    assert reply.value == Answer("Ana", [Item("Ana moved.", 0.5)])
    assert (reply.usage.requests, reply.usage.failures) == (1, 0)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    [received] = server.received
    assert received.system.startswith("Find the claims.")
    assert received.prompt == "Ana: I moved."
    structured = received.body.get("response_format") or received.body.get("output_config")
    assert {"name", "claims", "text", "sure"} <= _words(structured)


def _words(value):
    found = set()
    if isinstance(value, dict):
        found |= set(value)
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            found |= _words(inner)
    return found


def test_a_model_without_schemas_is_asked_in_words(server):
    """To a model that takes no schema the instructions say it."""
    server.play(answered(ANSWER))
    assert Client(f"anthropic:claude-like@{server.url}").ask().value.name == "Ana"
    [received] = server.received
    assert not received.body.get("output_config")
    assert '"required": ["name"]' in received.system


def test_long_answers_come_as_a_stream(server):
    """Where the provider's client streams (a long answer of Anthropic's), the pieces are one."""
    server.play(answered(ANSWER, tokens=(7, 9)))
    reply = Client(server.anthropic).ask()
    assert server.received[0].body["stream"] is True
    assert reply.value.claims == [Item("Ana moved.", 0.5)]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 9)


@each_row(
    "text",
    [
        f"Sure! Here it is:\n```json\n{json.dumps(ANSWER)}\n```\nAnything else?",
        f"I think {{so}}: {json.dumps(ANSWER)} - done.",
        f"<think>{{'name': 1}} perhaps</think>{json.dumps(ANSWER)}",
        json.dumps(ANSWER)[:-1],
        json.dumps(ANSWER | {"claims": ANSWER["claims"][0], "more": [1]}),
        json.dumps(ANSWER).replace("0.5", '"0.5"'),
    ],
)
def test_untidy_answers_are_understood_at_once(server, text):
    """Prose, fences, thoughts, half JSON and lax types need no second call."""
    server.play(said(text))
    reply = Client(server.openai).ask()
    assert reply.value == Answer("Ana", [Item("Ana moved.", 0.5)])
    assert len(server.received) == 1


@each_row("spoken", FORMATS)
def test_a_wrong_type_is_sent_back_once_with_what_is_wrong(server, spoken):
    """The second request says which field was wrong, and both calls are on the bill."""
    wrong = {"name": "Ana", "claims": [{"text": "Ana moved.", "sure": "very"}]}
    server.play(answered(wrong), answered(ANSWER))
    reply = Client(getattr(server, spoken)).ask()
    assert reply.value.claims == [Item("Ana moved.", 0.5)]
    assert (reply.usage.requests, reply.usage.failures) == (2, 1)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (200, 40)
    told = json.dumps(server.received[1].body)
    assert "Input should be a valid number" in told
    assert "sure" in told


def test_an_answer_wrong_twice_is_an_error(server):
    """After one repair the model is given up, with what it cost."""
    server.play(said("I would rather not."))
    error = Client(server.openai).fail()
    assert "Answer" in str(error)
    assert "small" in str(error)
    assert (error.usage.requests, error.usage.failures) == (2, 2)
    assert error.usage.input_tokens == 200


def test_what_is_sound_in_a_list_is_kept_after_the_repair(server):
    """One claim that stays wrong does not cost the others."""
    server.play(answered({"name": "Ana", "claims": [{"text": "A"}, {"sure": 1}, 7]}))
    reply = Client(server.openai).ask()
    assert reply.value.claims == [Item("A")]
    assert len(server.received) == 2


SOON = {"Retry_After": "0.01"}


@each_row("spoken", FORMATS)
@each_row("status", [408, 429, 500, 503, 529])
def test_a_busy_server_is_asked_again(server, spoken, status):
    """Too many requests and faults of the server are tried again, when it says."""
    server.play(failing(status, **SOON), failing(status, **SOON), answered(ANSWER))
    assert Client(getattr(server, spoken)).ask().value.name == "Ana"
    assert len(server.received) == 3


@each_row("spoken", FORMATS)
def test_retries_end(server, spoken):
    """A server that stays busy is an error that names model, status, words and remedy."""
    server.play(failing(429, "slow down", **SOON))
    error = Client(getattr(server, spoken), retries=1).fail()
    assert len(server.received) == 2
    for part in (getattr(server, spoken), "429", "slow down", "wait"):
        assert part in str(error)
    assert (error.usage.requests, error.usage.failures) == (1, 1)


@each_row("spoken", FORMATS)
def test_the_time_out_holds_for_all_retries_together(server, spoken):
    """A server that wants to be asked much later is an error when the time-out is over."""
    server.play(failing(429, Retry_After="60"))
    error = Client(getattr(server, spoken), timeout=1.0).fail()
    assert len(server.received) == 1
    assert "llm.timeout" in str(error)
    assert 1.0 <= error.usage.seconds < 20


@each_row("spoken", FORMATS)
@each_row(("status", "remedy"), [(401, "api_key"), (403, "api_key"), (404, "name")])
def test_a_refused_request_is_not_made_again(server, spoken, status, remedy):
    """What the server says is wrong stays wrong: one call, no wait, and a remedy."""
    server.play(failing(status))
    client = Client(getattr(server, spoken))
    error = client.fail()
    assert len(server.received) == 1
    for part in (getattr(server, spoken), str(status), "the server's own words", remedy):
        assert part in str(error)


@each_row("spoken", FORMATS)
def test_no_error_shows_the_key(server, spoken):
    """Neither an error, nor the name, nor what is printed holds the key."""
    key = "sk-very-secret-0123456789"
    server.play(failing(401, f"Incorrect key: {key}"))
    client = Client(getattr(server, spoken), api_key=key)
    error = client.fail()
    shown = f"{error}{error!r}{client.model!r}{client.model.name}{client.model._to!r}"
    assert key not in shown
    assert key in server.received[0].headers["authorization"]


@each_row("spoken", FORMATS)
def test_a_server_that_stays_silent_is_an_error(server, spoken):
    """The error says how long was waited and which setting to raise."""
    server.play(stalling)
    error = Client(getattr(server, spoken), timeout=0.2, retries=0).fail()
    for part in (getattr(server, spoken), "0.2 s", "llm.timeout"):
        assert part in str(error)


@each_row("spoken", FORMATS)
def test_a_body_that_breaks_off_gives_no_half_answer(server, spoken):
    """A connection lost in the middle of an answer is tried again, or an error where it streams."""
    server.play(cut_off, answered(ANSWER))
    client = Client(getattr(server, spoken))
    if spoken == "openai":
        assert client.ask().value.name == "Ana"
    else:
        assert server.anthropic in str(client.fail())


@each_row("spoken", FORMATS)
@each_row(
    "act",
    [
        raw(b"<html>Gateway</html>", "text/html"),
        raw(b'{"id": "1", "obj'),
        raw(b"{}"),
        raw(b"[]"),
        raw(b"null"),
        raw(b'{"choices": []}'),
        raw(b'{"choices": [{"index": 0, "message": 5}]}'),
        raw(b"\xff\xfe"),
        raw(b""),
    ],
)
def test_what_is_no_answer_of_the_format_is_an_error_of_ours(server, spoken, act):
    """Whatever a server sends, only an LLMError leaves, and it names the model."""
    server.play(act)
    error = Client(getattr(server, spoken)).fail()
    assert getattr(server, spoken) in str(error)
    assert error.usage.requests == len(server.received)


def test_a_server_that_is_not_there_is_an_error():
    """A refused connection is tried again and then said."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        spec = f"openai:small@http://127.0.0.1:{listener.getsockname()[1]}/v1"
    client = Client(spec)
    error = client.fail()
    assert spec in str(error)
    assert "start the server" in str(error)


def test_a_server_that_refuses_schemas_is_asked_in_words(server):
    """The schema then stands in the instructions alone, from the next call on for good."""
    server.play(failing(400, "This response_format type is unavailable"), answered(ANSWER))
    client = Client(server.openai)
    assert client.ask().usage.requests == 2
    assert client.ask().usage.requests == 1
    first, second, third = server.received
    assert "response_format" in first.body
    assert "response_format" not in second.body | third.body
    assert '"claims"' in second.system


def test_an_answer_cut_off_by_the_model_is_used_as_far_as_it_goes(server):
    """Whole claims of an answer that ran into the limit of tokens are kept."""
    server.play(said('{"name": "Ana", "claims": [{"text": "A"}, {"text": "B', finish="length"))
    assert Client(server.openai).ask().value == Answer("Ana", [Item("A")])


def test_a_refusal_is_an_error_at_once(server):
    """A model that declines is not begged."""
    server.play(said("", finish="content_filter"))
    error = Client(server.openai).fail()
    assert "refused" in str(error)
    assert len(server.received) == 1


def test_known_prices_are_counted(server, monkeypatch):
    """A public model has its list price; the sum of two calls is twice that of one."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    wrong = answered({"name": []}, tokens=(1_000_000, 100_000))
    server.play(wrong, answered(ANSWER, tokens=(1_000_000, 100_000)))
    reply = Client("anthropic:claude-haiku-4-5", api_key="k").ask()
    assert reply.usage.requests == 2
    assert reply.usage.cost == pytest.approx(2 * (1.0 + 0.5))


@each_row("name", ["gpt-4o", "small"])
def test_a_server_of_ones_own_has_no_price(server, name):
    """A model by URL costs what nobody knows, even under a well-known name."""
    server.play(answered(ANSWER))
    assert Client(f"openai:{name}@{server.url}/v1").ask().usage.cost is None


def test_a_model_serves_many_loops_and_tasks(server):
    """One model is asked in several event loops, and by several tasks at once."""
    server.play(answered(ANSWER))
    client = Client(server.openai)

    async def together():
        return await asyncio.gather(*(client.model.ask("i", str(n), Answer) for n in range(5)))

    replies = [*asyncio.run(together()), *asyncio.run(together())]
    assert [reply.value.name for reply in replies] == ["Ana"] * 10
    assert len(server.received) == 10
    gc.collect()  # A client left open would warn here, and warnings are errors.


def test_cancelling_ends_the_call(server):
    """A task that is cancelled while the model is silent ends as cancelled."""
    server.play(stalling)
    client = Client(server.openai)

    async def cancelled():
        task = asyncio.create_task(client.model.ask("i", "p", Answer))
        assert await asyncio.to_thread(server.arrived.wait, 20)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_a_server_by_url_gets_no_key_of_the_environment(server, monkeypatch):
    """Keys and accounts of the public providers go to nobody else."""
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "secret-key")
    monkeypatch.setenv("OPENAI_ORG_ID", "secret-org")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "secret-project")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret-token")
    server.play(answered(ANSWER))
    for spec in (server.openai, server.anthropic):
        asyncio.run(open_language_model(LLMSettings(), spec).ask("i", "p", Answer))
    assert len(server.received) == 2
    assert "secret" not in json.dumps([received.headers for received in server.received])

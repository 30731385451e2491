"""A language model over HTTP that is asked for a typed answer: what is sent, read, repaired."""

import asyncio
import gc
import json

import pytest
from model_server import answered, failing, said
from tables import each_row
from talking import FORMATS, Answer, Item, Talker

from memoranda.providers.opening import open_language_model
from memoranda.settings.sections import LLMSettings

ANSWER = {"name": "Ana", "claims": [{"text": "Ana moved.", "sure": 0.5}]}
READ = Answer("Ana", [Item("Ana moved.", 0.5)])


@each_row("spoken", FORMATS)
def test_an_answer_comes_back_as_its_type(server, spoken):
    """Both formats carry the instructions, the prompt and the schema, and bring a typed answer."""
    server.play(answered(ANSWER, tokens=(7, 9)))
    reply = Talker(getattr(server, spoken)).ask()
    assert reply.value == READ
    assert (reply.usage.requests, reply.usage.failures) == (1, 0)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 9)
    [received] = server.received
    assert received.system.startswith("Find the claims.")
    assert received.prompt == "Ana: I moved."
    structured = received.body.get("response_format") or received.body.get("output_config")
    assert all(f'"{word}"' in json.dumps(structured) for word in ("name", "claims", "text", "sure"))
    # A long answer of Anthropic's comes as a stream, of which the pieces are one.
    assert received.body.get("stream", False) is (spoken == "anthropic")


def test_a_model_that_takes_no_schema_is_asked_in_words(server):
    """Where it is known, or was said by the server once; then from the next call on for good."""
    server.play(answered(ANSWER))
    assert Talker(f"anthropic:claude-like@{server.url}").ask().value == READ
    [received] = server.received
    assert not received.body.get("output_config")
    assert '"required": ["name"]' in received.system
    server.play(failing(400, "This response_format type is unavailable"), answered(ANSWER))
    talker = Talker(server.openai)
    assert [talker.ask().usage.requests for _ in range(2)] == [2, 1]
    assert ["response_format" in each.body for each in server.received] == [True, False, False]
    assert '"claims"' in server.received[1].system


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
    assert Talker(server.openai).ask().value == READ
    assert len(server.received) == 1


@each_row("spoken", FORMATS)
def test_a_wrong_type_is_sent_back_once_with_what_is_wrong(server, spoken):
    """The second request says which field was wrong, and both calls are on the bill."""
    wrong = {"name": "Ana", "claims": [{"text": "Ana moved.", "sure": "very"}]}
    server.play(answered(wrong), answered(ANSWER))
    reply = Talker(getattr(server, spoken)).ask()
    assert reply.value == READ
    assert (reply.usage.requests, reply.usage.failures) == (2, 1)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (200, 40)
    told = json.dumps(server.received[1].body)
    assert "Input should be a valid number" in told
    assert "sure" in told


def test_after_one_repair_what_is_sound_is_kept(server):
    """One claim that stays wrong does not cost the others; without any the model is given up."""
    server.play(answered({"name": "Ana", "claims": [{"text": "A"}, {"sure": 1}, 7]}))
    assert Talker(server.openai).ask().value == Answer("Ana", [Item("A")])
    assert len(server.received) == 2
    server.play(said("I would rather not."))
    error = Talker(server.openai).fail("ask")
    assert "no answer that can be used, also when told what was wrong: answer: Input" in str(error)
    assert "Answer" not in str(error)  # No name of ours means anything to whoever reads it.
    assert (error.usage.requests, error.usage.failures, error.usage.input_tokens) == (2, 2, 200)
    server.play(said('{"name": "Ana", "claims": [{"text": "A"}, {"text": "B', finish="length"))
    reply = Talker(server.openai).ask()
    assert (reply.value, reply.complete) == (Answer("Ana", [Item("A")]), False)


def test_known_prices_are_counted(server, monkeypatch):
    """A public model has its list price, twice for two calls; one by URL has none."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    wrong = answered({"name": []}, tokens=(1_000_000, 100_000))
    server.play(wrong, answered(ANSWER, tokens=(1_000_000, 100_000)))
    reply = Talker("anthropic:claude-haiku-4-5", api_key="k").ask()
    assert reply.usage.requests == 2
    assert reply.usage.cost == pytest.approx(2 * (1.0 + 0.5))
    server.play(answered(ANSWER))
    assert Talker(f"openai:gpt-4o@{server.url}/v1").ask().usage.cost is None


def test_a_model_serves_many_loops_and_tasks(server):
    """One model is asked in several event loops, and by several tasks at once."""
    server.play(answered(ANSWER))
    model = Talker(server.openai).model

    async def together():
        return await asyncio.gather(*(model.ask("i", str(n), Answer) for n in range(5)))

    replies = [*asyncio.run(together()), *asyncio.run(together())]
    assert [reply.value for reply in replies] == [READ] * 10
    assert len(server.received) == 10
    gc.collect()  # A client left open would warn here, and warnings are errors.


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

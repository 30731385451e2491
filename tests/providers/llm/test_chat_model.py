"""A model that talks over HTTP: words as they come, calls, results, pictures, long talks."""

import json
from itertools import product

from model_server import Received, raw, talked
from tables import each_row
from talking import FORMATS, HELLO, LOOK, WORDS, Talker
from wire_shapes import wire_problems

from memoranda.model.chat import ToolSpec

TALKS = each_row(("spoken", "stream"), list(product(FORMATS, (False, True))))


def no_problems(server):
    """Return whether the provider takes each request that came."""
    return [wire_problems(received) for received in server.received] == [[]] * len(server.received)


@TALKS
def test_words_come_back(server, spoken, stream):
    """Any Unicode as it was said, with what it took; streamed, each piece is told once."""
    server.play(talked(WORDS, tokens=(7, 9)))
    talker = Talker(getattr(server, spoken))
    reply = talker.chat(stream=stream)
    assert (reply.text, reply.tool_calls) == (WORDS, ())
    assert (reply.usage.requests, reply.usage.failures) == (1, 0)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 9)
    assert "".join(talker.on_text) == (WORDS if stream else "")
    assert (len(talker.on_text) > 3) is stream
    [received] = server.received
    assert (received.system, received.prompt) == ("Be kind.", "Hello?")
    assert received.body.get("stream", False) is (stream or spoken == "anthropic")
    assert no_problems(server)


@TALKS
def test_a_reply_that_was_cut_off_says_so(server, spoken, stream):
    """Its words come as far as they go."""
    talker = Talker(getattr(server, spoken))
    for finish, complete in (("length", False), ("stop", True)):
        server.play(talked(WORDS, finish=finish))
        reply = talker.chat(stream=stream)
        assert (reply.text, reply.complete) == (WORDS, complete)


def test_half_a_character_is_replaced(server):
    """What no store can hold is not told either."""
    deltas = [{"content": text} for text in ("a", "b\x00", "\ud83d")]
    chunks = [{"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events = [json.dumps({"id": "1", "created": 1, "model": "m"} | chunk) for chunk in chunks]
    body = "".join(f"data: {event}\n\n" for event in events)
    server.play(raw(body.encode(), "text/event-stream"))
    talker = Talker(server.openai)
    assert talker.chat(stream=True).text == "ab\ufffd"
    assert talker.on_text == ["a", "b", "\ufffd"]


@TALKS
def test_calls_their_results_and_the_answer(server, spoken, stream):
    """The model calls, is told the results at once, and answers; both requests are in order."""
    calls = (("c1", "look", '{"q":  "Ana"}'), ("c2", "note", "{}"))
    tools = [LOOK, ToolSpec("note", "Notes.", {"type": "object"})]
    server.play(talked("I look.", *calls), talked("She is in Lisbon."))
    talker = Talker(getattr(server, spoken))
    reply = talker.chat(stream=stream, tools=tools)
    found = [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls]
    assert found == [("c1", "look", {"q": "Ana"}), ("c2", "note", {})]
    assert reply.text == "I look."
    answer = talker.chat([*HELLO, *exchange(reply, ["Lisbon", ""])], stream=stream, tools=tools)
    assert answer.text == "She is in Lisbon."
    assert no_problems(server)
    sent = json.dumps(server.received[1].body)
    assert sent.count('"call_1"') == sent.count('"call_2"') == 2
    assert "Lisbon" in sent
    named = [tool.get("function", tool)["name"] for tool in server.received[0].body["tools"]]
    assert named == ["look", "note"]


def exchange(reply, results):
    """Return a reply with calls and its results as messages."""
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in reply.tool_calls
    ]
    answers = [
        {"role": "tool", "tool_call_id": call.id, "content": text}
        for call, text in zip(reply.tool_calls, results, strict=True)
    ]
    return [{"role": "assistant", "content": reply.text, "tool_calls": calls}, *answers]


def test_arguments_are_what_the_model_wrote(server):
    """White space and broken JSON come back as they are: what is wrong with them is to be told."""
    calls = (("c1", "look", '{ "q":1,\n"q":2 }'), ("c2", "look", '{"q": oops'), ("c3", "look", ""))
    for spec, stream in ((server.openai, False), (server.openai, True), (server.anthropic, True)):
        server.play(talked("", *calls))
        reply = Talker(spec).chat(stream=stream, tools=[LOOK])
        wrote = [call.arguments for call in reply.tool_calls]
        assert wrote == [calls[0][2], calls[1][2], "{}"]


def test_the_check_of_shapes_is_able_to_fail():
    """What is out of order is found, in either format."""
    call = {"id": "a", "function": {"name": "x", "arguments": "{}"}}
    wrong = {
        "/v1/chat/completions": [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "system", "content": "x"},
            {"role": "user", "content": "x"},
            {"role": "user", "content": ""},
            {"role": "tool", "tool_call_id": "b", "content": "x"},
        ],
        "/v1/messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a b", "input": "x"}]},
            {"role": "user", "content": [{"type": "text", "text": " "}]},
        ],
    }
    for path, messages in wrong.items():
        received = Received(path, {}, {"messages": messages})
        assert len(wire_problems(received)) >= 4


def test_anthropic_is_told_what_to_keep_in_its_cache(server):
    """Tools, the system prompt, and the history up to the user's last message but the newest."""
    server.play(talked("I see.", tokens=(2_000, 9, 1_500, 300)))
    said = ["Hello?", "Where is Ana?", "And Bo?"]
    talk = [HELLO[0]]
    for text in said:
        talk += [{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}]
    for spoken in FORMATS:
        reply = Talker(getattr(server, spoken)).chat(talk[:-1], tools=[LOOK])
        usage = reply.usage
        assert (usage.input_tokens, usage.cached_tokens) == (2_000, 1_500)
        assert usage.written_tokens == (300 if spoken == "anthropic" else 0)
        body = server.received[-1].body
        marked = [
            part["text"]
            for message in body["messages"]
            for part in message["content"]
            if "cache_control" in part
        ]
        if spoken == "openai":
            assert "cache_control" not in json.dumps(body)
        else:
            assert marked == ["Where is Ana?"]
            assert "cache_control" in body["tools"][-1]
            assert "cache_control" in body["system"][-1]
    assert no_problems(server)


def test_what_costs_money_is_known():
    """A provider's own server and a model with a price; not a server here whose model has none."""
    costly = [
        "openai:gpt-4o",
        "openai:gpt-4o@http://localhost:4000/v1",
        "openai:x@https://api.x.io",
    ]
    free = ["openai:qwen3:8b@http://localhost:11434/v1", "openai:x@http://192.168.1.7:8000/v1"]
    assert [Talker(spec).model.costs_money for spec in costly + free] == [True] * 3 + [False] * 2

"""A model that talks over HTTP: words as they come, calls, results, pictures, long talks."""

import json
from itertools import product

from model_server import Received, raw, talked, trickling
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
def test_bytes_that_trickle_are_read_to_the_end(server, spoken, stream):
    """Characters that come byte by byte are whole when told."""
    server.play(trickling(talked(WORDS, ("c1", "look", '{"q": "ü😀"}'))))
    reply = Talker(getattr(server, spoken)).chat(stream=stream, tools=[LOOK])
    assert reply.text == WORDS
    assert json.loads(reply.tool_calls[0].arguments) == {"q": "ü😀"}


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
def test_a_call_its_result_and_the_answer(server, spoken, stream):
    """The model calls, is told the result, and answers; both requests are in order."""
    server.play(talked("I look.", ("c1", "look", '{"q":  "Ana"}')), talked("She is in Lisbon."))
    talker = Talker(getattr(server, spoken))
    reply = talker.chat(stream=stream, tools=[LOOK])
    [call] = reply.tool_calls
    assert (call.id, call.name, json.loads(call.arguments)) == ("c1", "look", {"q": "Ana"})
    assert reply.text == "I look."
    answer = talker.chat([*HELLO, *exchange(reply, ["Lisbon"])], stream=stream, tools=[LOOK])
    assert answer.text == "She is in Lisbon."
    assert no_problems(server)
    sent = json.dumps(server.received[1].body)
    assert sent.count('"call_1"') == 2
    assert "Lisbon" in sent
    assert [tool_name(tool) for tool in server.received[0].body["tools"]] == ["look"]


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


def tool_name(tool):
    """Return the name of a tool in either format."""
    return tool.get("function", tool)["name"]


@TALKS
def test_parallel_calls_come_in_order(server, spoken, stream):
    """Two calls of one reply stay two, and both results go back at once."""
    calls = (("c1", "look", '{"q": 1}'), ("c2", "note", "{}"))
    server.play(talked("", *calls), talked("Done."))
    talker = Talker(getattr(server, spoken))
    reply = talker.chat(stream=stream, tools=[LOOK, ToolSpec("note", "Notes.", {"type": "object"})])
    assert [(c.id, c.name) for c in reply.tool_calls] == [("c1", "look"), ("c2", "note")]
    assert [json.loads(c.arguments) for c in reply.tool_calls] == [{"q": 1}, {}]
    assert talker.on_text == []
    talker.chat([*HELLO, *exchange(reply, ["1", ""])])
    assert no_problems(server)


def test_arguments_are_what_the_model_wrote(server):
    """White space and broken JSON come back as they are: what is wrong with them is to be told."""
    calls = (("c1", "look", '{ "q":1,\n"q":2 }'), ("c2", "look", '{"q": oops'), ("c3", "look", ""))
    for spec, stream in ((server.openai, False), (server.openai, True), (server.anthropic, True)):
        server.play(talked("", *calls))
        reply = Talker(spec).chat(stream=stream, tools=[LOOK])
        wrote = [call.arguments for call in reply.tool_calls]
        assert wrote == [calls[0][2], calls[1][2], "{}"]


@each_row("spoken", FORMATS)
def test_broken_arguments_of_the_past_are_sent_as_an_object(server, spoken):
    """A call that was no JSON does not block the talk, and its text stays readable."""
    call = {"id": "c 1", "function": {"name": "look", "arguments": '{"q": oops'}}
    messages = [
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c 1", "content": "no JSON", "is_error": True},
    ]
    server.play(talked("Sorry."))
    Talker(getattr(server, spoken)).chat(messages)
    assert no_problems(server)
    sent = json.dumps(server.received[0].body)
    assert "oops" in sent
    assert "no JSON" in sent
    assert "error" in sent


@TALKS
def test_a_long_talk_is_in_order(server, spoken, stream):
    """Hundreds of messages with results, notes, errors and repeated ids are taken as they are."""
    messages = [{"role": "system", "content": "S"}]
    for turn in range(60):
        calls = [
            {"id": f"call_{n}", "function": {"name": "look", "arguments": json.dumps({"n": turn})}}
            for n in range(turn % 3)
        ]
        messages += [{"role": "user", "content": f"question {turn}"}]
        if calls:
            messages += [{"role": "assistant", "content": "", "tool_calls": calls}]
            messages += [
                {"role": "tool", "tool_call_id": c["id"], "content": f"result {turn}"}
                for c in calls
            ]
        if turn % 5 == 0:
            messages += [{"role": "system", "content": f"[note {turn}]"}]
        if turn % 7:
            messages += [{"role": "assistant", "content": f"answer {turn}"}]
    messages += [{"role": "user", "content": "So?"}]
    server.play(talked("ok"))
    assert Talker(getattr(server, spoken)).chat(messages, stream=stream).text == "ok"
    assert no_problems(server)
    sent = json.dumps(server.received[0].body)
    for turn in range(60):
        assert f"question {turn}" in sent
        assert sent.count(f'"result {turn}"') == turn % 3
    assert "[note 55]" in sent


@each_row("spoken", FORMATS)
def test_pictures_are_sent(server, spoken):
    """A picture goes as its bytes or as its place, beside the words."""
    pixel = "data:image/png;base64,cGl4ZWw="
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": pixel, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://h/picture"}},
    ]
    server.play(talked("A pixel."))
    Talker(getattr(server, spoken)).chat([{"role": "user", "content": parts}])
    [sent] = server.received[0].body["messages"]
    if spoken == "openai":
        assert sent["content"] == parts
        return
    text, inline, linked = sent["content"]
    assert text["text"] == "What is this?"
    assert inline["source"] == {"type": "base64", "media_type": "image/png", "data": "cGl4ZWw="}
    assert linked["source"] == {"type": "url", "url": "https://h/picture"}


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

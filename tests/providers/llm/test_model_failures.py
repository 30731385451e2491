"""When something goes wrong: busy, silent, cut off, refused, cancelled; whether asked or talked to.

Each law holds for both formats and for each way to call a model.
"""

import asyncio
import gc
from itertools import product
from threading import Semaphore

import pytest
from model_server import (
    answered,
    cut_off,
    failing,
    raw,
    refused,
    said,
    stalling,
    stepping,
    stopping,
    talked,
)
from tables import each_row
from talking import FORMATS, HELLO, LOOK, WAYS, WORDS, Answer, Talker

EVERY_WAY = each_row(("spoken", "way"), list(product(FORMATS, WAYS)))
TALKS = each_row(("spoken", "way"), list(product(FORMATS, WAYS[1:])))
EACH_FORMAT = each_row("spoken", FORMATS)
ANSWER = {"name": "Ana"}
SOON = {"Retry_After": "0.01"}
KEY = "sk-very-secret-0123456789"


@EVERY_WAY
def test_a_busy_server_is_asked_again_when_it_says(server, spoken, way):
    """Too many requests and faults of the server are tried again, after what it names."""
    for status in (408, 429, 500, 503, 529) if way == "ask" else (429,):
        server.play(failing(status, **SOON), failing(status, **SOON), answered(ANSWER))
        Talker(getattr(server, spoken)).call(way)
        assert len(server.received) == 3, status


@EVERY_WAY
def test_retries_end(server, spoken, way):
    """A server that stays busy is an error that names model, status, words and remedy."""
    server.play(failing(429, "slow down", **SOON))
    error = Talker(getattr(server, spoken), retries=1).fail(way)
    assert len(server.received) == 2
    for part in ("429", "slow down", "wait"):
        assert part in str(error)
    assert (error.usage.requests, error.usage.failures) == (1, 1)


@EACH_FORMAT
def test_the_time_out_holds_for_all_retries_together(server, spoken):
    """A server that wants to be asked much later is an error when the time-out is over."""
    server.play(failing(429, Retry_After="60"))
    error = Talker(getattr(server, spoken), timeout=0.5).fail("ask")
    assert len(server.received) == 1
    assert "llm.timeout" in str(error)
    assert 0.5 <= error.usage.seconds < 20


@EVERY_WAY
def test_a_refused_request_is_not_made_again_and_shows_no_key(server, spoken, way):
    """What the server says is wrong stays wrong: one call, no wait, and a remedy."""
    talker = Talker(getattr(server, spoken), api_key=KEY)
    for status, remedy in ((401, "api_key"), (403, "api_key"), (404, "name")):
        server.play(failing(status, f"the server's own words on {KEY}"))
        error = talker.fail(way)
        assert KEY in server.received[0].headers["authorization"]
        assert len(server.received) == 1
        for part in (str(status), "the server's own words", remedy):
            assert part in str(error)
        shown = f"{error}{error!r}{talker.model!r}{talker.model.name}{talker.model._to!r}"
        assert KEY not in shown


@EVERY_WAY
def test_silence_ends_a_call(server, spoken, way):
    """The error says how long was waited and which setting to raise."""
    server.play(stalling)
    error = Talker(getattr(server, spoken), timeout=0.2, retries=0).fail(way)
    for part in ("0.2 s", "llm.timeout"):
        assert part in str(error)
    assert error.usage.requests == 1


@EACH_FORMAT
def test_silence_after_words_ends_a_call(server, spoken):
    """The server that stops in the middle is waited for as long as the time-out, and left."""
    server.play(stopping("I was about to", "silent"))
    error = Talker(getattr(server, spoken), timeout=0.5).fail("stream")
    assert "0.5 s" in str(error)
    assert len(server.received) == 1
    assert server.left.wait(20)


@EACH_FORMAT
def test_a_stream_may_take_longer_than_the_time_out(server, spoken):
    """While pieces come, time does not run out: it is the silence that counts."""
    steps = Semaphore(3)
    server.play(stepping(WORDS * 4, steps))

    async def slowly():
        loop = asyncio.get_running_loop()
        clock, passed = loop.time, [0.0]
        loop.time = lambda: clock() + sum(passed)

        def on_text(_):
            passed.append(15.0)
            for _ in range(3):
                steps.release()

        model = Talker(getattr(server, spoken), retries=0).model
        reply = await model.chat(HELLO, on_text=on_text)
        return reply.text, sum(passed)

    text, seconds = asyncio.run(slowly())
    assert text == WORDS * 4
    assert seconds > 100


@each_row(("spoken", "how"), list(product(FORMATS, ("cut", "ended", "error"))))
def test_after_words_nothing_is_tried_again(server, spoken, how):
    """A stream that breaks off is an error: what was told is neither repeated nor a reply."""
    server.play(stopping("I was about to", how), talked("never asked for"))
    talker = Talker(getattr(server, spoken))
    error = talker.fail("stream")
    assert "".join(talker.on_text) == "I was about to"
    assert len(server.received) == 1
    assert (error.usage.requests, error.usage.failures) == (1, 1)


@EACH_FORMAT
def test_a_body_that_breaks_off_gives_no_half_answer(server, spoken):
    """A connection lost in the middle of an answer is tried again, or an error where it streams."""
    server.play(cut_off, answered(ANSWER))
    talker = Talker(getattr(server, spoken))
    if spoken == "openai":
        assert talker.ask().value.name == "Ana"
    else:
        talker.fail("ask")


@EVERY_WAY
def test_what_is_no_reply_is_an_error_of_ours(server, spoken, way):
    """Whatever a server sends, only an LLMError leaves, and it names the model."""
    bodies = [b"<html>Gateway</html>", b'{"id": "1", "obj', b"{}", b"[]", b"null", b"\xff\xfe", b""]
    bodies += [b'{"choices": []}', b'{"choices": [{"index": 0, "message": 5}]}']
    kind = "application/json"
    if way != "ask":
        bodies += [b"data: {}\n\n", b"data: nonsense\n\n"]
        kind = "text/event-stream"
    for body in bodies:
        server.play(raw(body, kind))
        error = Talker(getattr(server, spoken)).fail(way)
        assert error.usage.requests == len(server.received), body


def test_a_server_that_is_not_there_is_an_error(unused_url):
    """A refused connection is tried again and then said."""
    for way in WAYS:
        assert "start the server" in str(
            Talker(f"openai:small@{unused_url}/v1", retries=1).fail(way)
        )


@TALKS
def test_what_the_limit_cuts_off_is_an_error(server, spoken, way):
    """Half a call is never made, and a reply that ended before its first word is none."""
    spec = getattr(server, spoken)
    server.play(talked("I look.", ("c1", "look", '{"q": "An'), finish="length"))
    error = Talker(spec).fail(way, tools=[LOOK])
    assert "cut off" in str(error)
    assert "look" in str(error)
    assert (error.usage.requests, error.usage.failures, error.usage.output_tokens) == (1, 1, 20)
    server.play(talked("", finish="length"))
    assert "cut off" in str(Talker(spec).fail(way))
    # Arguments that are a whole object were not cut.
    server.play(talked("", ("c1", "look", '{"q": 1}'), finish="length"))
    if way == "stream":
        assert len(Talker(spec).chat(stream=True, tools=[LOOK]).tool_calls) == 1


@EVERY_WAY
def test_a_refusal_without_words_is_an_error_at_once(server, spoken, way):
    """A model that declines is not begged."""
    server.play(said("", finish="content_filter"))
    assert "refused" in str(Talker(getattr(server, spoken)).fail(way))
    assert len(server.received) == 1


@each_row("stream", [False, True])
def test_a_refusal_in_words_is_the_reply(server, stream):
    """What it says is what it says, and calls of a refusal are not made; or it is in the error."""
    server.play(refused("I would rather not."))
    error = Talker(server.openai).fail("stream" if stream else "chat")
    assert "refused to answer: I would rather not." in str(error)
    server.play(talked("I stop.", ("c1", "look", "{}"), finish="content_filter"))
    reply = Talker(server.anthropic).chat(stream=stream, tools=[LOOK])
    assert (reply.text, reply.tool_calls) == ("I stop.", ())


@TALKS
def test_a_model_may_say_nothing(server, spoken, way):
    """An empty reply that ends by itself is a reply."""
    server.play(talked(""))
    reply = Talker(getattr(server, spoken)).call(way)
    assert (reply.text, reply.tool_calls) == ("", ())


@pytest.mark.parametrize(("spoken", "way"), list(product(FORMATS, WAYS)))  # A server for each.
def test_cancelling_closes_the_connection(server, spoken, way):
    """A task that is cancelled, while the model is silent or speaks, ends so, and hangs up."""
    server.play(stopping(WORDS, "silent"))

    async def cancelled():
        model, heard = Talker(getattr(server, spoken)).model, asyncio.Event()
        if way == "ask":
            call = model.ask("i", "p", Answer)
        else:
            on_text = None if way == "chat" else lambda _: heard.set()
            call = model.chat(HELLO, on_text=on_text)
        task = asyncio.create_task(call)
        assert await asyncio.to_thread(server.arrived.wait, 60)  # The SDK may be loaded first.
        if way == "stream":  # A piece is told while the server still holds the rest back.
            await asyncio.wait_for(heard.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.left.wait, 20)

    asyncio.run(cancelled())
    gc.collect()  # What was left open would warn here, and warnings are errors.


@EACH_FORMAT
def test_what_the_listener_raises_comes_out(server, spoken):
    """A fault of the caller's own is no fault of the model, and nothing is tried again."""
    server.play(talked(WORDS))

    def on_text(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(Talker(getattr(server, spoken)).model.chat(HELLO, on_text=on_text))
    assert len(server.received) == 1
    gc.collect()

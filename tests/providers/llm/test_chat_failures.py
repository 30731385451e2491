"""A model that talks, when something goes wrong: busy, silent, cut off, refused, cancelled."""

import asyncio
import gc
from threading import Semaphore

import pytest
from model_server import failing, raw, refused, said, stalling, stepping, stopping, talked
from tables import each_row
from talking import HELLO, LOOK, WORDS, Talker


def test_a_busy_server_is_asked_again_when_it_says(server, spec, stream):
    """Retry-After is the wait."""
    server.play(failing(429, Retry_After="0.01"), talked("ok"))
    talker = Talker(spec)
    reply = talker.chat(stream=stream)
    assert (reply.text, "".join(talker.on_text)) == ("ok", "ok" if stream else "")
    assert len(server.received) == 2


@each_row("how", ["cut", "ended", "error"])
def test_after_words_nothing_is_tried_again(server, spec, how):
    """A stream that breaks off is an error: what was told is neither repeated nor a reply."""
    server.play(stopping("I was about to", how), talked("never asked for"))
    talker = Talker(spec)
    error = talker.fail(stream=True)
    assert "".join(talker.on_text) == "I was about to"
    assert len(server.received) == 1
    assert spec in str(error)
    assert (error.usage.requests, error.usage.failures) == (1, 1)


def test_silence_ends_a_call(server, spec, stream):
    """A server that says nothing at all runs into the time-out."""
    server.play(stalling)
    error = Talker(spec, timeout=0.2).fail(stream=stream)
    for part in (spec, "0.2 s", "llm.timeout"):
        assert part in str(error)
    assert error.usage.requests == 1


def test_silence_after_words_ends_a_call(server, spec):
    """The server that stops in the middle is waited for as long as the time-out, and left."""
    server.play(stopping("I was about to", "silent"))
    talker = Talker(spec, timeout=2)
    error = talker.fail(stream=True)
    assert "2 s" in str(error)
    assert len(server.received) == 1
    assert server.left.wait(20)


def test_a_stream_may_take_longer_than_the_time_out(server, spec):
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

        reply = await Talker(spec, timeout=20.0, retries=0).model.chat(HELLO, on_text=on_text)
        return reply.text, sum(passed)

    text, seconds = asyncio.run(slowly())
    assert text == WORDS * 4
    assert seconds > 100


def test_cancelling_closes_the_connection(server, spec):
    """A task that is cancelled in the middle of a reply leaves the server."""
    server.play(stopping(WORDS, "silent"))

    async def cancelled():
        heard = asyncio.Event()
        talker = Talker(spec)
        task = asyncio.create_task(talker.model.chat(HELLO, on_text=lambda _: heard.set()))
        await asyncio.wait_for(heard.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.left.wait, 20)

    asyncio.run(cancelled())
    gc.collect()  # What was left open would warn here, and warnings are errors.


def test_what_the_listener_raises_comes_out(server, spec):
    """A fault of the caller's own is no fault of the model, and nothing is tried again."""
    server.play(talked(WORDS))

    def on_text(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(Talker(spec).model.chat(HELLO, on_text=on_text))
    assert len(server.received) == 1
    gc.collect()


def test_a_call_cut_off_by_the_limit_is_an_error(server, spec, stream):
    """Half a call is never made."""
    server.play(talked("I look.", ("c1", "look", '{"q": "An'), finish="length"))
    error = Talker(spec).fail(stream=stream, tools=[LOOK])
    assert "cut off" in str(error)
    assert "look" in str(error)
    assert (error.usage.requests, error.usage.failures, error.usage.output_tokens) == (1, 1, 20)


def test_a_whole_call_before_the_limit_is_kept(server, spec):
    """Arguments that are a whole object were not cut."""
    server.play(talked("", ("c1", "look", '{"q": 1}'), finish="length"))
    assert len(Talker(spec).chat(stream=True, tools=[LOOK]).tool_calls) == 1


def test_nothing_but_the_limit_is_an_error(server, spec, stream):
    """A reply that ended before its first word is no reply."""
    server.play(talked("", finish="length"))
    assert "cut off" in str(Talker(spec).fail(stream=stream))


def test_a_refusal_without_words_is_an_error_at_once(server, spec, stream):
    """A model that declines is not begged."""
    server.play(said("", finish="content_filter"))
    assert "refused" in str(Talker(spec).fail(stream=stream))
    assert len(server.received) == 1


def test_a_refusal_in_words_is_the_reply(server, stream):
    """What the model says instead is what it says, and calls of a refusal are not made."""
    server.play(refused("I would rather not."))
    talker = Talker(server.openai)
    assert talker.chat(stream=stream).text == "I would rather not."
    assert "".join(talker.on_text) == ("I would rather not." if stream else "")
    server.play(talked("I stop.", ("c1", "look", "{}"), finish="content_filter"))
    reply = Talker(server.anthropic).chat(stream=stream, tools=[LOOK])
    assert (reply.text, reply.tool_calls) == ("I stop.", ())


def test_a_model_may_say_nothing(server, spec, stream):
    """An empty reply that ends by itself is a reply."""
    server.play(talked(""))
    reply = Talker(spec).chat(stream=stream)
    assert (reply.text, reply.tool_calls) == ("", ())


@each_row("body", [b"<html>Gateway</html>", b"data: {}\n\n", b"data: nonsense\n\n", b"", b"null"])
def test_what_is_no_reply_is_an_error_of_ours(server, spec, stream, body):
    """Whatever a server sends, only an LLMError leaves, and it names the model."""
    server.play(raw(body, "text/event-stream"))
    error = Talker(spec).fail(stream=stream)
    assert spec in str(error)
    assert error.usage.requests == len(server.received)

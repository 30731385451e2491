"""Learning with a language model: its facts, what it costs, and what happens when it fails."""

import json
from threading import Thread

import pytest
from learning_talks import PATIENCE, by_hand, contents, fact, remembering, talk
from model_server import answered, said
from noting import Gate

from memoranda import Settings, services
from memoranda.errors import ConfigError, LLMError, UnusableAnswer
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.notes.model_summarizer import Consolidation
from memoranda.testing.models import ONE_CALL, ScriptedLLM

PORTO = ClaimAnswer("The user lives in Porto, near the river.", ["t1"], confidence=0.9)
SAID = "I live in Porto, near the river."


def with_model(model, location=":memory:", **settings):
    """Return Ana's memory with a model."""
    return remembering(location, llm=model, settings=by_hand(**settings))


def test_facts_are_the_models():
    """With a model its claims become facts, with their sources; rules read nothing."""
    model = ScriptedLLM([ClaimsAnswer([PORTO])])
    with with_model(model) as memory:
        talk(memory, "s", SAID, "I have a dog named Rex.")
        report = memory.consolidate()
        assert contents(memory) == [PORTO.content]
        (source,) = fact(memory, "Porto").source_ids
        assert memory.get(source).content == SAID
        assert report.counts["sessions"] == 1
        assert SAID in model.asked[0].prompt


def test_what_is_used_is_written_down_by_stage():
    """``stats`` tells calls, tokens and cost of each stage; also of calls that failed."""
    model = ScriptedLLM([ClaimsAnswer([PORTO]), LLMError("busy"), ClaimsAnswer([])], name="small")
    with with_model(model) as memory:
        for name in ("one", "two"):
            talk(memory, name, SAID)
        memory.consolidate()
        memory.consolidate()
        (used,) = memory.stats().usage
        assert (used.stage, used.model, memory.stats().llm) == ("consolidate", "small", "small")
        assert (used.usage.requests, used.usage.failures) == (3, 1)
        assert used.usage.input_tokens == 3 * ONE_CALL.input_tokens
        assert used.usage.cost == pytest.approx(3 * ONE_CALL.cost)
        assert memory.usage() == [used]


def test_what_memory_told_is_not_shown_to_the_model():
    """Recalled blocks are taken out of what a model draws facts from; earlier turns explain it.

    No claim rests on the turns before a page alone.
    """
    only = ClaimsAnswer([ClaimAnswer("The user lives in Porto.", ["b1"])])
    model = ScriptedLLM([ClaimsAnswer([]), only, ClaimsAnswer([])])
    with with_model(model) as memory:
        chat = talk(memory, "s", SAID)
        memory.consolidate()
        chat.add("user", "And I like the trams here.")
        memory.consolidate()
        assert SAID in model.asked[1].prompt
        assert not any("Porto" in each for each in contents(memory))
        memory.remember("Ana lives in Delft.")
        block = memory.recall("Where does Ana live?").text
        assert "Delft" in block
        talk(memory, "t", f"{block} What is new?")
        memory.consolidate()
        assert "What is new?" in model.asked[2].prompt
        assert "Delft" not in model.asked[2].prompt


def test_a_model_that_fails_loses_nothing():
    """The session waits, the report says why, and the next run learns it once."""
    model = ScriptedLLM([LLMError("overloaded"), ClaimsAnswer([PORTO])])
    with with_model(model) as memory:
        talk(memory, "s", SAID)
        report = memory.consolidate()
        assert (report.count, dict(report.failed)) == (0, {"s": "overloaded"})
        assert str(report) == "consolidate: nothing to do; 1 failed"
        assert [item.id for item in memory.sessions(pending=True)] == ["s"]
        assert memory.consolidate().count == 1
        assert memory.consolidate().count == 0
        assert contents(memory) == [PORTO.content]


def test_a_model_that_fails_on_the_second_page_loses_no_page():
    """Pages that were learned stay so; the model is not asked about them again."""
    model = ScriptedLLM([ClaimsAnswer([PORTO]), LLMError("busy"), ClaimsAnswer([])])
    with with_model(model) as memory:
        talk(memory, "s", SAID, *["Hm, that is so."] * 40)
        assert memory.consolidate().failed
        assert contents(memory) == [PORTO.content]
        assert not memory.consolidate().failed
        assert len(model.asked) == 3


# What a model of 135 million parameters answers, until its limit of tokens ends it.
REPEATING = '{"claims": [{"content": "Hi Ana!", "sources": ["the user"' + ', "the speaker"' * 40


def test_what_a_model_has_no_usable_answer_to_is_read_by_rules(server):
    """It is asked twice and would answer so again; no session waits, nor one behind it."""
    server.play(said(REPEATING, finish="length"))
    chosen = by_hand(llm={"model": server.openai, "timeout": PATIENCE})
    with remembering(settings=chosen) as memory:
        talk(memory, "one", SAID)
        talk(memory, "two", "I have a dog named Rex.")
        report = memory.consolidate()
        assert (dict(report.failed), memory.sessions(pending=True)) == ({}, [])
        assert contents(memory) == ["The user lives in Porto.", "The user's dog is called Rex."]
        assert [each.usage.failures for each in memory.usage()] == [4]
        assert len(server.received) == 4


def test_a_page_of_which_a_model_understood_nothing_is_read_by_rules():
    """Where none of its claims was said, the rules read; an empty list is an answer."""
    invented = ClaimAnswer("You probably have gastritis.", ["http://example.com/test"])
    for answer, learned in (([invented], ["The user lives in Porto."]), ([], [])):
        with with_model(ScriptedLLM([ClaimsAnswer(answer)])) as memory:
            talk(memory, "s", SAID)
            assert not memory.consolidate().failed
            assert contents(memory) == learned


def test_a_model_that_alone_may_read_keeps_no_session_behind_another():
    """``extractor = llm``: what it has no usable answer to waits, and the next session is read."""
    answers = [UnusableAnswer("a loop"), ClaimsAnswer([PORTO])]
    chosen = {"consolidation": {"extractor": "llm"}}
    with with_model(ScriptedLLM(answers), **chosen) as memory:
        talk(memory, "one", "I have a dog named Rex.")
        talk(memory, "two", SAID)
        assert memory.consolidate().failed == {"one": "a loop"}
        assert [info.id for info in memory.sessions(pending=True)] == ["one"]
        assert contents(memory) == [PORTO.content]


def test_rules_where_they_are_chosen():
    """``consolidation.extractor = rules``: the model is not asked; ``llm`` without one fails.

    The report says what to set, and a wrong name is told when the memory is opened.
    """
    model = ScriptedLLM()
    with with_model(model, consolidation={"extractor": "rules"}) as memory:
        talk(memory, "s", "I live in Porto.")
        assert memory.consolidate().count == 1
        assert model.asked == []
    with with_model(None, consolidation={"extractor": "llm"}) as memory:
        talk(memory, "s", "I live in Porto.")
        assert "set llm.model" in memory.consolidate().failed["s"]
        assert memory.sessions(pending=True)
    with pytest.raises(ConfigError):
        remembering(settings=by_hand(llm={"model": "nobody:knows"}))


def test_a_claim_that_says_more_than_a_known_value_is_no_repetition():
    """Of the same value a second sentence is kept for what else it tells; said again it credits."""
    moved = "The user's brother Tom moved to Faro in May 2024."
    lives = "The user's brother Tom lives in Faro with his wife Ines and two kids."
    script = [ClaimsAnswer([ClaimAnswer(each, ["t1"])]) for each in (moved, lives, lives)]
    with with_model(ScriptedLLM(script)) as memory:
        talk(memory, "one", "My brother Tom moved to Faro in May 2024.")
        for name in ("two", "three"):
            memory.consolidate()
            talk(memory, name, "My brother Tom lives in Faro with his wife Ines and two kids.")
        memory.consolidate()
        assert contents(memory) == sorted([moved, lives])
        assert fact(memory, "moved").superseded_by is None
        assert len(fact(memory, "Ines").source_ids) == 2


def test_end_returns_while_the_model_stalls():
    """``end`` waits for ``consolidation.timeout`` at most; the facts come when they come."""
    model = Gate(ScriptedLLM([ClaimsAnswer([PORTO])]))
    chosen = Settings(timezone="UTC", consolidation={"timeout": 0.05})
    with remembering(llm=model, settings=chosen) as memory:
        talk(memory, "s", SAID).end()
        assert model.asked.wait(PATIENCE)
        assert contents(memory) == []
        assert [item.id for item in memory.sessions(pending=True)] == ["s"]
        model.go.set()
        assert memory._services.consolidation.wait(PATIENCE)
        assert contents(memory) == [PORTO.content]


def test_closing_does_not_wait_for_a_model_that_stalls(tmp_path, monkeypatch):
    """What was asked is given up, the session waits in the file, and the next run learns it."""
    monkeypatch.setattr(services, "LAST_MOMENTS", 0.5)
    path = tmp_path / "memory.db"
    model = Gate(ScriptedLLM([ClaimsAnswer([PORTO])]))
    chosen = Settings(timezone="UTC", consolidation={"timeout": 0.05})
    memory = remembering(path, llm=model, settings=chosen)
    talk(memory, "s", SAID).end()
    assert model.asked.wait(PATIENCE)
    closer = Thread(target=memory.close)
    closer.start()
    closer.join(PATIENCE / 2)
    stuck = closer.is_alive()
    model.go.set()
    closer.join(PATIENCE)
    assert not stuck
    script = ScriptedLLM({ClaimsAnswer: [ClaimsAnswer([PORTO])], Consolidation: Consolidation("")})
    with with_model(script, path) as again:
        assert [item.id for item in again.sessions(pending=True)] == ["s"]
        assert again.consolidate().count == 1
        assert again.verify() == []


def drawn(*claims):
    """Return the answer of a server that draws these claims."""
    return answered({"claims": [{"content": text, "sources": ["t1"]} for text in claims]})


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_real_server(server, form):
    """Over HTTP, in both wire formats: its facts, and its tokens in the figures."""
    server.play(drawn(PORTO.content))
    chosen = by_hand(llm={"model": getattr(server, form), "api_key": "k", "timeout": PATIENCE})
    with remembering(settings=chosen) as memory:
        talk(memory, "s", SAID)
        assert memory.consolidate().count == 1
        assert contents(memory) == [PORTO.content]
        (used,) = memory.stats().usage
        tokens = (used.usage.requests, used.usage.input_tokens, used.usage.output_tokens)
        assert tokens == (1, 100, 20)
        path = "/chat/completions" if form == "openai" else "/messages"
        assert server.received[0].path.endswith(path)
        assert SAID in json.dumps(server.received[0].body)
        assert "k" not in memory.stats().llm.split("@")[0].split(":")

"""What an erasure takes along beyond the records that are named: whatever says the same."""

import json
from contextlib import closing

import pytest
from analyzers import PlainNames, WordAnalyzer
from samples import ALL, BEN, LATER, User, whole_repr
from tables import each_row

from memoranda.model.models import Kind, ToolCall
from memoranda.records.erasing import Eraser
from memoranda.store.sqlite import SqliteStore
from memoranda.testing.clocks import FrozenClock

LIE = "the secret lies under the old floor"


@pytest.fixture
def ana():
    """A user of a database in memory."""
    with closing(SqliteStore(":memory:", analyzer=WordAnalyzer(), names=PlainNames())) as store:
        yield User(store)


def erasing_of(user):
    """Return what erases the records of a user, who has no files, with all their copies."""
    return Eraser(
        scope=user.scope,
        store=user.store,
        clock=FrozenClock(LATER),
        erase_history=lambda *_: 0,
        erase_lines=lambda *_: 0,
        wipe=lambda: None,
        count_tokens=lambda *_: 7,
    )


def test_copies_are_found(ana):
    """What the agent repeats goes whole, what was said or kept on its own is only listed."""
    notes, ben = erasing_of(ana), User(ana.store, BEN)
    (turn,), (again,) = ana.turns("s", LIE), ana.turns("t", f"{LIE.upper()}!")
    (own,) = ana.remember(f"Note: {LIE}")
    (learned,) = ana.remember(LIE, source_ids=(turn.id,), origin="consolidation")
    (item,) = ana.remember(LIE, kind=Kind.ITEM, namespace=("app",), key="k")
    ben.remember(LIE)
    for user in (ana, ben):
        user.open_conversation("u", system=f"Know that {LIE}.")
        user.say("u", f"As you said:\n- {LIE.title()}", role="assistant")
        user.say("u", "yes", LIE, f"- [2026-03-01 12:00, user] {LIE}")
    receipt = notes.erase([turn.id])
    assert receipt.derived == (learned.id,)
    assert set(receipt.independent) == {again.id, own.id, item.id, ana.messages("u")[2].id}
    assert ana.conversations("u")["u"].system == "[erased]"
    told = ["[erased]", "yes", LIE, "[erased]"]
    assert [each.content for each in ana.messages("u")] == told
    assert ben.conversations("u")["u"].system == f"Know that {LIE}."
    assert LIE in whole_repr(ben.messages("u"))
    # Who names the fact means it wherever it was said, but not what stands on its own.
    (fact,) = ana.remember(LIE)
    receipt = notes.erase([fact.id])
    assert (receipt.copies, set(receipt.independent)) == ((again.id,), {own.id, item.id})
    assert ana.page() == [own.content]
    assert [each.content for each in ana.messages("u")][2] == "[erased]"
    ana.store.purge()
    assert ana.store.verify() == []


def test_an_insight_takes_along_nothing_that_it_quotes(ana):
    """What rests on the erased fact goes; other facts whose words it repeats stay."""
    (gone, other) = ana.remember(LIE, "Zoe drinks tea with Dan every day")
    (again,) = ana.remember(other.content, source_ids=("ep_1",), origin="consolidation")
    text = f"This week: {other.content}. {LIE}."
    (week,) = ana.remember(
        text, kind=Kind.REFLECTION, source_ids=(gone.id, other.id), origin="reflection"
    )
    ana.open_conversation("u")
    ana.say("u", f"{other.content}.", f"In short: {text}", role="assistant")
    receipt = erasing_of(ana).erase([gone.id])
    assert (receipt.derived, receipt.copies, receipt.independent) == ((week.id,), (), ())
    assert ana.records(ALL) == [other, again]
    told = [f"{other.content}.", "[erased]"]
    assert [each.content for each in ana.messages("u")] == told


def test_all_that_is_stored_of_a_text_is_read(ana):
    """Five words in a row are found in tags, metadata, arguments, and JSON with escapes."""
    text = "Zoë keeps the key under the pot"
    (turn,) = ana.turns("s", text)
    inner = json.dumps({"note": f"so zoë keeps the\nkey {chr(34)}under"})
    said = [{"tags": ("keeps the key under the",)}, {"metadata": {"a": {"b": [text.upper()]}}}]
    kept = [
        ana.turns(f"t{at}", "x", source_role="assistant", **each)[0] for at, each in enumerate(said)
    ]
    ana.open_conversation("u")
    calls = [inner, json.dumps({"arguments": inner}), '{"broken": "zoe keeps the key under']
    for each in calls:
        ana.say("u", "", role="assistant", tool_calls=(ToolCall("c", "keep", each),))
    ana.say(
        "u",
        "",
        role="assistant",
        raw={"content": [{"input": {"Keeps the key: under": 1, "x": text}}]},
    )
    ana.say("u", "", role="assistant", task=text)
    ana.say("u", "keeps the key in the pot", role="assistant")
    receipt = erasing_of(ana).erase([turn.id])
    assert [ana.found(each).content for each in kept] == ["[erased]", "[erased]"]
    assert [each.content for each in ana.messages("u")][:-1] == ["[erased]"] * 5
    assert (len(receipt.places), receipt.independent) == (7, ())
    assert "key under" not in whole_repr([ana.everything(), ana.messages("u")])


def test_what_was_learned_from_what_stays_is_listed(ana):
    """A fact that begins alike, and says more, stays as long as its turn stays."""
    lies = "The user has a dog named {}"
    (gone,) = ana.remember(lies.format("Rex"), origin="consolidation", source_ids=("ep_1",))
    (turn,) = ana.turns("s", "My other one is Bo.")
    (agent,) = ana.turns("t", f"So {lies.format('Rex')}.", source_role="assistant")
    (other,) = ana.remember(lies.format("Bo"), origin="consolidation", source_ids=(turn.id,))
    (told,) = ana.remember(
        f"{lies.format('Rex')}, said the agent", origin="consolidation", source_ids=(agent.id,)
    )
    receipt = erasing_of(ana).erase([gone.id])
    assert receipt.independent == (other.id,)
    assert [ana.found(each).content for each in (agent, told)] == ["[erased]", "[erased]"]
    assert ana.found(other) == other


def test_what_is_short_is_left_alone(ana):
    """Fewer than five words are said by chance: they are listed, and stay everywhere."""
    (turn,), (again,) = ana.turns("s", "yes"), ana.turns("t", "Yes!")
    ana.open_conversation("u")
    ana.say("u", "yes", "yes, thank you")
    receipt = erasing_of(ana).erase([turn.id])
    assert (receipt.records, receipt.places) == (1, ())
    assert receipt.independent == (again.id, ana.messages("u")[0].id)
    assert [each.content for each in ana.messages("u")] == ["yes", "yes, thank you"]


@each_row
def test_what_memory_answered_goes_at_any_length(ana, said, learned, answer, left):
    """An answer without a model, known by its forgotten record, goes if it tells what goes.

    I take Prozac. | The user takes Prozac. | Noted: you take Prozac. | [erased]
    I take Prozac. | The user takes Prozac. | Forgotten: you take Prozac; you swim. | [erased]
    I take Prozac. | The user takes Prozac. | Known:⏎You: you swim; you take Prozac. | [erased]
    I take Prozac. | The user takes Prozac. | You take Prozac (known since today). | [erased]
    I take Prozac. | x | You said today: “I take Prozac.” | [erased]
    I take Prozac. | x | “I swim.”⏎also: “I take Prozac.” (today) | [erased]
    Hi! I take Prozac. | x | What I know about you:⏎About you: you take Prozac. | [erased]
    I swim. | “I swim.” (user, 10 March 2026) | Noted: you swim. | [erased]
    Code: Xy (2); ok | x | Remembered: Code: Xy (2); ok. | [erased]
    212 | x | You said today: “212” | [erased]
    The user sees Zo every day. | x | You see Zo every day at noon. | [erased]
    yes | x | You said today: “yes, on Monday” | You said today: “yes, on Monday”
    I take Prozac. | x | Noted: you take tea. | Noted: you take tea.
    """
    (turn,) = ana.turns("s", said)
    ana.remember(learned, source_ids=(turn.id,), origin="consolidation")
    (own, model) = ana.turns("t", answer, answer, source_role="assistant")
    ana.close(own)
    ana.open_conversation(said + answer)
    for each in (own, model):
        ana.say(said + answer, answer, role="assistant", record_id=each.id)
    receipt = erasing_of(ana).erase([turn.id])
    assert ana.messages(said + answer)[0].content == left
    assert ana.found(own).content == left
    assert len({each.id for each in receipt.places} - {model.id}) >= 2 * (left != answer)
    assert own.id not in receipt.independent
    ana.erase(own, model)


def test_the_answer_to_what_goes_goes(ana):
    """Whatever memory understood of a turn, its answer goes with that; a model's stays."""
    ana.open_conversation("u")
    turns = ana.turns("s", "And she?", "And he?")
    own, model = ana.turns("s", "Noted: Zoe sings.", "He sings.", source_role="assistant")
    ana.close(own)
    for turn, answer in zip(turns, (own, model), strict=True):
        ana.say("u", turn.content, record_id=turn.id)
        ana.say("u", answer.content, role="assistant", record_id=answer.id)
    erasing_of(ana).erase([each.id for each in turns])
    assert [each.content for each in ana.messages("u")] == ["[erased]", "He sings."]

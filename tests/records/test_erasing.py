"""What an erasure takes along beyond the records that are named: whatever says the same."""

import json
from contextlib import closing

import pytest
from analyzers import PlainNames, WordAnalyzer
from samples import ALL, BEN, User, whole_repr

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
        clock=FrozenClock(),
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

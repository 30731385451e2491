"""Receipts and markers: what left the view, why, and that it comes back exactly (R3.6, R7.2)."""

from itertools import pairwise

from tables import each_row
from talks import (
    ALL,
    FINISHED,
    NEXT,
    STRATEGIES,
    alone,
    chatter,
    chosen,
    exchange,
    fill,
    live,
    remembering,
    sized,
    used,
)

WINDOW = 1_000


def pruned_by(chat, act):
    """Return the receipts that ``act()`` led to, after checking what they say."""
    before, known, count = live(chat), len(chat.prunings), len(chat)
    act()
    fresh, new = chat.prunings[known:], {message.id for message in chat.messages[count:]}
    for receipt in fresh:
        accountable(chat, receipt)
    out = [item.id for receipt in fresh for cut in receipt.cuts for item in span(chat, cut)]
    assert len(out) == len(set(out))
    assert set(out) == (before | new) - live(chat)
    if fresh:
        assert fresh[-1].after == used(chat)
        assert all(one.after == two.before for one, two in pairwise(fresh))
    return fresh


def span(chat, cut):
    """Return the messages of a cut."""
    return chat.expand(f"cut_{cut.first}-{cut.last}")


def accountable(chat, receipt):
    """What a receipt says is what its messages are."""
    assert receipt.id.startswith("prn_")
    assert receipt.why
    assert receipt.cuts
    # Tool messages without counterpart are in a cut, but were in no context.
    assert receipt.before - receipt.after <= receipt.tokens + 50  # markers may become fewer
    for cut in receipt.cuts:
        messages = span(chat, cut)
        assert (cut.messages, cut.tokens) == (len(messages), sum(m.tokens for m in messages))
        assert (messages[0].position, messages[-1].position) == (cut.first, cut.last)
        assert (cut.since, cut.until) == (messages[0].timestamp, messages[-1].timestamp)
        assert cut.why


@each_row("strategy", STRATEGIES)
def test_receipts_of_every_trigger_say_what_left(strategy):
    """Each of the five triggers leaves a receipt that covers exactly what left the view."""
    limits = {"context_limit": WINDOW, "keep_recent": 2, "settings": chosen(prune_from=0.0)}
    chat = alone(strategy=strategy, system="You plan.", **limits)
    triggers = []

    def done(act):
        triggers.extend(receipt.trigger for receipt in pruned_by(chat, act))

    done(lambda: fill(chat, [60] * 14))
    done(lambda: exchange(chat, "first", sized(40)))
    done(lambda: fill(chat, [60] * 3))
    done(lambda: chat.add("user", sized(420)))
    done(lambda: chatter(chat, 6))
    done(lambda: chat.prune(200))
    done(lambda: fill(chat, [30] * 6))
    done(lambda: chat.add("assistant", FINISHED))
    done(lambda: chat.add("user", NEXT, task="Tests"))
    done(lambda: chatter(chat, 4))
    done(chat.start_session)
    assert triggers == ["automatic", "aggressive", "manual", "task_boundary", "session_start"]
    assert {receipt.strategy for receipt in chat.prunings} == {strategy}
    assert [r.id for r in chat.prunings] == sorted(r.id for r in chat.prunings)
    assert chat.stats().last_prune == chat.prunings[-1].at


def test_a_shortened_result_expands_to_the_whole():
    """Law 1: where only head and tail are shown, the text names where the rest is."""
    chat = alone(context_limit=WINDOW, keep_recent=10)
    chat.add("user", "Look it up.")
    _, result = exchange(chat, "call", "tea " * 2_000)
    [shown] = [m for m in chat.view().messages if m.role == "tool"]
    assert shown.tokens < 800 < result.tokens
    assert chat.expand(shown.content) == (result,)


def test_a_marker_expands_to_what_was_not_erased(tmp_path):
    """Law 7: what was erased is not under its marker any more; the rest is, down to nothing."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=2)
        said = [chat.add("user", f"{number} " + sized(50)) for number in range(20)]
        gone = [message for message in said if message.id not in live(chat)]
        left = list(gone)
        for message in (gone[1], gone[-1], *gone[2:-1], gone[0]):
            memory.forget(message.record_id, erase=True)
            left.remove(message)
            for holder in (chat, memory.conversation("c", keep_recent=2)):
                found = [item for marker in holder.view().markers for item in holder.expand(marker)]
                assert found == left
        assert memory.verify() == []


def test_what_was_pruned_is_found_and_recalled(tmp_path):
    """Pruning is no loss: search finds the episode, and a context brings it back as memory."""
    with remembering(tmp_path / "m.db") as memory:
        chat = memory.conversation("c", context_limit=WINDOW, keep_recent=2)
        chatter(chat, 2)
        said = chat.add("user", "My favourite tea is jasmine from Fuzhou.")
        fill(chat, [60] * 20)
        assert said.id not in live(chat)
        hit = memory.search("Which tea is the favourite?", limit=1)[0]
        assert hit.record.id == said.record_id
        assert hit.record.content == said.content
        context = chat.context("Which tea is my favourite?", budget=700)
        assert said.content in context.recall.text
        assert said.content in context.messages[-2]["content"]
        again = chat.context("Which tea is my favourite?", budget=ALL)
        assert said.content in again.recall.text


def test_a_receipt_of_a_context_names_what_prunings_left_out():
    """R9: a pruned span is one line of what stayed out, with the id that expands it."""
    chat = alone(context_limit=WINDOW, keep_recent=2)
    fill(chat, [60] * 20)
    receipt = chat.context().receipt
    [gap] = [item for item in receipt.left_out if item.id.startswith("cut_")]
    assert gap.what == f"{sum(r.messages for r in chat.prunings)} messages"
    assert gap.tokens == sum(r.tokens for r in chat.prunings)
    assert gap.why.startswith("pruned: ")
    assert [marker.id for marker in receipt.markers] == [gap.id]
    assert len(chat.expand(gap.id)) + len(chat.view().messages) == 20

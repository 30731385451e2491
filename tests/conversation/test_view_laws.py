"""The laws of the view, for every strategy, budget and shape of transcript; units of messages."""

from itertools import pairwise

from dialogues import METER, POLICIES, dialogues, view
from hypothesis import given
from hypothesis import strategies as st
from message_samples import ROLES, message
from tables import each_row
from talks import texts

from memoranda.conversation.live import LiveMessages
from memoranda.conversation.selection import Policy, SelectionInput
from memoranda.conversation.strategies import STRATEGIES
from memoranda.conversation.units import group_units
from memoranda.model.models import ToolCall, ToolResult

BUDGETS = st.integers(20, 6_000)


def units_and_essentials(messages, policy):
    """Return the units of messages, and the ones that come first in a view."""
    live = LiveMessages((), messages)
    units = live.group().units
    return units, [units[at] for at in SelectionInput(live, policy).essential]


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_a_view_never_exceeds_its_budget(messages, budget, policy):
    """Law 1: within the budget, or exactly the fixed messages where these exceed it.

    Nor does it hold more messages than it may once some are out, unless as many must stay.
    """
    seen = view(messages, budget, policy, METER)
    units, must = units_and_essentials(messages, policy)
    fixed = [unit for unit in units if unit.fixed]
    tokens = sum(unit.tokens for unit in fixed)
    assert seen.tokens <= max(budget, tokens)
    if tokens > budget:
        assert all(message.pinned or message.role != "user" for message in seen.messages)
    shown = {message.id for message in seen.messages}
    assert all({message.id for message in unit.messages} <= shown for unit in fixed)
    if policy.strategy.pairs and seen.pruned:
        most = sum(len(unit.messages) for unit in must)
        assert len(shown) <= max(policy.max_messages, most)


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_the_newest_stay_while_they_fit(messages, budget, policy):
    """Law 1: what is fixed and the last so many messages are all there, whole, if they fit."""
    seen = view(messages, budget, policy, METER)
    _, must = units_and_essentials(messages, policy)
    if sum(unit.tokens for unit in must) <= budget:
        whole = {message.id: message for unit in must for message in unit.messages}
        assert {message.id for message in seen.messages} >= set(whole)
        assert all(message == whole.get(message.id, message) for message in seen.messages)


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_the_last_request_stays_while_anything_does(messages, budget, policy):
    """The last thing the user said is in every view that has room for it and its answer."""
    units, _ = units_and_essentials(messages, policy)
    places = [at for at, unit in enumerate(units) if unit.head.role == "user"]
    if not policy.strategy.pairs or not places:
        return
    mates = SelectionInput(LiveMessages((), messages), policy).mates(places[-1])
    needed = sum(unit.tokens for at, unit in enumerate(units) if unit.fixed or at in mates)
    if needed <= budget:
        assert units[places[-1]].head in view(messages, budget, policy, METER).messages


PAIRED = st.sampled_from(sorted(name for name, each in STRATEGIES.items() if each.pairs))


@given(messages=dialogues(), budget=BUDGETS, strategy=PAIRED, keep=st.sampled_from([1, 2, 5, 10]))
def test_question_and_answer_stay_or_go_together(messages, budget, strategy, keep):
    """R3.5: an answer is in view only with its question, and a question with its answer."""
    policy = Policy(strategy=STRATEGIES[strategy], keep_recent=keep)
    seen = {message.id for message in view(messages, budget, policy, METER).messages}
    plain = [item for item in messages if item.role in {"user", "assistant"}]
    plain = [item for item in plain if not item.tool_calls and not item.pinned]
    for asked, answer in pairwise(plain):
        neighbours = answer.position == (asked.position or 0) + 1
        after = [item for item in messages if item.position > answer.position]
        closed = bool(after) and after[0].role == "user"
        opened = asked.position == 0 or messages[asked.position - 1].role != "user"
        if (asked.role, answer.role) == ("user", "assistant") and neighbours and closed and opened:
            assert (asked.id in seen) == (answer.id in seen)


def transcript(text):
    """Make messages from a sketch: ``u a s`` plain, ``c:x,y`` calls, ``r:x`` a result."""
    made = []
    for position, word in enumerate(text.split()):
        kind, _, ids = word.partition(":")
        fields = {"id": f"{position}", "position": position}
        if kind == "c":
            fields["tool_calls"] = tuple(ToolCall(name, "f") for name in ids.split(","))
        elif ids:
            fields["tool_result"] = ToolResult(ids)
        role = {"c": "assistant", "r": "tool"}.get(kind) or ROLES[kind]
        made.append(message(role, word, **fields))
    return made


@each_row(
    ("sketch", "whole", "waiting", "orphans"),
    [
        ("", [], [], []),
        ("u a", ["u", "a"], [], []),
        ("u c:x r:x a", ["u", "c:x r:x", "a"], [], []),
        ("c:x,y r:y r:x", ["c:x,y r:y r:x"], [], []),
        ("c:x,y r:x u r:y", ["c:x,y r:x r:y", "u"], [], []),
        ("c:x u r:x", ["c:x r:x", "u"], [], []),
        ("c:x u a u", ["u", "a", "u"], [], ["c:x"]),
        ("c:x,y r:x u", ["u"], [], ["c:x,y", "r:x"]),
        ("r:x u", ["u"], [], ["r:x"]),
        ("r u", ["u"], [], ["r"]),
        ("c:x r:x r:x", ["c:x r:x"], [], ["r:x"]),
        ("c:x r:z r:x", ["c:x r:x"], [], ["r:z"]),
        ("c:x,x r:x r:x", [], [], ["c:x,x", "r:x", "r:x"]),
        ("c:x c:y r:x r:y", ["c:x r:x", "c:y r:y"], [], []),
        ("c:x c:y r:y r:x", ["c:x r:x", "c:y r:y"], [], []),
        ("c:x c:x r:x r:x", ["c:x r:x"], [], ["c:x", "r:x"]),
        ("c:x r:x c:x r:x", ["c:x r:x", "c:x r:x"], [], []),
        # Only a call after which nothing was said waits for its results.
        ("u c:x", ["u"], ["c:x"], []),
        ("u c:x,y r:y", ["u"], ["c:x,y", "r:y"], []),
        ("u c:x r:z", ["u"], ["c:x"], ["r:z"]),
        ("u c:x c:y r:y", ["u", "c:y r:y"], [], ["c:x"]),
    ],
)
def test_calls_and_results_stay_together_or_stay_out(sketch, whole, waiting, orphans):
    """A call with all its results is one unit where the call is; anything less is an orphan."""
    found = group_units(transcript(sketch))
    assert [" ".join(texts(unit.messages)) for unit in found.units] == whole
    assert (texts(found.waiting), sorted(texts(found.orphans))) == (waiting, orphans)

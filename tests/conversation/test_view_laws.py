"""The laws of the view, for every strategy, budget and shape of transcript; units of messages."""

from itertools import pairwise

from dialogues import METER, POLICIES, dialogues, view
from hypothesis import given
from hypothesis import strategies as st
from message_samples import ROLES, message
from tables import each_row
from talks import texts

from memoranda.conversation.ledger import Ledger
from memoranda.conversation.strategies import STRATEGIES
from memoranda.conversation.view import Policy, essentials, view_of
from memoranda.model.models import Marker, Message, ToolCall, ToolResult

BUDGETS = st.integers(20, 6_000)


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_a_view_never_exceeds_its_budget(messages, budget, policy):
    """Law 1: within the budget, or exactly the fixed messages where these exceed it.

    Nor does it hold more messages than it may, unless as many must stay.
    """
    seen, ledger = view(messages, budget, policy, METER), Ledger((), messages)
    assert seen.tokens <= max(budget, ledger.fixed_tokens)
    if ledger.fixed_tokens > budget:
        assert all(message.pinned or message.role != "user" for message in seen.messages)
    shown = {message.id for message in seen.messages}
    for unit in ledger.units:
        if unit.fixed:
            assert {message.id for message in unit.messages} <= shown
    if policy.pairs and not policy.stable:
        must = sum(len(ledger.units[at].messages) for at in essentials(ledger, policy))
        assert len(shown) <= max(policy.max_messages, must)


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_the_newest_stay_while_they_fit(messages, budget, policy):
    """Law 1: what is fixed and the last so many messages are all there, if they fit."""
    seen = view(messages, budget, policy, METER)
    units = Ledger((), messages).units
    recent, left = [], policy.keep_recent
    for unit in reversed(units):
        if left <= 0:
            break
        recent.append(unit)
        left -= len(unit.messages)
    must = [*recent, *(unit for unit in units if unit.fixed and unit not in recent)]
    if policy.pairs:  # It knows no requests, only what came last (seed 003).
        requests = [unit for unit in units if unit.head.role == "user"]
        must += [unit for unit in requests[-1:] if unit not in must]
    room_for_markers = 45 * (len(must) + 1)
    if sum(unit.tokens for unit in must) + 400 + room_for_markers <= budget and not policy.stable:
        whole = {message.id: message for unit in must for message in unit.messages}
        assert {message.id for message in seen.messages} >= set(whole)
        assert all(message == whole.get(message.id, message) for message in seen.messages)


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_the_last_request_stays_while_anything_does(messages, budget, policy):
    """The last thing the user said is in every view that has room for it beside what is fixed."""
    requests = [unit for unit in Ledger((), messages).units if unit.head.role == "user"]
    if not policy.pairs or not requests:
        return
    last = requests[-1]
    if Ledger((), messages).fixed_tokens + last.tokens <= budget:
        assert last.head in view(messages, budget, policy, METER).messages


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_a_call_and_its_results_never_part(messages, budget, policy):
    """Law 2: each call in a view is answered at once by all its results, and by nothing else."""
    seen = view(messages, budget, policy, METER).messages
    index = 0
    while index < len(seen):
        message = seen[index]
        index += 1
        assert message.tool_result is None
        waiting = {call.id for call in message.tool_calls}
        while waiting:
            answer = seen[index].tool_result
            assert answer is not None
            waiting.remove(answer.call_id)
            index += 1


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_what_is_not_shown_is_marked_once(messages, budget, policy):
    """Law 3: every message is in view, waiting, or under exactly one marker, in its place."""
    seen = view(messages, budget, policy, METER)
    found = [message.id for message in (*seen.messages, *seen.waiting)]
    for marker in seen.markers:
        under = [item.id for item in messages if marker.first <= item.position <= marker.last]
        assert len(under) == marker.messages
        found += under
    assert sorted(found) == [message.id for message in messages]
    assert {item.id for item in seen.pruned}.isdisjoint(item.id for item in seen.orphans)


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_a_view_is_a_function_of_its_input(messages, budget, policy):
    """Law 3: the same input gives the same view, and fed in parts it gives it, too."""
    ledger = Ledger()
    half = len(messages) // 2
    ledger.extend(messages[:half])
    view_of(ledger, budget, policy, METER)
    ledger.extend(messages[half:])
    assert view_of(ledger, budget, policy, METER) == view(messages, budget, policy, METER)


@given(messages=dialogues(), budget=BUDGETS, policy=POLICIES)
def test_markers_stand_where_messages_are_missing(messages, budget, policy):
    """A shown marker stands before what came after it, and after what came before."""
    seen = view(messages, budget, policy, METER)
    place = -1
    for entry in seen.entries:
        if isinstance(entry, Marker):
            assert entry.first > place
        elif isinstance(entry, Message) and entry.tool_result is None:
            place = max(place, entry.position)


@given(messages=dialogues(), budget=BUDGETS)
def test_question_and_answer_stay_or_go_together(messages, budget):
    """R3.5: beyond the newest messages, an answer is in view only with its question."""
    policy = Policy(strategy=STRATEGIES["rolling_window"], keep_recent=1)
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
    ledger = Ledger((), transcript(sketch))
    assert [" ".join(texts(unit.messages)) for unit in ledger.units] == whole
    assert (texts(ledger.waiting()), sorted(texts(ledger.orphans()))) == (waiting, orphans)


def test_a_late_result_mends_what_was_torn():
    """An orphan is no orphan any more once its counterpart came, however late."""
    messages = transcript("u c:x u a u r:x")
    ledger = Ledger((), messages[:-1])
    assert texts(ledger.orphans()) == ["c:x"]
    ledger.extend(messages[-1:])
    assert ledger.orphans() == []
    assert texts(unit.head for unit in ledger.units) == ["u", "c:x", "u", "a", "u"]
    assert ledger.tokens == ledger.count == 6

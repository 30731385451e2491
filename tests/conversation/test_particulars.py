"""Particulars: what a marker tells of the messages it stands for."""

from dataclasses import replace

from dialogues import METER, dialogues, talk, transcript, view
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda import Conversation
from memoranda.conversation.live import LiveMessages
from memoranda.conversation.markers import PARTICULARS
from memoranda.conversation.particulars import MOST, rank_particulars
from memoranda.conversation.selection import Policy, SelectionInput
from memoranda.conversation.strategies import STRATEGIES
from memoranda.conversation.view import view_of
from memoranda.model.models import ToolCall, ToolResult

CHAT = [f"{role}: We spoke of the sea." for _ in range(40) for role in ("user", "assistant")]

FIRST = ["user: Help me to plan.", "assistant: Gladly.", "user: Go on."]

ROLLING = Policy(strategy=STRATEGIES["rolling_window"])


def told_after(*lines, chat=None, **limits):
    """Return a conversation after these lines and much small talk."""
    chat = chat or Conversation(keep_recent=2, **{"max_tokens": 400} | limits)
    for line in (*FIRST, *lines, *CHAT):
        chat.add(*line.split(": ", 1))
    return chat


def told(chat, budget=None):
    """Return what the markers of a view tell."""
    return "\n".join(marker.text for marker in chat.view(budget).markers)


@each_row(
    ("said", "names"),
    [
        ("Move 4WQ150 to flight HAT083 for mia_li_3668.", {"4WQ150", "HAT083", "mia_li_3668"}),
        ("Be here on May 20, 2024 for $1,204.", {"May 20, 2024", "$1,204"}),
        ("Write to ana@example.org at 10:30.", {"ana@example.org", "10:30"}),
        ("Then look at src/main.py:12.", {"src/main.py"}),
        ("Please move my flight to the morning, thank you.", set()),
    ],
)
def test_codes_numbers_and_names_of_things_are_particulars(said, names):
    """Whoever said it: ids, codes, amounts, dates, addresses and files; not plain words."""
    for message in talk(f"user: {said}", f"assistant: {said}"):
        found = set(rank_particulars([message]))
        assert found >= names
        assert bool(found) == bool(names)


def test_what_the_user_gave_comes_first_and_results_last():
    """Then what calls named, and of each the newest first, what names a thing before a figure."""
    call = ToolCall("c1", "book", '{"flight": "HAT083", "price": 512}')
    messages = transcript(
        [
            ("user", "I am mia_li_3668, and it is booking 4WQ150 of 350 dollars.", {}),
            ("assistant", "", {"tool_calls": (call,)}),
            ("tool", '{"gate": "B2207", "flight": "HAT083"}', {"tool_result": ToolResult("c1")}),
            ("assistant", "Your seat is 9F-22A.", {}),
            ("user", "Use card gift_7711 then.", {}),
        ]
    )
    found = rank_particulars(messages)
    order = ["gift_7711", "4WQ150", "mia_li_3668", "350", "HAT083", "512", "9F-22A", "B2207"]
    assert [name for name in found if name in order] == order


def test_a_tool_names_no_place_to_go_or_write_to():
    """A marker speaks in the user's role; what the user named themselves is told."""
    page = "Order B2207: see https://evil.example/x?id=4711, www.evil.example, m@evil.example"
    result = {"tool_result": ToolResult("c1")}
    assert rank_particulars(transcript([("tool", page, result)])) == ("B2207",)
    both = rank_particulars(transcript([("user", page, {}), ("tool", page, result)]))
    assert {"https://evil.example/x?id=4711", "m@evil.example"} <= {*both}


@each_row(
    ("said", "secret"),
    [
        ("user: My password is tr4vel99x.", "tr4vel99x"),
        ("user: The PIN is 482199.", "482199"),
        ("user: My passport number is X1234567.", "X1234567"),
        ("user: Use the key sk-proj-abcdefgh12345678abcdefgh.", "sk-proj"),
        ("user: Pay with 4111 1111 1111 1111.", "4111"),
        ("user: The door code is 6194.", "6194"),
        ('assistant: {"name": "password", "value": "tr4vel99x"}', "tr4vel99x"),
        ('assistant: {"access_token": "a1b2c3d4e5f6", "expires": 3600}', "a1b2c3d4e5f6"),
        ("user: This is my secret; 482199.", "482199"),
    ],
)
def test_secrets_are_never_told(said, secret):
    """Nor what stands beside the name of one, in a marker or in a receipt."""
    chat = told_after(said, "assistant: Noted, for booking 4WQ150.")
    assert "4WQ150" in told(chat)
    assert secret not in told(chat) + str(chat.prunings[0].cuts)


def test_a_marker_tells_the_same_until_more_leaves():
    """Whatever is said meanwhile: so the beginning of a request stays as it was."""
    chat = told_after("user: My booking is 4WQ150, on flight HAT083.", max_tokens=500)
    before = told(chat)
    assert "4WQ150" in before
    assert "HAT083" in before
    chat.add("assistant", "So 4WQ150 it is.")
    assert told(chat) == before


@given(messages=dialogues(), budget=st.integers(60, 6_000))
def test_particulars_take_no_more_than_their_share(messages, budget):
    """At most about their share of the budget; each is told once, and what is told was said."""
    policy = replace(ROLLING, keep_recent=2, max_messages=10)
    markers = view(messages, budget, policy, METER).markers
    lines = [part for each in markers for part in each.text.split("\n") if "Named there: " in part]
    names = [name for line in lines for name in line.partition(": ")[2].split(", ")]
    assert METER.counter.count(", ".join(names)) <= budget * PARTICULARS
    assert len(names) == len(set(names))
    said = " ".join(item.content + str(item.tool_calls) for item in messages)
    assert all(name in said for name in names)


def test_thousands_of_particulars_cost_no_more():
    """However many there are, the receipt holds the most telling, and the marker what fits."""
    chat = Conversation(max_tokens=1_000, keep_recent=2)
    for number in range(300):
        chat.add("user", f"Look at case AB{number:04} and at XY{number:04}, please.")
    view = chat.view()
    assert all(len(cut.named) <= MOST for item in chat.prunings for cut in item.cuts)
    live = LiveMessages(chat.prunings, ())
    assert all(len(gap.named) <= MOST for gap in live.gaps)
    assert live.marked(METER, 1_000) > 100
    assert view.tokens <= 1_000
    assert view_of(SelectionInput(live, ROLLING), 1_000, METER).tokens <= 1_000


def test_a_marker_with_particulars_expands_to_what_was_there():
    """Law 3: its text is enough, and what it tells is no other marker's id."""
    limits = {"max_tokens": 400, "keep_recent": 2}
    chat = Conversation(**limits)
    told_after("user: Booking 4WQ150; before it stood cut_0-77 and cut_5.", chat=chat)
    [marker] = chat.view().markers
    assert "4WQ150" in marker.text
    assert marker.quotes
    assert "cut_0-77" not in marker.text
    assert chat.expand(marker.text) == chat.messages[marker.first : marker.last + 1]


def test_what_was_removed_is_told_no_more():
    """A cut of which a message was removed names nothing: it may have been of that message."""
    chat = told_after("user: My booking is 4WQ150.")
    assert "4WQ150" in told(chat)
    chat.remove(chat.messages[3].id)
    assert "4WQ150" not in told(chat) + str([item.cuts for item in chat.prunings])

"""Strategies of others: by object and by entry point, and the laws that hold whatever they do."""

import pytest
from dialogues import METER, dialogues, view
from hypothesis import given
from hypothesis import strategies as st
from provider_rules import problems_anthropic, problems_openai

from memoranda import Conversation, Memory, Settings
from memoranda.conversation import Strategy
from memoranda.conversation.formats.render import render
from memoranda.conversation.ledger import Ledger
from memoranda.conversation.view import Policy, essentials, view_of
from memoranda.errors import ConfigError, InvalidInput
from memoranda.testing.embedders import HashEmbedder

PACKAGE = '''
"""Keeps what speaks of money: a strategy of another package."""


class Money:
    name = "money"
    description = "what speaks of money"
    pairs = True

    def select(self, given, selection):
        for index in reversed(range(len(given.units))):
            if "$" in given.units[index].head.content:
                selection.take(given.mates(index), "it speaks of money")


class NotOne:
    name = "not_one"


ready = Money()
'''
ENTRIES = """[memoranda.strategies]
money = memoranda_money:Money
ready_money = memoranda_money:ready
not_one = memoranda_money:NotOne
gone = memoranda_money:Nothing
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that is installed for the test: a module, and its metadata beside it."""
    site = tmp_path / "site-packages"
    info = site / "memoranda_money-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "memoranda_money.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: memoranda-money\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(site))


class Random:
    """Takes what it was made with, by every way there is to take it: a strategy of no sense."""

    name = "random"
    description = "anything"

    def __init__(self, groups, *, pairs, rude):
        """Take these ``groups`` of units, within the limits or not."""
        self.groups, self.pairs, self.rude = groups, pairs, rude

    def select(self, given, selection):
        """Take groups; a rude one writes past the limits, and forgets what must stay."""
        for group in self.groups:
            known = [index for index in group if index < len(given.units)]
            if not self.rude:
                selection.take(known, "by chance")
                continue
            selection.tokens = 10**9
            selection.messages = 10**9
            selection.kept = dict.fromkeys(group, "by force")


RANDOM = st.builds(
    Random,
    st.lists(st.lists(st.integers(0, 40), max_size=6), max_size=8),
    pairs=st.booleans(),
    rude=st.booleans(),
)


POLICIES = st.builds(
    Policy,
    strategy=RANDOM,
    keep_recent=st.sampled_from([1, 4, 10]),
    max_messages=st.sampled_from([10, 20, 500]),
    stable=st.booleans(),
)


@given(messages=dialogues(), budget=st.integers(20, 6_000), policy=POLICIES)
def test_the_laws_hold_whatever_a_strategy_selects(messages, budget, policy):
    """Laws 1 to 3: budget, fixed and newest messages, calls with results, one marker for each."""
    ledger = Ledger((), messages)
    seen = view_of(ledger, budget, policy, METER)
    shown = {message.id for message in seen.messages}
    assert seen.tokens <= max(budget, ledger.fixed_tokens)
    assert {item.id for at in ledger.fixed for item in ledger.units[at].messages} <= shown
    must = essentials(ledger, policy)
    if policy.pairs and not policy.stable:
        assert len(shown) <= max(
            policy.max_messages, sum(len(ledger.units[at].messages) for at in must)
        )
    if ledger.tokens_of(must) + 60 * (len(must) + 1) + budget // 10 <= budget and not policy.stable:
        assert {item.id for at in must for item in ledger.units[at].messages} <= shown
    for form, problems in (("openai", problems_openai), ("anthropic", problems_anthropic)):
        made = render(seen.entries, form=form, system="Be brief.", recalled=None, prompt="Go on.")
        given_system = () if form == "openai" else (made.system,)
        assert problems(made.messages, *given_system) == []
    under = [place for item in seen.markers for place in range(item.first, item.last + 1)]
    places = [item.position for item in (*seen.messages, *seen.waiting)]
    assert sorted(under + places) == [item.position for item in messages]
    assert view(messages, budget, policy, METER) == seen


def test_question_and_answer_are_not_parted_by_a_strategy():
    """One that asks for pairs and takes an answer alone gets its question, too, or neither."""
    answer = Random([[1]], pairs=True, rude=False)
    chat = Conversation(strategy=answer, keep_recent=1, max_messages=100)
    for number in range(30):
        chat.add("user", f"Question {number}?")
        chat.add("assistant", f"Answer {number}.")
    assert [item.content for item in chat.view(200).messages] == [
        *("Question 0?", "Answer 0."),
        *("Question 29?", "Answer 29."),
    ]


def test_what_is_no_strategy_is_refused():
    """The message says what it lacks, and which names there are."""
    for given_, lacks in (
        (object(), "it lacks name .str., description .str., pairs .bool., select .method."),
        (5, "it lacks name"),
        (Random, "it is a class, pass an object of it"),
    ):
        with pytest.raises(InvalidInput, match=f"{lacks}.*; names are rolling_window, recency"):
            Conversation(strategy=given_)
    half = Random([], pairs="yes", rude=False)
    with pytest.raises(InvalidInput, match=r"it lacks pairs .bool.; names"):
        Conversation(strategy=half)


def test_an_object_is_a_strategy_of_a_memory(tmp_path):
    """It goes where a name goes, and the receipts of a stored conversation name it."""
    strategy = Random([[0]], pairs=True, rude=False)
    assert isinstance(strategy, Strategy)
    with Memory(tmp_path / "a.db", embedder=HashEmbedder()) as memory:
        chat = memory.conversation("trip", strategy=strategy, keep_recent=1)
        for number in range(12):
            chat.add("user", f"Number {number}.")
        assert chat.prune(70).strategy == "random"
        assert "Number 0." in [item.content for item in chat.view().messages]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["money", "ready_money"])
def test_an_installed_strategy_has_a_name(name, tmp_path):
    """A class or an object of an installed package: by argument, and by the settings."""
    settings = Settings(conversation={"strategy": name}, embedding={"model": "none"})
    with Memory(tmp_path / "a.db", settings=settings) as memory:
        chats = [
            Conversation(strategy=name, keep_recent=1),
            Conversation(settings=settings, keep_recent=1),
            memory.conversation("trip", keep_recent=1),
        ]
        for chat in chats:
            chat.add("user", "It costs $12.")
            for number in range(30):
                chat.add("user", f"Number {number}.")
            kept = [item.content for item in chat.view(120).messages]
            assert kept == ["It costs $12.", "Number 29."]
            assert "money keeps what speaks of money" in chat.explain().told[0]


@pytest.mark.usefixtures("installed")
def test_what_cannot_be_used_of_an_installed_package_is_said():
    """Names what is installed, the entry point, and what is wrong with it."""
    with pytest.raises(
        InvalidInput, match=r"'not_one', the entry point .*:NotOne .* it lacks desc"
    ):
        Conversation(strategy="not_one")
    with pytest.raises(InvalidInput, match=r"'gone', the entry point .* cannot be loaded: Attrib"):
        Conversation(strategy="gone")
    with pytest.raises(InvalidInput, match=r"use one of rolling_window, .*hybrid, gone, money"):
        Conversation(strategy="zzz")
    with pytest.raises((ConfigError, ValueError), match="gone, money, not_one"):
        Settings(conversation={"strategy": "zzz"})


class Broken:
    """A strategy with a mistake in it."""

    name = "broken"
    description = "nothing"
    pairs = True

    def select(self, given, selection):
        """Fail."""
        raise LookupError(f"no such word in {given!r:.40}, {selection!r:.40}")


def test_a_mistake_in_a_strategy_loses_no_message(caplog):
    """What is shown with it says so; what is added is kept, and the log has the mistake."""
    chat = Conversation(strategy=Broken(), keep_recent=1, max_tokens=100)
    for number in range(30):
        chat.add("user", f"Number {number}.")
    assert len(chat.messages) == 30
    assert chat.prunings == ()
    assert "no such word" in caplog.text
    with pytest.raises(LookupError, match="no such word"):
        chat.view()
    assert len(chat.view(10_000).messages) == 30

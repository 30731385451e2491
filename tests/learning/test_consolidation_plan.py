"""The plan of a consolidation: laws that hold whatever was said, and in whatever order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.learning.claims import Category, Claim
from memoranda.learning.consolidation_plan import ConsolidationPlan
from memoranda.learning.judge import JACCARD
from memoranda.learning.known_facts import KnownFact, stated_facts
from memoranda.model.changes import Insert, Reinforce, Supersede
from memoranda.model.clock import IdFactory
from memoranda.model.models import Kind, Scope, Trust
from memoranda.records.drafts import Draft, RecordPlanner, Retention
from memoranda.testing.clocks import FrozenClock

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SAID = datetime(2024, 1, 1, 9, tzinfo=UTC)
PEOPLE = ["Ana", "Ben"]
CITIES = ["Oslo", "Lisbon", "Rome", "Madrid"]


class Memory:
    """Facts, as a list of actions leaves them."""

    def __init__(self):
        """Begin empty."""
        clock = FrozenClock(NOW)
        kept = Retention(ZoneInfo("UTC"), {})
        self._planner = RecordPlanner(ids=IdFactory(clock), clock=clock, retention=kept)
        self.facts = {}
        self.said = {}

    def write(self, draft):
        """Return the action that stores a draft."""
        return self._planner.plan(Scope("ana"), draft, reason="consolidated")

    def remember(self, content, **fields):
        """Store a fact as a person's word; return it."""
        insert = self.write(Draft(content=content, **{"event_time": SAID} | fields))
        self.apply([insert])
        return insert.record

    def plan(self, claims, **options):
        """Return the plan for claims, with all facts as candidates."""
        facts = self.facts.values()
        known = [KnownFact.of(each, *map(self.said.get, each.source_ids)) for each in facts]
        return self.page(claims, [known] * len(claims), **options).make()

    def page(self, claims, candidates, **options):
        """Return a plan not made yet."""
        given = {"session": "s", "write": self.write, "now": NOW} | options
        given = {"threshold": JACCARD, "decay_rate": 0.1} | given
        return ConsolidationPlan(claims=claims, candidates=candidates, **given)

    def learn(self, claims, **options):
        """Plan and apply; return the plan."""
        made = self.plan(claims, **options)
        self.said |= {each.sources[0]: each.said_at for each in claims}
        self.apply(made)
        return made

    def apply(self, actions):
        """Do what actions say."""
        for action in actions:
            if isinstance(action, Insert):
                self.facts[action.record.id] = action.record
            elif isinstance(action, Reinforce):
                old = self.facts[action.id]
                sources = tuple(dict.fromkeys(old.source_ids + action.sources))
                self.facts[action.id] = replace(old, source_ids=sources)
            elif isinstance(action, Supersede):
                after = {"superseded_by": action.by, "confidence": action.confidence}
                self.facts[action.id] = replace(self.facts[action.id], **after)

    def top(self):
        """Return what is believed: the texts that nothing took the place of."""
        return sorted(f.content for f in self.facts.values() if f.superseded_by is None)


def claim(content, *, day=0, subject="Ana", source=None, category=Category.STATE, **fields):
    """A claim said some days after the first."""
    at = SAID + timedelta(days=day)
    values = {"speaker": "user", "said_at": at, "event_time": at, **fields}
    values.setdefault("person", values["speaker"] not in {"assistant", "agent", "tool"})
    values.setdefault("fact", next(iter(stated_facts(content, "ana")), None))
    source = source or f"ep_{day}_{content}"
    return Claim(content=content, subject=subject, category=category, sources=(source,), **values)


def of(actions, kind):
    """The actions of one kind."""
    return [action for action in actions if isinstance(action, kind)]


@st.composite
def homes(draw):
    """Claims about where people live and how old they are, each said at another time."""
    days = draw(st.lists(st.integers(0, 900), min_size=1, max_size=7, unique=True))
    made = []
    for day in days:
        who = draw(st.sampled_from(PEOPLE))
        city = draw(st.sampled_from(CITIES))
        verb = draw(st.sampled_from(["lives in", "moved to"]))
        said = draw(st.sampled_from([f"{who} {verb} {city}.", f"{who} likes {city}."]))
        made.append(claim(said, day=day, subject=who))
    return made


@given(claims=homes(), cut=st.integers(0, 7))
def test_planning_again_changes_nothing_wherever_a_page_ends(claims, cut):
    """After a page was applied, the same page adds, credits and retires nothing."""
    whole, parts = Memory(), Memory()
    whole.learn(claims)
    parts.learn(claims[:cut])
    parts.learn(claims[cut:])
    assert whole.top() == parts.top()
    before = dict(whole.facts)
    assert whole.learn(claims) == []
    assert whole.facts == before


@given(claims=homes())
def test_a_record_is_retired_once_and_by_one_that_is_there(claims):
    """No two actions retire one record; what took its place is stored before."""
    memory = Memory()
    known, retired = {memory.remember("Ana lives in Paris.", decay_rate=0.1).id}, set()
    for action in memory.plan(claims):
        if isinstance(action, Insert):
            known.add(action.record.id)
        elif isinstance(action, Supersede):
            assert action.id not in retired
            assert {action.id, action.by} <= known
            assert action.id != action.by
            assert action.confidence <= 0.3
            retired.add(action.id)
        elif isinstance(action, Reinforce):
            assert action.id in known
            assert action.sources


@given(claims=homes(), data=st.data())
def test_what_was_said_last_is_on_top_in_whatever_order_it_is_read(claims, data):
    """Sessions may be consolidated late: the last word stays the last word."""
    homes_only = [each for each in claims if "likes" not in each.content]
    memory = Memory()
    for each in data.draw(st.permutations(homes_only)):
        memory.learn([each])
    for who in PEOPLE:
        told = [each for each in homes_only if each.subject == who]
        if told:
            last = max(told, key=lambda each: each.said_at).content.split()[-1]
            left = [text for text in memory.top() if text.startswith(who)]
            assert {text.split()[-1] for text in left} == {last}


@given(claims=homes())
def test_nothing_about_another_subject_is_retired(claims):
    """Whoever else has moved since."""
    memory = Memory()
    for person in PEOPLE:
        memory.learn([claim(f"{person} lives in Bergen.", day=-5, subject=person)])
    made = memory.plan(claims)
    memory.apply(made)
    subjects = {fact.id: fact.metadata["subject"] for fact in memory.facts.values()}
    assert all(subjects[each.id] == subjects[each.by] for each in of(made, Supersede))


def test_a_new_fact_carries_all_that_was_known_of_it():
    """Kind, origin, speaker, time, sources, decay, category and subject."""
    when = SAID - timedelta(days=30)
    made = Memory().plan([claim("Ana paints on Sundays.", event_time=when, confidence=0.7)])
    (insert,) = of(made, Insert)
    record = insert.record
    assert (record.kind, record.origin, record.source_role) == (Kind.FACT, "consolidation", "user")
    assert (record.event_time, record.confidence, record.decay_rate) == (when, 0.7, 0.1)
    assert record.source_ids == ("ep_0_Ana paints on Sundays.",)
    assert (record.tags, record.session_id) == (("state",), "s")
    assert record.metadata == {"subject": "Ana", "category": "state", "said_at": SAID.isoformat()}


def test_a_later_value_takes_the_place_of_an_older_one():
    """The old fact is lowered to 0.3, and the new one names it (seed 004); to go back is new."""
    memory = Memory()
    memory.learn([claim("Ana lives in Oslo.")])
    made = memory.learn([claim("Ana moved to Lisbon.", day=9)])
    (insert,), (supersede,) = of(made, Insert), of(made, Supersede)
    assert insert.record.supersedes == supersede.id
    assert (supersede.by, supersede.confidence) == (insert.record.id, 0.3)
    assert memory.top() == ["Ana moved to Lisbon."]
    memory = Memory()
    cities = enumerate(["Oslo", "Lisbon", "Oslo"])
    claims = [claim(f"Ana lives in {city}.", day=day) for day, city in cities]
    memory.learn(claims)
    assert memory.top() == ["Ana lives in Oslo."]
    assert len({fact.superseded_by for fact in memory.facts.values()}) == len(memory.facts) == 3
    memory.facts = dict(reversed(memory.facts.items()))
    assert memory.plan(claims) == []


OSLO, LISBON = "Ana lives in Oslo.", "Ana lives in Lisbon."


@each_row(
    ("pages", "top"),
    [
        # What an older session says, read late, is of the past.
        ([[(LISBON, 9, 9)], [(OSLO, 0, 0)]], LISBON),
        # What was confirmed since is not ended by what lies between, in whatever order it is read.
        ([[(OSLO, 0, 0), (OSLO, 9, 9)], [(LISBON, 5, 5)]], OSLO),
        *(
            ([[[(OSLO, 0, 0), (LISBON, 300, 300), (OSLO, 301, 301)][n]] for n in order], OSLO)
            for order in permutations(range(3))
        ),
        # A move of "last week", told after the home was named, is news.
        ([[(OSLO, 3, 3)], [("Ana moved to Lisbon.", 5, -2)]], "Ana moved to Lisbon."),
    ],
)
def test_the_last_word_on_what_holds_stays(pages, top):
    """Each claim has a day on which it was said, and one from which it holds."""
    memory = Memory()
    for page in pages:
        told = [(text, day, SAID + timedelta(days=since)) for text, day, since in page]
        memory.learn([claim(text, day=day, event_time=since) for text, day, since in told])
    assert set(memory.top()) == {top}


def test_a_plan_for_the_future_counts_from_when_it_was_said():
    """A deadline that is moved to an earlier day is the newer one all the same."""
    sooner = SAID + timedelta(days=50)
    claims = [
        claim("The thesis is due March 1, 2024.", subject="thesis"),
        claim("Ana's thesis deadline is March 1, 2024.", event_time=sooner + timedelta(days=10)),
        claim("Ana's thesis deadline was moved to February 20.", day=3, event_time=sooner),
    ]
    for pages in ([claims], [[each] for each in claims]):
        memory = Memory()
        for page in pages:
            memory.learn(page)
        assert memory.top() == [claims[2].content]


def test_what_is_said_again_credits_the_fact_unless_it_says_more():
    """One row, more sources; credited to a shorter fact, the rest of a longer one would be lost."""
    memory = Memory()
    memory.learn([claim("Ana likes tea."), claim("Ana likes tea!", day=1)])
    made = memory.learn([claim("ana likes tea", day=2)], session="later")
    (fact,) = memory.facts.values()
    assert len(fact.source_ids) == 3
    assert [type(action) for action in made] == [Reinforce]
    short, long = "Ana plays chess at the old club.", "Ana plays blitz chess at the old club."
    memory = Memory()
    memory.learn([claim(short)])
    assert len(of(memory.learn([claim(long, day=1)]), Insert)) == 1
    assert memory.top() == sorted([short, long])
    made = memory.learn([claim(short, day=2), claim(long.upper(), day=3)])
    assert [type(action) for action in made] == [Reinforce] * 2


@each_row(
    ("content", "category", "retired"),
    [
        ("Ana moved to Lisbon.", Category.STATE, True),
        ("Ana has 3 cats now.", Category.CORRECTION, True),
        ("Ana likes Rome.", Category.STATE, False),
    ],
)
def test_a_protected_fact_gives_way_to_a_persons_word_on_its_attribute(content, category, retired):
    """It retires even what was asked to be remembered."""
    memory = Memory()
    memory.remember("Ana lives in Oslo.")
    memory.remember("Ana has 2 cats.")
    made = memory.learn([claim(content, day=9, category=category)])
    assert bool(of(made, Supersede)) is retired
    assert len(of(made, Insert)) == 1


def test_a_machine_never_retires_what_a_person_said():
    """Whichever of them is the later one (law 10); of the user it learns nothing (law 9)."""
    home, moved = claim("Ana lives in Oslo.", day=5), "Ana moved to Lisbon."
    for speaker in ("assistant", "agent", "tool"):
        memory, told = Memory(), claim(moved, day=9, speaker=speaker)
        memory.learn([home])
        later = memory.learn([told])
        assert [type(each) for each in later] == [Insert]
        memory = Memory()
        memory.learn([told])
        memory.learn([home])
        assert "Ana lives in Oslo." in memory.top()
    tea = claim("The user likes tea.", subject="the user", speaker="assistant")
    assert Memory().plan([tea]) == []
    memory.learn([claim("Ana likes tea.", speaker="Ana"), claim("Ben is 5.", speaker="tool")])
    assert [fact.trust for fact in memory.facts.values()][-2:] == [Trust.PERSON, Trust.EXTERNAL]


def test_what_has_ended_or_is_no_fact_is_no_candidate():
    """A forgotten fact is not retired again, and an episode never."""
    memory = Memory()
    for kind in ("episode", "reflection"):
        memory.remember("Ana lives in Oslo.", kind=kind)
    gone = memory.remember("Ana lives in Rome.")
    memory.facts[gone.id] = replace(gone, valid_until=NOW - timedelta(days=1))
    made = memory.plan([claim("Ana moved to Lisbon.", day=9)])
    assert [type(action) for action in made] == [Insert]


def test_a_sentence_kept_as_it_was_said_goes_with_the_value_that_it_states():
    """Of the same words; another sentence of the same message stays."""
    memory = Memory()
    memory.said["ep_1"] = SAID
    said = {"source_ids": ("ep_1",), "event_time": SAID, "decay_rate": 0.1}
    quoted = memory.remember("\u201cI live in Oslo, by the harbour.\u201d (Ana, today)", **said)
    other = memory.remember("\u201cI broke my wrist.\u201d (Ana, today)", **said)
    home = memory.remember(
        "Ana lives in Oslo.", subject="user", attribute="home", value="Oslo", **said
    )
    made = of(memory.plan([claim("Ana moved to Lisbon.", day=9)]), Supersede)
    assert [each.id for each in made] == [home.id, quoted.id]
    assert other.id not in {each.id for each in made}

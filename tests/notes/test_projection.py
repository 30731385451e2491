"""MEMORY.md and the store in step: what is written, and that nothing gets lost between them."""

import difflib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memoranda.model.checks import content_hash
from memoranda.model.models import Kind, Record, Trust
from memoranda.model.notes import line_of
from memoranda.notes.document import parse
from memoranda.notes.edits import digest_of, noted_line, read_edits
from memoranda.notes.projection import project
from memoranda.notes.topics import topic

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BIG = 100_000
CATEGORIES = ["preference", "relation", "decision", "plan", "identity", None]


def fact(id, content, *, category=None, section=None, **more):
    """Return a fact as a store has it."""
    metadata = {"category": category, "section": section}
    made = {each: text for each, text in metadata.items() if text is not None}
    more.setdefault("created_at", NOW)
    return Record(id=id, kind=Kind.FACT, content=content, user="ana", event_time=NOW,
                  content_hash=content_hash(content), metadata=made, **more)  # fmt: skip


def changed(before, after):
    """Return the lines that a diff has."""
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


def reading(text, lines, known, believed=lambda record: record.valid_until is None):
    """Return what a person changed in ``text`` since it had ``lines``."""
    return read_edits(lines, parse(text), known, believed)


TEA = fact("f1", "Ana likes green tea", category="preference")
BOB = fact("f2", "Bob is her brother", category="relation")
RED = fact("f3", "Ana likes\nred wine", category="preference")
OWN = fact("f4", "The spare key is at Zoe's", section="Keys and codes")


def test_a_new_file_is_rendered_by_topic():
    """Without a file, or with a blank one, every fact stands under its topic, oldest first."""
    text = (
        "# Memory\n\n## Preferences\n\n- Ana likes green tea\n- Ana likes red wine\n\n"
        "## People\n\n- Bob is her brother\n\n## Keys and codes\n\n- The spare key is at Zoe's\n"
    )
    for document in (parse(""), parse(" \n\r\n")):
        made = project(document, [OWN, RED, BOB, TEA], max_bytes=BIG)
        assert made.text == text
        assert [line.id for line in made.lines] == ["f1", "f3", "f2", "f4"]
    assert project(parse(""), [], max_bytes=BIG).text == ""


def test_a_new_fact_is_one_line():
    """Adding a fact adds one line to the file, and a heading only where there was none."""
    before = project(parse(""), [TEA, BOB], max_bytes=BIG).text
    after = project(parse(before), [TEA, BOB, RED], max_bytes=BIG).text
    assert changed(before, after) == ["+ - Ana likes red wine\n"]
    last = project(parse(after), [TEA, BOB, RED, OWN], max_bytes=BIG).text
    assert last == f"{after}\n## Keys and codes\n\n- The spare key is at Zoe's\n"


def test_a_corrected_fact_is_replaced_in_its_place():
    """The line of what took its place stands where the old line stood, also down a chain."""
    made = project(parse(""), [TEA, RED, BOB], max_bytes=BIG)
    new = fact("f9", "Ana likes black tea", section="Elsewhere")
    middle = replace(RED, id="f8", valid_until=NOW, superseded_by="f9")
    old = replace(TEA, valid_until=NOW, superseded_by="f8")
    known = {"f1": old, "f8": middle, "f3": RED, "f2": BOB, "f9": new}
    after = project(parse(made.text), [new, RED, BOB], max_bytes=BIG, known=known,
                    edits=reading(made.text, made.lines, known))  # fmt: skip
    assert after.text == made.text.replace("green", "black")
    assert after.changes == ('"Ana likes green tea": replaced by "Ana likes black tea"',)


def test_an_ended_fact_goes_and_an_erased_one_goes_unnamed():
    """Lines of ended and erased facts are taken out; an erased text is not told of."""
    made = project(parse(""), [TEA, RED, BOB], max_bytes=BIG)
    known = {"f1": replace(TEA, valid_until=NOW), "f3": RED}
    after = project(parse(made.text), [RED], max_bytes=BIG, known=known,
                    edits=reading(made.text, made.lines, known))  # fmt: skip
    assert after.text == "# Memory\n\n## Preferences\n\n- Ana likes red wine\n"
    assert "Bob" not in " ".join(after.changes)
    assert len(after.changes) == 2


def test_the_layout_of_a_person_stays():
    """CRLF, markers, comments, prose and a missing final newline are left as they are."""
    text = (
        "\ufeff---\r\ntitle: x\r\n---\r\n\r\nWords.\r\n\r\n## people\r\n\r\n* Bob is her brother"
        "\r\n\r\n<!-- mine -->\r\n```\r\n- code\r\n```\r\n\r\n"
        "## Preferences\r\n- Ana likes green tea"
    )
    made = project(parse(text), [TEA, BOB], max_bytes=BIG)
    assert made.text == text
    sister = fact("f7", "Eve is her sister", category="relation")
    after = project(parse(text), [TEA, BOB, sister], max_bytes=BIG)
    assert changed(text, after.text) == ["+ * Eve is her sister\r\n"]


def test_over_the_limit_the_least_goes_and_a_hand_written_line_never():
    """What finds no room is named; words that a person wrote stay even over the limit."""
    hand = [fact(f"h{at}", f"words by hand {at}", origin="notes", confidence=0.1)
            for at in range(3)]  # fmt: skip
    learned = [fact(f"l{at}", f"learned thing {at}", decay_rate=0.1) for at in range(3)]
    whole = project(parse(""), [*learned, *hand], max_bytes=BIG)
    size = len(whole.text.encode())
    edits = reading(whole.text, whole.lines, {each.id: each for each in learned + hand})
    less = project(parse(whole.text), [*learned, *hand], max_bytes=size - 1, edits=edits)
    assert less.dropped == ("l2",)
    assert less.over == 0
    assert len(less.changes) == 1
    none = project(parse(whole.text), [*learned, *hand], max_bytes=50)
    assert [line.id for line in none.lines] == ["h0", "h1", "h2"]
    assert none.over == len(none.text.encode()) - 50


def test_a_full_file_is_not_reshuffled():
    """A new fact that is not clearly better waits outside; one of a person comes in."""
    facts = [fact(f"l{at}", f"learned thing {at}", decay_rate=0.1, confidence=0.6)
             for at in range(10)]  # fmt: skip
    full = project(parse(""), facts, max_bytes=180)
    assert 0 < len(full.lines) < 10
    like = fact("n1", "learned thing x", decay_rate=0.1, confidence=0.7)
    after = project(parse(full.text), [like, *facts], max_bytes=180)
    assert after.text == full.text
    asked = fact("n2", "asked to keep x")
    better = project(parse(full.text), [asked, *facts], max_bytes=180)
    assert len(changed(full.text, better.text)) == 2


def test_what_a_model_chose_is_kept_before_the_rest():
    """Preferred facts stay, others fill what room is left."""
    facts = [fact(f"l{at}", f"learned thing {at}") for at in range(10)]
    made = project(parse(""), facts, max_bytes=120, preferred=frozenset({"l9"}))
    assert "l9" in {line.id for line in made.lines}
    assert "l8" not in {line.id for line in made.lines}


@pytest.mark.parametrize("end", range(0, 150, 3))
def test_a_cut_file_is_made_whole(end):
    """A remainder becomes a file again in which every fact stands once, and no half line."""
    text = (
        "# Memory\n\n<!-- a\nnote -->\n\n## Preferences\n\n- Ana likes green tea\n"
        "- Ana likes red wine\n\n## People\n\n- Bob is her brother\n\n```\ncode\n```\n"
    )
    known = {each.id: each for each in (TEA, RED, BOB)}
    base = [noted_line(each.id, each.content) for each in (TEA, RED, BOB)]
    edits = reading(text[:end], base, known)
    if edits.cut_short:
        whole = project(parse(text[:end]), [TEA, RED, BOB], max_bytes=BIG, edits=edits, known=known)
        assert sorted(each.text for each in parse(whole.text).items) == sorted(
            line_of(each.content) for each in (TEA, RED, BOB)
        )
        assert not reading(whole.text, whole.lines, known)


FRAGMENTS = [
    "- a fact", "* b", "1. c", "  - nested", "    - deep", "  goes on", "plain", "", "",
    "# Title", "## People", "## Mine", "### Deeper", "---", "```", "<!-- note -->", "<!-- open",
    "-->", "> quoted", "| a | b |", "|---|---|", "- ", "- # x", "- ```", "1986. was",
]  # fmt: skip
markdown = st.lists(
    st.tuples(st.sampled_from(FRAGMENTS), st.sampled_from(["\n", "\n", "\r\n", "\n\n"])),
    max_size=12,
).map(lambda lines: "".join(line + end for line, end in lines))
contents = st.sampled_from(
    ["a fact", "b", "plain", "# x", "- - -", "```", "<!-- a", "x --> y", "---", "![i](x)", "> q",
     "1. one", "喝茶", "a\nb", "\\# x", "2024 was good", "a fact of more words than others"]
) | st.text(min_size=1, max_size=25).filter(lambda text: text.split())  # fmt: skip
facts_lists = st.lists(
    st.tuples(
        contents, st.sampled_from(CATEGORIES), st.sampled_from([None, None, "Mine", "# C#"]),
        st.integers(0, 10), st.sampled_from(list(Trust)[:2]), st.sampled_from(["api", "notes"]),
    ),
    max_size=10,
).map(
    lambda rows: [
        fact(f"f{at}", content, category=category, section=section, confidence=tenths / 10,
             trust=trust, origin=origin)
        for at, (content, category, section, tenths, trust, origin) in enumerate(rows)
    ]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.just("") | markdown, facts_lists, st.sampled_from([60, 150, 300, BIG]), st.data())
def test_projecting_again_changes_nothing(text, facts, most, data):
    """The file that was made has no edits, and it is made again byte for byte."""
    known = {each.id: each for each in facts}
    document = parse(text)
    made = project(document, facts, max_bytes=most)
    prose = {digest_of(item.text) for item in document.items}
    edits = reading(made.text, made.lines, known)
    assert edits.changed == ()
    assert edits.removed == ()
    assert all(digest_of(item.text) in prose for item in edits.added)
    shuffled = data.draw(st.permutations(facts)) if most == BIG else facts
    again = project(parse(made.text), shuffled, max_bytes=most, edits=edits, known=known)
    assert again.text == made.text
    assert again.lines == made.lines
    assert again.over == max(0, len(made.text.encode()) - most)


@given(st.just("") | markdown, facts_lists)
def test_every_fact_has_one_line_in_a_file_with_room(text, facts):
    """With room for all, each fact is told, by one line; what was there stays."""
    if parse(text).unclosed is not None:  # A fact with an arrow would close a comment.
        facts = [each for each in facts if "-->" not in each.content]
    made = project(parse(text), facts, max_bytes=BIG)
    told = [item.text for item in parse(made.text).items]
    was = [item.text for item in parse(text).items]
    new = {line_of(each.content) for each in facts} - set(was)
    assert sorted(told) == sorted([*was, *new])


@dataclass
class Kept:
    """A store and a file beside it, as small as can be."""

    records: dict = field(default_factory=dict)
    text: str = ""
    lines: tuple = ()

    def add(self, content, **more):
        """Store a fact; one with the same words is the same."""
        for each in self.noteworthy():
            if each.content == content:
                return each.id
        number = len(self.records)
        made = fact(f"f{number:04}", content, created_at=NOW + timedelta(number), **more)
        self.records[made.id] = made
        return made.id

    def end(self, id, by=None):
        """End a fact."""
        if by != id:
            self.records[id] = replace(self.records[id], valid_until=NOW, superseded_by=by)

    def noteworthy(self):
        """Return what is believed, the newest first."""
        return [each for each in reversed(self.records.values()) if each.valid_until is None]

    def known(self):
        """Return all records."""
        return {each.id: each for each in [*self.noteworthy(), *self.records.values()]}

    def sync(self, most):
        """Read the edits of the file, then write it."""
        document = parse(self.text)
        edits = reading(self.text, self.lines, self.known())
        adopted = []
        if not edits.cut_short:
            for item in edits.added:
                made = self.add(item.text, origin="notes", section=item.section)
                adopted.append(noted_line(made, item.text))
            for line in edits.changed:
                made = self.add(line.item.text, origin="notes", section=line.item.section)
                self.end(line.id, by=made)
                adopted.append(noted_line(made, line.item.text))
            for id_ in edits.removed:
                self.end(id_)
            edits = reading(self.text, [*self.lines, *adopted], self.known())
        made = project(document, self.noteworthy(), max_bytes=most, edits=edits, known=self.known())
        self.text, self.lines = made.text, made.lines
        return edits, made


WORD = ["red", "green", "tea", "wine", "house", "cat", "dog", "is", "was", "ana", "bob"]
WORDS = st.lists(st.sampled_from(WORD), min_size=1, max_size=5).map(" ".join)


class TwoWriters(RuleBasedStateMachine):
    """A store and a person write in turn; each step that syncs must leave both in step."""

    def __init__(self):
        """Start with nothing."""
        super().__init__()
        self.kept = Kept()
        self.synced = True

    @rule(content=WORDS, category=st.sampled_from(CATEGORIES))
    def learn(self, content, category):
        """Learn a fact."""
        self.kept.add(content, category=category)
        self.synced = False

    @rule(data=st.data())
    def forget(self, data):
        """End a fact in the store."""
        if standing := self.kept.noteworthy():
            self.kept.end(data.draw(st.sampled_from(standing)).id)
            self.synced = False

    @rule(data=st.data(), content=WORDS)
    def correct(self, data, content):
        """Correct a fact in the store."""
        if standing := self.kept.noteworthy():
            self.kept.end(data.draw(st.sampled_from(standing)).id, by=self.kept.add(content))
            self.synced = False

    @rule(data=st.data(), line=WORDS, mark=st.sampled_from(["- ", "* ", "", "## ", "  - "]))
    def write(self, data, line, mark):
        """Write a line into the file by hand."""
        lines = self.kept.text.splitlines(keepends=True)
        at = data.draw(st.integers(0, len(lines)))
        lines.insert(at, f"{mark}{line}\n")
        self.edit("".join(lines))

    @rule(data=st.data())
    def strike(self, data):
        """Take a line out of the file by hand."""
        lines = self.kept.text.splitlines(keepends=True)
        if lines:
            lines.pop(data.draw(st.integers(0, len(lines) - 1)))
            self.edit("".join(lines))

    @rule(data=st.data(), word=st.sampled_from(["very", "blue"]))
    def reword(self, data, word):
        """Change a line of the file by hand."""
        lines = self.kept.text.splitlines(keepends=True)
        if lines:
            at = data.draw(st.integers(0, len(lines) - 1))
            lines[at] = lines[at].rstrip("\n") + f" {word}\n"
            self.edit("".join(lines))

    def edit(self, text):
        """Sync right after the edit, and look at what became of it."""
        self.kept.text = text
        believed = {each.id for each in self.kept.noteworthy()}
        before = [item.text for item in parse(text).items]
        ended = {line_of(each.content) for each in self.kept.records.values()} - {
            line_of(each.content) for each in self.kept.noteworthy()
        }
        was = {line.digest for line in self.kept.lines}
        edits, _ = self.kept.sync(BIG)
        now = {line_of(each.content) for each in self.kept.noteworthy()}
        if edits.cut_short:
            assert believed <= {each.id for each in self.kept.noteworthy()}
        else:
            stated = {each for each in before if each not in ended or digest_of(each) not in was}
            assert stated <= now  # No line that a person wrote is lost.
            resurrected = {each for each in ended if digest_of(each) in was} & now
            assert not resurrected
        self.synced = True

    @rule()
    def sync(self):
        """Sync without an edit: nothing is ended or made by it."""
        before = self.kept.noteworthy()
        self.kept.sync(BIG)
        assert self.kept.noteworthy() == before
        self.synced = True

    @invariant()
    def in_step(self):
        """After a sync the file tells just what is believed, and there is nothing to do."""
        if not self.synced:
            return
        told = {item.text for item in parse(self.kept.text).items}
        assert told == {line_of(each.content) for each in self.kept.noteworthy()}
        text, records = self.kept.text, dict(self.kept.records)
        edits, _ = self.kept.sync(BIG)
        assert not edits
        assert (self.kept.text, self.kept.records) == (text, records)


TwoWriters.TestCase.settings = settings(
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


class TestTwoWriters(TwoWriters.TestCase):
    """No edit is lost, and nothing that ended comes back, whatever a person and memory do."""


@pytest.mark.parametrize(
    ("category", "content", "title"),
    [
        ("constraint", "The user never smokes.", "About the user"),
        ("preference", "The user does not work at Siemens.", "About the user"),
        ("preference", "The user trains on Tuesdays.", "About the user"),
        ("preference", "The user hates mushrooms.", "Preferences"),
        ("event", "The user's ex-boyfriend is called Karl.", "People"),
        ("event", "The user used to live in Rome.", "About the user"),
        ("event", "The user was diagnosed with depression.", "About the user"),
        ("event", "The user bought two tickets.", "Plans and events"),
        ("state", "The deadline is 15 August 2026.", "Plans and events"),
        ("decision", "The user decided to use NATS.", "Decisions"),
        (None, "The deadline is 15 August 2026.", "Facts"),
    ],
)
def test_a_topic_is_what_the_text_is_about(category, content, title):
    """Where a category is too coarse, the words of a fact decide; without one it is a fact."""
    assert topic(fact("f1", content, category=category)) == title

"""MEMORY.md and the store, kept in step: model-based, on real files and real databases."""

import random
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from noting import MINUTE, by_hand, clock_of, facts, items, memory_file

from memoranda.model.notes import line_of
from memoranda.notes.document import parse

SECTIONS = ("Facts", "Preferences", "People", "Trips")
TOPICS = ("tea", "chess", "boats", "rain", "trains", "music", "maps", "bread")
OPENINGS = ("Ana likes", "Bo collects", "The office has", "Nobody here wants", "Zoe asked for")
PROSE = ("A word of mine.", "See also the wiki:", "> quoted by hand")
WHO = st.integers(0, 1)


class TwoWay(RuleBasedStateMachine):
    """Two memories of one file, a person with an editor, and what must be true of them.

    ``believed`` is what is to be believed once all is in step; ``seen`` what a person has seen
    removed for good; ``prose`` what is no fact and must stay.
    """

    def __init__(self):
        """Open two memories on one database."""
        super().__init__()
        self.stack = ExitStack()
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.both = [by_hand(folder / "a.db", notes={"max_memory_size": 100_000}) for _ in range(2)]
        for memory in self.both:
            self.stack.callback(memory.close)
        self.believed, self.gone, self.prose = set(), set(), Counter()
        self.number = 0
        self.dirty = False

    def teardown(self):
        """Close."""
        self.stack.close()

    def new(self, opening, topic):
        """Return a statement that nobody made before."""
        self.number += 1
        return f"{opening} {topic} number {self.number}."

    def tick(self):
        """Let a minute pass for everybody."""
        for memory in self.both:
            clock_of(memory).advance(MINUTE)

    def known(self, text):
        """Return the record that says a text."""
        found = self.both[0].records(kind="fact", limit=10_000)
        return next(r for r in found if r.content == text and r.superseded_by is None)

    def path(self):
        """Return the file."""
        return memory_file(self.both[0])

    @initialize()
    def begin(self):
        """Begin with a few facts in the file."""
        for topic in TOPICS[:4]:
            text = self.new(OPENINGS[0], topic)
            self.both[0].remember(text)
            self.believed.add(text)
        self.both[0].notes.sync()

    # In the store: what is there is in step first, or store and file would be a conflict

    @rule(who=WHO, opening=st.sampled_from(OPENINGS), topic=st.sampled_from(TOPICS))
    def remember(self, who, opening, topic):
        """Remember something."""
        text = self.new(opening, topic)
        self.both[who].remember(text)
        self.believed.add(text)
        self.tick()

    @precondition(lambda self: self.noteworthy())
    @rule(who=WHO, data=st.data(), topic=st.sampled_from(TOPICS))
    def correct(self, who, data, topic):
        """Correct something in the store."""
        old = data.draw(st.sampled_from(self.noteworthy()))
        new = self.new("Corrected:", topic)
        self.both[who].correct(self.known(old).id, new)
        self.replaced(old, new)

    @precondition(lambda self: self.noteworthy())
    @rule(who=WHO, data=st.data())
    def forget(self, who, data):
        """Forget something in the store."""
        old = data.draw(st.sampled_from(self.noteworthy()))
        self.both[who].forget(self.known(old).id)
        self.replaced(old, None)

    def noteworthy(self):
        """Return what store and file agree upon: what a person is not just editing."""
        here = set(facts(self.both[0]))
        return sorted(here & self.believed & set(items(self.both[0])))

    def replaced(self, old, new):
        """Take note that something ended."""
        self.believed.discard(old)
        self.gone.add(old)
        if new is not None:
            self.believed.add(new)
        self.tick()

    # In the file, by hand

    def edit(self, change):
        """Change the lines of the file."""
        lines = self.path().read_text().splitlines()
        change(lines)
        self.path().write_text("\n".join([*lines, ""]))
        self.dirty = True
        self.tick()

    @rule(opening=st.sampled_from(OPENINGS), topic=st.sampled_from(TOPICS), data=st.data())
    def add_line(self, opening, topic, data):
        """Write a new line, somewhere after a heading."""
        text = self.new(f"By hand: {opening}", topic)
        section = data.draw(st.sampled_from(SECTIONS))

        def change(lines):
            if f"## {section}" in lines:
                lines.insert(lines.index(f"## {section}") + 1, f"- {text}")
            else:
                lines += ["", f"## {section}", "", f"- {text}"]

        self.edit(change)
        self.believed.add(text)

    def at(self, lines, text):
        """Return the place of the line that says a text."""
        return next(place for place, line in enumerate(lines) if line.strip() == f"- {text}")

    @precondition(lambda self: self.noteworthy())
    @rule(data=st.data(), topic=st.sampled_from(TOPICS))
    def change_line(self, data, topic):
        """Change the last words of a line."""
        old = data.draw(st.sampled_from(self.noteworthy()))
        self.number += 1
        new = f"{old.rstrip('.')} and {topic} {self.number}."

        def change(lines):
            lines[self.at(lines, old)] = f"- {new}"

        self.edit(change)
        self.replaced(old, new)

    @precondition(lambda self: self.noteworthy())
    @rule(data=st.data())
    def remove_line(self, data):
        """Take a line out, and have it read.

        By itself: beside another edit it may look as if an editor had not seen the line.
        """
        self.sync(who=0)
        old = data.draw(st.sampled_from(self.noteworthy()))
        self.edit(lambda lines: lines.pop(self.at(lines, old)))
        self.replaced(old, None)
        self.sync(who=0)

    @precondition(lambda self: self.noteworthy())
    @rule(data=st.data())
    def move_line(self, data):
        """Move a line to the end, under another heading perhaps."""
        old = data.draw(st.sampled_from(self.noteworthy()))
        title = data.draw(st.sampled_from(SECTIONS))

        def change(lines):
            lines.append(lines.pop(self.at(lines, old)))
            if data.draw(st.booleans()):
                lines[-1:] = ["", f"## {title}", "", lines[-1]]

        self.edit(change)

    @rule(text=st.sampled_from(PROSE), top=st.booleans())
    def write_prose(self, text, top):
        """Write what is no fact: a comment of one's own."""
        self.number += 1
        said = f"<!-- {text} {self.number} -->"
        self.edit(lambda lines: lines.insert(0, said) if top else lines.extend(["", said]))
        self.prose[said] += 1

    # In step

    @rule(who=WHO)
    def sync(self, who):
        """Bring file and store into step."""
        memory = self.both[who]
        memory.notes.sync(accept_removals=True)
        self.dirty = False
        text = self.path().read_text()
        assert sorted(facts(memory)) == sorted(self.believed)
        assert sorted(items(memory)) == sorted(map(line_of, self.believed))
        assert [memory.notes.sync().written for memory in self.both] == [False, False]
        assert self.path().read_text() == text
        assert memory.verify() == []

    @rule(who=WHO)
    def look(self, who):
        """Look at the notes as a context does."""
        told = self.both[who].notes.context_text()
        assert not self.gone & {item.text for item in parse(told).items}

    @invariant()
    def nothing_of_a_persons_is_lost(self):
        """What a person wrote that is no fact stays; what is gone is believed by nobody."""
        text = self.path().read_text()
        assert all(text.count(said) == count for said, count in self.prose.items())
        if not self.dirty:
            assert not self.gone & set(facts(self.both[0]))


FEW = settings(
    max_examples=examples(8), stateful_step_count=18, suppress_health_check=list(HealthCheck)
)
TwoWayTest = TwoWay.TestCase
TwoWayTest.settings = FEW


def change_by_chance(memory, dice, number):
    """Change a line or a record, or add one; return what it said before, and what is by hand."""
    path = memory_file(memory)
    text = path.read_text() if path.exists() else "# Memory\n"
    lines = [item.text for item in parse(text).items]
    believed = [r for r in memory.records(kind="fact", limit=999) if not r.superseded_by]
    chosen = dice.choice(("remember", "correct", "forget", "add", "change", "remove"))
    if chosen in {"correct", "forget"} and believed:
        record = dice.choice(believed)
        if chosen == "correct":
            memory.correct(record.id, f"Corrected {number}.")
        else:
            memory.forget(record.id)
        return record.content, None
    if chosen in {"change", "remove"} and lines:
        old = dice.choice(lines)
        new = f"{old} Or {number}." if chosen == "change" else None
        path.write_text(text.replace(f"- {old}\n", f"- {new}\n" if new else ""))
        return old, new
    if chosen == "add":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}- By hand {number}.\n")
        return None, f"By hand {number}."
    memory.remember(f"Fact {number} of the sea.", decay_rate=dice.choice((0, 0.1)))
    return None, None


@given(seed=st.integers(0, 10**9), size=st.sampled_from((256, 400, 100_000)))
@settings(max_examples=examples(8))
def test_contested_lines_lose_nothing_of_a_person(seed, size):
    """Whoever ends a line, it stays ended; what a person wrote stays, also in a file too small."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    mine, ended = set(), set()
    with (
        tempfile.TemporaryDirectory() as place,
        by_hand(Path(place) / "a.db", notes={"max_memory_size": size}) as memory,
    ):
        for number in range(30):
            clock_of(memory).advance(MINUTE)
            old, new = change_by_chance(memory, dice, number)
            mine = (mine | {new}) - {old, None}
            ended |= {old} - {None}
            if number % 4 == 3:  # Store and editor have changed the same lines between two looks.
                memory.notes.sync(accept_removals=True)
                assert mine <= set(items(memory)) <= set(facts(memory))
                assert not ended & set(facts(memory))
                assert not memory.notes.sync().written
                assert memory.verify() == []


def test_a_line_stands_for_all_facts_that_say_it(tmp_path):
    """Where it is changed, one of them is corrected and the others are forgotten."""
    with by_hand(tmp_path / "a.db") as memory:
        for text in ("Ana likes tea", "Ana  likes\ntea", "Rex is a dog"):
            memory.remember(text)
        text = memory.notes.read_memory()
        memory_file(memory).write_text(text.replace("Ana likes tea", "Ana likes coffee"))
        report = memory.notes.sync()
        assert [record.content for record in report.corrected] == ["Ana likes coffee"]
        assert len(report.forgotten) == 1
        assert facts(memory) == ["Ana likes coffee", "Rex is a dog"]

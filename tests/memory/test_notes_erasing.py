"""``forget(erase=True)`` takes what was erased out of all notes, and nothing else (law 7)."""

from contextlib import closing

import pytest
from noting import HISTORY, MINUTE, by_hand, clock_of, edit, facts, items

from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.notes import Notes
from memoranda.notes.model_summarizer import Consolidation
from memoranda.testing.models import ScriptedLLM

SAID = "I live in Timbuktu."
FACT = "The user lives in Timbuktu."
DAMAGED = "MEMORY.md.damaged"


def talk(memory, session, *texts):
    """Say texts in a conversation, a minute apart; return it."""
    chat = memory.conversation(session)
    for text in texts:
        chat.add("user", text)
        clock_of(memory).advance(MINUTE)
    return chat


def everywhere(folder, *words):
    """Return the files under a folder that hold one of the words, in whatever case."""
    return [
        str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for word in words
        if word.casefold().encode() in path.read_bytes().lower()
    ]


def blocks(path):
    """Return the entries of a file of the history, byte for byte."""
    first, *others = path.read_bytes().split(b"\n## ")
    return [first.removeprefix(b"## "), *others]


@pytest.mark.parametrize("modelled", [True, False])
def test_no_byte_of_it_is_left(tmp_path, modelled):
    """Out of MEMORY.md, its damaged rest, the history and its months; other entries keep theirs."""
    path = tmp_path / "a.db"
    with closing(by_hand(path)) as memory:
        if modelled:
            memory._services.models.model = ScriptedLLM(
                {
                    ClaimsAnswer: [
                        ClaimsAnswer([]),
                        ClaimsAnswer([ClaimAnswer(FACT, ["t1"])]),
                        ClaimsAnswer([]),
                    ],
                    Consolidation: [
                        Consolidation(f"They spoke of {name}.")
                        for name in ("a dog", "a town, timbuktu", "rain")
                    ],
                }
            )
        talk(memory, "one", "I have a dog named Rex.")
        memory.consolidate()
        talk(memory, "two", SAID, "I work for Acme as a nurse.")
        memory.consolidate()
        talk(memory, "three", "I'm allergic to peanuts.")
        memory.consolidate()
        memory.remember("Ana owns a kite.")
        notes = memory.notes
        notes.sync()
        folder = notes.folder
        (folder / DAMAGED).write_text(f"- {FACT}\n- half a li")
        notes.append_history(f"By hand: {SAID}\n\nAnd a second paragraph of mine.")
        (month,) = folder.glob("HISTORY-*.md")
        before = {name: blocks(folder / name) for name in (HISTORY, month.name)}
        (episode,) = [r for r in memory.records(kind="episode") if r.content == SAID]
        receipt = memory.forget(episode.id, erase=True)
        assert receipt.erased
        assert receipt.purged
        # The line of the fact, that of the damaged rest, the entry of the talk, and that by hand.
        assert receipt.notes == 4
        assert everywhere(tmp_path, "timbuktu") == []
        assert FACT not in facts(memory)
        assert sorted(items(memory)) == facts(memory)
        assert (folder / DAMAGED).read_text() == "[erased]\n- half a li"
        for name in (HISTORY, month.name):
            after = blocks(folder / name)
            assert len(after) == len(before[name])
            for old, new in zip(before[name], after, strict=True):
                if b"imbuktu" not in old and b"session=two" not in old:
                    assert new == old
        told = next(e.text for e in notes.history() if "session=two" in e.text)
        assert "[erased]" in told
        assert ("Acme" in told) is not modelled  # A model's paragraph goes as a whole.
        assert "And a second paragraph of mine." in (folder / HISTORY).read_text()
        assert memory.verify() == []
        memory.consolidate()
        assert everywhere(tmp_path, "timbuktu") == []
        assert len(notes.history()) == 4


def test_a_session_of_which_nothing_is_left(tmp_path):
    """The only turn of a session: its entry says that it was erased, and stays one."""
    with closing(by_hand(tmp_path / "a.db")) as memory:
        talk(memory, "one", SAID)
        memory.consolidate()
        (episode,) = memory.records(kind="episode")
        memory.forget(episode.id, erase=True)
        (entry,) = memory.notes.history()
        assert "\n[erased]\n" in entry.text
        assert everywhere(tmp_path, "timbuktu") == []


def test_a_raw_entry_loses_the_turn(tmp_path):
    """What was kept raw is erased by its line, and the session is told without it."""
    with closing(by_hand(tmp_path / "a.db")) as memory:
        talk(memory, "one", SAID, "I work for Acme as a nurse.")
        memory._services.history_writer(memory._scope).write_fallback("one", None)
        (episode, _) = memory.records(kind="episode")
        memory.forget(episode.id, erase=True)
        assert everywhere(tmp_path, "timbuktu") == []
        memory.consolidate()
        assert everywhere(tmp_path, "timbuktu") == []
        assert "Acme" in " ".join(entry.text for entry in memory.notes.history())
        assert facts(memory) == sorted(items(memory)) != []


@pytest.mark.parametrize("by_agent", [True, False])
def test_the_notes_of_agents_are_cleaned_too(tmp_path, by_agent):
    """Whoever erases it, user or agent: it goes out of the folders of all of them."""
    with closing(by_hand(tmp_path / "a.db")) as memory:
        talk(memory, "one", SAID, "I work for Acme as a nurse.")
        cook, planner = (memory.as_user("ana", agent=name) for name in ("cook", "planner"))
        for each in (memory, cook, planner):
            each.consolidate()
            each.notes.sync()
        for each in (cook, planner):
            (each.notes.folder / DAMAGED).write_text(f"- {FACT}\nrest")
            each.notes.append_history(f"An entry of its own: {SAID}")
        folders = {each.notes.folder for each in (memory, cook, planner)}
        assert len(folders) == 3
        assert len(everywhere(memory.notes.folder, "timbuktu")) >= 3
        eraser = cook if by_agent else memory
        (episode,) = [r for r in memory.records(kind="episode") if "Timbuktu" in r.content]
        receipt = eraser.forget(episode.id, erase=True)
        assert receipt.notes >= 5
        assert everywhere(tmp_path, "timbuktu") == []
        for each in (memory, cook, planner):
            each.notes.sync()
            assert any("Acme" in line for line in items(each))
        assert memory.verify() == []
        assert everywhere(tmp_path, "timbuktu") == []


def test_what_another_fact_says_stays_believed(tmp_path):
    """A line that only contains the erased words is its own fact's, and a person's edit stays."""
    with closing(by_hand(tmp_path / "a.db")) as memory:
        town = memory.remember("Timbuktu")
        memory.remember("Bo has been to Timbuktu twice.")
        memory.remember("Ana owns a kite.")
        memory.remember("Zoe sails.")
        memory.notes.sync()
        edit(memory, lambda text: text.replace("- Zoe sails.\n", "- Zoe paints.\n"))
        edit(memory, lambda text: text.replace("- Ana owns a kite.\n", ""))
        memory.forget(town.id, erase=True)
        assert facts(memory) == ["Bo has been to Timbuktu twice.", "Zoe paints."]
        assert sorted(items(memory)) == facts(memory)


def test_nothing_of_another_user_is_touched(tmp_path):
    """The same words in another user's notes are another user's (law 6)."""
    with closing(by_hand(tmp_path / "a.db")) as memory:
        bo = memory.as_user("bo")
        for each in (memory, bo):
            talk(each, "one", SAID)
            each.consolidate()
        before = {p.name: p.read_bytes() for p in bo.notes.folder.glob("*.md")}
        (episode,) = memory.records(kind="episode")
        memory.forget(episode.id, erase=True)
        assert everywhere(memory.notes.folder, "timbuktu") == []
        assert {p.name: p.read_bytes() for p in bo.notes.folder.glob("*.md")} == before


def test_a_fact_alone_leaves_what_was_said(tmp_path):
    """Erasing a fact takes its line; the talk it came from is told on."""
    with closing(by_hand(tmp_path / "a.db")) as memory:
        talk(memory, "one", SAID)
        memory.consolidate()
        (fact,) = memory.records(kind="fact")
        receipt = memory.forget(fact.id, erase=True)
        assert receipt.notes == 1
        assert items(memory) == []
        assert "Timbuktu" in Notes(memory.notes.folder).history()[0].text

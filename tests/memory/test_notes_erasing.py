"""``forget(erase=True)`` takes what was erased out of all notes, and nothing else (law 7)."""

from dataclasses import replace

import pytest
from kept_bytes import holding
from learning_talks import talk
from noting import HISTORY, by_hand, edit, facts, items

from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.notes import Notes
from memoranda.notes.model_summarizer import Consolidation
from memoranda.testing.models import ScriptedLLM

SAID = "I live in Timbuktu."
FACT = "The user lives in Timbuktu."
DAMAGED = "MEMORY.md.damaged"


def blocks(path):
    """Return the entries of a file of the history, byte for byte."""
    first, *others = path.read_bytes().split(b"\n## ")
    return [first.removeprefix(b"## "), *others]


def test_no_id_of_an_erased_conversation_is_left(tmp_path):
    """Neither in the history nor in its months: an id is often a title."""
    with by_hand(tmp_path / "a.db") as memory:
        for name in ("my divorce/lawyer", "garden", "a"):
            talk(memory, name, "I have a dog named Rex.", "We decided to go to Porto in May.")
        memory.consolidate()
        assert len(holding(tmp_path, "divorce")) >= 3
        memory.delete_conversation("my divorce/lawyer", erase=True)
        assert holding(tmp_path, "divorce") == []
        assert len(holding(tmp_path, "session=garden")) == 2
        memory.delete_conversation("a", erase=True)
        assert len(holding(tmp_path, "<!-- memoranda: session=[erased] turns=0-1 -->")) == 2


@pytest.mark.parametrize("modelled", [True, False])
def test_no_byte_of_it_is_left(tmp_path, modelled):
    """Out of MEMORY.md, its damaged rest, the history and its months; other entries keep theirs."""
    path = tmp_path / "a.db"
    with by_hand(path) as memory:
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
        assert holding(tmp_path, "timbuktu") == []
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
        assert holding(tmp_path, "timbuktu") == []
        assert len(notes.history()) == 4


def test_a_raw_entry_loses_the_turn(tmp_path):
    """What was kept raw is erased by its line, and the session is told without it."""
    with by_hand(tmp_path / "a.db") as memory:
        talk(memory, "one", SAID, "I work for Acme as a nurse.")
        memory._services.history_writer(memory._scope).write_fallback("one", None)
        (episode, _) = memory.records(kind="episode")
        memory.forget(episode.id, erase=True)
        assert holding(tmp_path, "timbuktu") == []
        memory.consolidate()
        assert holding(tmp_path, "timbuktu") == []
        assert "Acme" in " ".join(entry.text for entry in memory.notes.history())
        assert facts(memory) == sorted(items(memory)) != []


def test_no_entry_tells_what_is_erased_while_it_is_written(tmp_path):
    """Neither what was read before, nor what is written between the notes and the store."""
    with by_hand(tmp_path / "a.db") as memory:
        services = memory._services

        def erase_meanwhile(_):
            memory.forget(memory.records(session="one")[0].id, erase=True)
            return Consolidation("They spoke of Timbuktu.")

        told = [erase_meanwhile, Consolidation("They spoke of Acme.")]
        services.models.model = ScriptedLLM({ClaimsAnswer: ClaimsAnswer([]), Consolidation: told})
        talk(memory, "one", SAID, "I work for Acme as a nurse.")
        memory.consolidate()
        assert holding(tmp_path, "timbuktu") == []
        (entry,) = memory.notes.history()
        assert "They spoke of Acme." in entry.text
        services.models.model = None
        talk(memory, "two", SAID)
        eraser, writer = services.eraser(memory._scope), services.history_writer(memory._scope)

        def clean(*given):
            cleaned = eraser.erase_history(*given)
            writer.write_fallback("two")
            return cleaned

        episode = memory.records(session="two")[0]
        replace(eraser, erase_history=clean).erase([episode.id])
        assert holding(tmp_path, "timbuktu") == []
        assert "session=two" in memory.notes.history()[0].text


def test_the_notes_of_agents_are_cleaned_and_those_of_other_users_are_not(tmp_path):
    """Whoever erases it, an agent too: it goes out of the user's folders, and of no other's."""
    with by_hand(tmp_path / "a.db") as memory:
        bo = memory.as_user("bo")
        talk(memory, "one", SAID, "I work for Acme as a nurse.")
        talk(bo, "one", SAID)
        cook, planner = (memory.as_user("ana", agent=name) for name in ("cook", "planner"))
        for each in (memory, cook, planner, bo):
            each.consolidate()
            each.notes.sync()
        for each in (cook, planner):
            (each.notes.folder / DAMAGED).write_text(f"- {FACT}\nrest")
            each.notes.append_history(f"An entry of its own: {SAID}")
        before = {path.name: path.read_bytes() for path in bo.notes.folder.glob("*.md")}
        assert len(holding(memory.notes.folder, "timbuktu")) >= 3
        (episode,) = [r for r in memory.records(kind="episode") if "Timbuktu" in r.content]
        assert cook.forget(episode.id, erase=True).notes >= 5
        for each in (memory, cook, planner):
            each.notes.sync()
            assert any("Acme" in line for line in items(each))
        assert holding(memory.notes.folder, "timbuktu") == []
        assert {path.name: path.read_bytes() for path in bo.notes.folder.glob("*.md")} == before


def test_what_stands_on_its_own_stays(tmp_path):
    """A line that only contains the erased words, a person's edit, and the talk behind a fact."""
    with by_hand(tmp_path / "a.db") as memory:
        talk(memory, "one", SAID)
        memory.consolidate()
        (fact,) = memory.records(kind="fact")
        assert memory.forget(fact.id, erase=True).notes == 1
        assert items(memory) == []
        assert "Timbuktu" in Notes(memory.notes.folder).history()[0].text
        town = memory.remember("Timbuktu")
        memory.remember_many(["Bo has been to Timbuktu twice.", "Ana owns a kite.", "Zoe sails."])
        memory.notes.sync()
        edit(memory, lambda text: text.replace("- Zoe sails.\n", "- Zoe paints.\n"))
        edit(memory, lambda text: text.replace("- Ana owns a kite.\n", ""))
        memory.forget(town.id, erase=True)
        assert facts(memory) == ["Bo has been to Timbuktu twice.", "Zoe paints."]
        assert sorted(items(memory)) == facts(memory)


def test_a_folder_that_was_away_brings_nothing_back(tmp_path):
    """What was erased while the notes were on another disk goes from them, and is no new fact."""
    with by_hand(tmp_path / "a.db") as memory:
        fact = memory.remember(FACT)
        memory.notes.sync()
        folder = memory.notes.folder
        away = folder.rename(tmp_path / "away")
        memory.forget(fact.id, erase=True)
        away.rename(folder)
        assert memory.notes.sync().written
        assert holding(folder, "timbuktu") == facts(memory) == []

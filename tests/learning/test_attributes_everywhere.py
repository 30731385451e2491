"""A fact's attribute counts alike whoever wrote the fact: rules, a model, a person's hand."""

import asyncio

from bare_environment import run_python
from learning_talks import DAY, START, contents, remembering, talk
from rule_facts import claims_of, turn
from tables import each_row, each_text

from memoranda.facts.reader import read_facts, read_written_facts
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer, extract_claims
from memoranda.testing.models import ScriptedLLM


def told(fact):
    """Return what a fact says, whatever its words."""
    return fact.subject, fact.attribute, fact.value, fact.ended


def by_model(said, written):
    """Return the claims of a model that writes this of what was said."""
    model = ScriptedLLM([ClaimsAnswer([ClaimAnswer(written, ["t1"])])])
    return asyncio.run(extract_claims(model, [turn(said)]))


@each_row
def test_what_is_written_of_somebody_reads_as_what_they_say(said, written):
    """The third person states the same attributes as the first, for rules and for a model.

    I live in Delft. | The user lives in Delft.
    I moved to Delft in May 2024. | The user moved to Delft in May 2024.
    I work as a welder. | The user works as a welder.
    I'm allergic to peanuts. | The user is allergic to peanuts.
    I'm vegan now. | The user is now vegan.
    My wife is called Dana. | The user's wife is called Dana.
    I sold my car. | The user sold their car.
    I no longer work at Contoso. | The user no longer works at Contoso.
    Ich wohne in Bremen. | Der Nutzer wohnt in Bremen.
    Ich arbeite bei Siemens. | Der Nutzer arbeitet bei Siemens.
    Vivo en Granada. | El usuario vive en Granada.
    私は京都に住んでいます。 | ユーザーは京都に住んでいる。
    妻の名前は由美子です。 | ユーザーの妻の名前は由美子。
    卵アレルギーです。 | ユーザーに卵のアレルギーがある。
    我住在成都。 | 用户住在成都。
    我老婆叫陈静。 | 用户的老婆叫陈静。
    Ik woon in Gent. | De gebruiker woont in Gent.
    Trabajo en Correos. | El usuario trabaja en Correos.
    """
    facts = [told(fact) for fact in read_facts(said)]
    assert [told(fact) for fact in read_written_facts(written)] == facts != []
    drawn = [
        {told(claim.fact) for claim in claims if claim.fact}
        for claims in (by_model(said, written), claims_of(said))
    ]
    assert drawn[0] == drawn[1] != set()


@each_text
def test_what_is_no_fact_in_the_first_person_is_none_in_the_third(written):
    """A wish, a visit, a question and a supposition state nothing.

    The user would like to move to Oslo. | The user visited Oslo in 2023.
    Does the user live in Oslo? | If the user lived in Oslo, it would be cold.
    """
    assert read_written_facts(written) == ()


def test_a_speaker_with_a_name_is_read_as_the_one_who_speaks():
    """Of two people in a talk, each has their own attributes."""
    [fact] = read_written_facts("Caroline's sister is called Ines.", "Caroline")
    assert (fact.subject, fact.attribute, fact.value) == ("caroline", "sibling", "Ines")


def test_a_claim_of_a_model_that_states_two_attributes_stays_one():
    """Its sentence would lose what stands between them; who is named is no second attribute."""
    both = "The user lives in Delft and works at Contoso."
    [claim] = by_model("I live in Delft and I work at Contoso.", both)
    assert (claim.content, claim.fact) == (both, None)
    [claim] = by_model("My sister Ines lives in Porto.", "The user's sister Ines lives in Porto.")
    assert told(claim.fact) == ("ines", "home", "Porto", None)


@each_row
def test_what_a_program_stored_is_ended_by_what_the_person_says_of_it(stored, said, left, ended):
    """``remember`` needs no attribute: its text tells it, among many texts that are nearer.

    The user lives in Delft | I've relocated to Bremen. | lives in Bremen | yes
    Ana is vegetarian | I'm vegan now. | vegan | yes
    I drive a Volvo | I drive a Skoda now. | Skoda | yes
    Ana works at Contoso. | I started a new job at Fabrikam. | Fabrikam | yes
    Ben lives in Delft | I've relocated to Bremen. | lives in Bremen | no
    Ana lives in Delft | In 2009 I lived in Porto. | Porto | no
    """
    with remembering() as memory:
        memory.remember(stored, event_time=START - DAY)
        memory.remember_many([f"Bremen has sight number {n}, seen on tour {n}" for n in range(40)])
        talk(memory, "s", said)
        memory.consolidate()
        facts = contents(memory)
        assert (stored in facts) == (ended == "no")
        assert any(left in each for each in facts)


def test_a_line_written_by_hand_gives_way_to_a_person_alone(tmp_path):
    """What a person wrote into MEMORY.md is ended by their word, and by no agent's."""
    with remembering(tmp_path / "m.db") as memory:
        memory.notes.write_memory("# Memory\n\n- The user lives in Delft.\n")
        talk(memory, "agent", ("assistant", "The user lives in Porto."))
        memory.consolidate()
        assert contents(memory) == ["The user lives in Delft."]
        talk(memory, "person", "I've relocated to Bremen.")
        memory.consolidate()
        [content] = contents(memory)
        assert "Bremen" in content


def test_who_learns_nothing_loads_no_forms(tmp_path):
    """Importing reads no file of a language; storing and finding reads no forms of facts."""
    code = f"""
import sys
from memoranda import Memory
from memoranda.text import patterns
print(patterns.load.cache_info().misses, patterns.words_of.cache_info().misses)
with Memory({str(tmp_path / "m.db")!r}, user="ana") as memory:
    memory.remember("Ana lives in Delft")
    assert memory.search("Delft")
reader = sys.modules.get("memoranda.facts.reader")
print(reader.fact_reader.cache_info().currsize if reader else 0)
"""
    ran = run_python("-c", code)
    assert ran.stdout.split() == ["0", "0", "0"]

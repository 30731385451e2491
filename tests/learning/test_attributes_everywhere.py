"""A fact's attribute counts alike whoever wrote the fact: rules, a model, a person's hand."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta

from tables import each_row

from memoranda import Memory
from memoranda.entities.rules import RuleExtractor
from memoranda.facts.reader import Speaker, read_facts, read_written_facts
from memoranda.learning.claims import Turn
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.learning.llm.claim_checking import ClaimAnswer
from memoranda.learning.llm.model_stages import ClaimsAnswer, extract_claims
from memoranda.testing.models import ScriptedLLM
from memoranda.text.dates.statements import DateParser

AT = datetime(2025, 3, 3, 9, tzinfo=UTC)
# What somebody says, and how a model or a person writes it down.
PAIRS = [
    ("I live in Delft.", "The user lives in Delft."),
    ("I moved to Delft in May 2024.", "The user moved to Delft in May 2024."),
    ("I work as a welder.", "The user works as a welder."),
    ("I'm allergic to peanuts.", "The user is allergic to peanuts."),
    ("I'm vegan now.", "The user is now vegan."),
    ("My wife is called Dana.", "The user's wife is called Dana."),
    ("I sold my car.", "The user sold their car."),
    ("I no longer work at Contoso.", "The user no longer works at Contoso."),
    ("My sister Ines lives in Porto.", "The user's sister Ines lives in Porto."),
    ("Ich wohne in Bremen.", "Der Nutzer wohnt in Bremen."),
    ("Ich arbeite bei Siemens.", "Der Nutzer arbeitet bei Siemens."),
    ("Vivo en Granada.", "El usuario vive en Granada."),
    ("私は京都に住んでいます。", "ユーザーは京都に住んでいる。"),
    ("妻の名前は由美子です。", "ユーザーの妻の名前は由美子。"),
    ("卵アレルギーです。", "ユーザーに卵のアレルギーがある。"),
    ("我住在成都。", "用户住在成都。"),
    ("我老婆叫陈静。", "用户的老婆叫陈静。"),
    ("Ik woon in Gent.", "De gebruiker woont in Gent."),
    ("Trabajo en Correos.", "El usuario trabaja en Correos."),
]


def told(fact):
    """What a fact says, whatever its words."""
    return fact.subject, fact.attribute, fact.value, fact.ended


def active(memory):
    """The facts that hold, by their text."""
    known = memory.records(kind="fact")
    return sorted(each.content for each in known if each.superseded_by is None)


def talk(memory, text):
    """Have the user say something, and learn it."""
    chat = memory.conversation(text)
    chat.add("user", text)
    chat.end()
    memory.consolidate()


@each_row(("said", "written"), PAIRS)
def test_what_is_written_of_somebody_reads_as_what_they_say(said, written):
    """The third person states the same attributes as the first."""
    assert read_facts(said)
    assert list(map(told, read_written_facts(written))) == list(map(told, read_facts(said)))


@each_row(
    "written",
    [
        "The user would like to move to Oslo.",
        "The user visited Oslo in 2023.",
        "Does the user live in Oslo?",
        "If the user lived in Oslo, it would be cold.",
    ],
)
def test_what_is_no_fact_in_the_first_person_is_none_in_the_third(written):
    """A wish, a visit, a question and a supposition state nothing."""
    assert read_written_facts(written) == ()


def test_a_speaker_with_a_name_is_read_as_the_one_who_speaks():
    """Of two people in a talk, each has their own attributes."""
    [fact] = read_written_facts("Caroline's sister is called Ines.", Speaker("Caroline"))
    assert (fact.subject, fact.attribute, fact.value) == ("caroline", "sibling", "Ines")


@each_row(("said", "written"), PAIRS)
def test_a_model_and_rules_draw_the_same_attributes(said, written):
    """Whoever extracts, the same talk gives the same subject, attribute and value."""
    page = [Turn("ep_1", "user", said, AT, person=True)]
    model = ScriptedLLM([ClaimsAnswer([ClaimAnswer(written, ["t1"])])])
    by_model = asyncio.run(extract_claims(model, page, reader=DateParser()))
    by_rules = RuleFactExtractor(DateParser(), RuleExtractor()).extract(page)
    facts = [{told(each.fact) for each in claims if each.fact} for claims in (by_model, by_rules)]
    assert facts[0] == facts[1] != set()


def test_a_claim_of_a_model_that_states_two_attributes_becomes_two():
    """So that one of them can end without the other."""
    page = [Turn("ep_1", "user", "I live in Delft and I work at Contoso.", AT, person=True)]
    answer = ClaimAnswer("The user lives in Delft and works at Contoso.", ["t1"])
    claims = asyncio.run(
        extract_claims(ScriptedLLM([ClaimsAnswer([answer])]), page, reader=DateParser())
    )
    assert [(each.fact.attribute, each.fact.value) for each in claims] == [
        ("home", "Delft"),
        ("employer", "Contoso"),
    ]


@each_row(
    ("stored", "said", "left"),
    [
        ("The user lives in Delft", "I've relocated to Bremen.", "Bremen"),
        ("Ana is vegetarian", "I'm vegan now.", "vegan"),
        ("I drive a Volvo", "I drive a Skoda now.", "Skoda"),
        ("Ana works at Contoso.", "I started a new job at Fabrikam.", "Fabrikam"),
    ],
)
def test_what_a_program_stored_is_ended_by_what_the_person_says(stored, said, left):
    """``remember`` needs no attribute: its text tells it."""
    with Memory(":memory:", user="ana") as memory:
        memory.remember(stored)
        talk(memory, said)
        [content] = active(memory)
        assert left in content


def test_an_older_fact_is_found_among_many_by_its_attribute():
    """However many others are nearer to the words of the newer one."""
    with Memory(":memory:", user="ana") as memory:
        memory.remember("Ana lives in Delft")
        memory.remember_many([f"Bremen has sight number {n}, seen on tour {n}" for n in range(40)])
        talk(memory, "I've relocated to Bremen.")
        assert "Ana lives in Delft" not in active(memory)


def test_what_is_known_of_somebody_else_stays():
    """The user's move is not that of a friend who was written down."""
    with Memory(":memory:", user="ana") as memory:
        memory.remember("Ben lives in Delft")
        talk(memory, "I've relocated to Bremen.")
        assert "Ben lives in Delft" in active(memory)


def test_a_line_written_by_hand_gives_way_to_a_person_alone(tmp_path):
    """What a person wrote into MEMORY.md is ended by their word, and by no agent's."""
    with Memory(tmp_path / "m.db", user="ana") as memory:
        memory.notes.write_memory("# Memory\n\n- The user lives in Delft.\n")
        assert active(memory) == ["The user lives in Delft."]
        chat = memory.conversation("agent")
        chat.add("assistant", "The user lives in Porto.")
        chat.end()
        memory.consolidate()
        assert active(memory) == ["The user lives in Delft."]
        talk(memory, "I've relocated to Bremen.")
        [content] = active(memory)
        assert "Bremen" in content


def test_what_is_said_of_long_before_ends_no_fact_of_today():
    """A fact stored for now outlasts what tells of years ago."""
    with Memory(":memory:", user="ana") as memory:
        memory.remember("Ana lives in Delft", event_time=datetime.now(UTC) - timedelta(days=1))
        talk(memory, "In 2009 I lived in Porto.")
        assert "Ana lives in Delft" in active(memory)


def test_who_learns_nothing_loads_no_forms(tmp_path):
    """Storing and finding what a program gives costs nothing of what reading a language takes."""
    code = f"""
import sys
from memoranda import Memory
with Memory({str(tmp_path / "m.db")!r}, user="ana") as memory:
    memory.remember("Ana lives in Delft")
    assert memory.search("Delft")
reader = sys.modules.get("memoranda.facts.reader")
print(reader.language_reader.cache_info().currsize if reader else 0)
"""
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert ran.stdout.strip() == "0"


@each_row(
    ("text", "named"),
    [
        ("猫を飼っています。名前はモモです。", "ユーザーの猫の名前はモモ。"),
        ("娘が一人います。名前はさくらです。", "ユーザーの娘の名前はさくら。"),
        ("我养了一只猫。它叫咪咪。", "用户的猫叫咪咪。"),
    ],
)
def test_a_name_belongs_to_what_the_sentence_before_told_of(text, named):
    """Who left out whose name it is means the one that was just spoken of, not themselves."""
    with Memory(":memory:", user="ana") as memory:
        talk(memory, text)
        assert named in active(memory)
        assert not [each for each in memory.records(kind="fact") if each.attribute == "name"]

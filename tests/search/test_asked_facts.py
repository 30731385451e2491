"""What a question asks for by its attribute: the fact that holds now comes first."""

from datetime import UTC, datetime, timedelta

import pytest
from tables import each_row, each_text

from memoranda import Memory, Settings
from memoranda.facts.questions import read_asked
from memoranda.testing.clocks import FrozenClock
from memoranda.text.small_talk import states_nothing

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
SESSIONS = [
    ["I live in Largs.", "My boss is Alasdair.", "My sister Dana lives in Oslo."],
    ["My sister's flat is lovely, and where she lives there is a boss of a mountain."],
    ["We moved to Gourock.", "My new boss is called Shona."],
    ["It's boss night!", "Where do people live who have no boss?"],
]


@pytest.fixture(scope="module")
def memory():
    """A memory of four sessions, in which home and manager changed."""
    clock = FrozenClock(BEGIN)
    settings = Settings(timezone="UTC")
    with Memory(":memory:", user="ana", settings=settings, clock=clock) as made:
        for number, turns in enumerate(SESSIONS):
            clock.set(BEGIN + timedelta(days=10 * number))
            chat = made.conversation(f"session-{number}")
            for text in turns:
                chat.add("user", text)
            chat.end()
            made.consolidate()
        clock.set(BEGIN + timedelta(days=60))
        yield made


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Where do I live?", "Gourock"),
        ("Which town do we live in these days?", "Gourock"),
        ("whereabouts am I living now", "Gourock"),
        ("Who is my boss?", "Shona"),
        ("who do I report to", "Shona"),
        ("What's the name of my manager?", "Shona"),
        ("Where does my sister live?", "Oslo"),
        ("Where is Dana living?", "Oslo"),
        ("What's my sister called?", "Dana"),
    ],
)
@pytest.mark.parametrize("kind", [None, "fact"])
def test_the_value_that_holds_now_is_in_the_first_hit(memory, question, value, kind):
    """In whatever words it is asked, of memory as a whole or of facts alone."""
    assert value in memory.search(question, kind=kind, limit=3)[0].record.content


@pytest.mark.parametrize(
    ("question", "told"), [("who do i report to", "Shona"), ("Where do I live?", "Gourock")]
)
def test_the_answer_is_recalled_however_it_was_worded(memory, question, told):
    """A model reads it even where it shares neither words nor meaning with the question."""
    first = memory.search(question, limit=1)[0]
    assert told in first.record.content
    assert "attribute" in first.why.arms
    assert told in memory.recall(question, budget=500).text


def test_of_many_instructions_only_the_one_that_is_asked_about_goes_first():
    """The others are not what was asked, nor newer news of it."""
    turns = [
        "From now on give me temperatures in Celsius.",
        "From now on end each answer with a joke, please.",
        "You can drop the jokes at the end of your answers, I have had my fill.",
    ]
    with Memory(":memory:", user="ana", settings=Settings(timezone="UTC")) as made:
        for number, text in enumerate(turns):
            chat = made.conversation(f"session-{number}")
            chat.add("user", text)
            chat.end()
            made.consolidate()
        first = made.search("Do I want a joke at the end of your answers?")[0]
        assert "joke" in first.record.content


def test_what_is_so_answers_before_what_is_not():
    """Asked for allergies, the one that is there comes before the one that is denied."""
    with Memory(":memory:", user="ana", settings=Settings(timezone="UTC")) as memory:
        chat = memory.conversation("session")
        chat.add("user", "I'm allergic to peanuts.")
        chat.add("user", "I'm allergic to latex.")
        chat.add("user", "I'm not allergic to peanuts any more.")
        chat.end()
        memory.consolidate()
        first = memory.search("What am I allergic to?", kind="fact", limit=1)[0].record.content
        assert "latex" in first


def test_who_asks_for_the_past_is_not_given_the_present(memory):
    """A question about how it was puts nothing first."""
    first = memory.search("Where did I live before?", limit=1)[0].record.content
    assert "Gourock" not in first


@pytest.mark.parametrize("question", ["Where do I live?", "Who is my boss?"])
def test_small_talk_is_found_but_never_before_a_statement(memory, question):
    """It is a factor in the score: nothing is left out for it."""
    hits = memory.search(question, limit=50)
    assert not states_nothing(hits[0].record.content)
    assert any(states_nothing(hit.record.content) for hit in hits)


@each_row
def test_a_statement_goes_before_the_answer_to_it(told, answer, question):
    """What an assistant only says again stands behind what somebody told.

    We called her Biscuit in the end, the puppy.
    | That is a fine name for a dog. | What is the name of the dog?
    """
    with Memory(":memory:", user="ana") as made:
        chat = made.conversation("one")
        chat.add("user", told)
        chat.add("assistant", answer)
        found = [hit.record.content for hit in made.search(question, kind="episode")]
        assert found == [told, answer]


def test_only_a_new_number_goes_before_the_fact_that_holds():
    """A later turn that speaks of another change is no answer."""
    with Memory(":memory:", user="ana") as made:
        for number, text in enumerate(
            ["I drive a Kia Niro.", "She now has to drive over to us, since her car moved."]
        ):
            chat = made.conversation(f"session-{number}")
            chat.add("user", text)
            chat.end()
            made.consolidate()
        assert "Kia" in made.search("What car am I driving?")[0].record.content


def test_no_statement_is_shown_beside_the_fact_that_stands_for_it(memory):
    """A fact that is put first takes the place of its turns."""
    hits = memory.search("Where is Dana living?", limit=50)
    ids = [hit.record.id for hit in hits]
    for hit in hits:
        assert not set(hit.record.source_ids) & set(ids) or hit.record.kind != "fact"


def test_another_user_is_told_nothing(memory):
    """What is known of one user puts nothing first for another."""
    assert memory.as_user("ben").search("Where do I live?") == []


@each_row
def test_a_question_names_its_attribute(question, attribute, about):
    """What it is about is told in words, or it is the user's own.

    Where do I live? | home |
    Which company do we work for now? | employer |
    What do they call me? | called |
    How much is my rent? | price | rent
    When is the board meeting? | date | board meeting
    What's my wife's name? | partner |
    How old is Declan? | age | declan
    What am I allergic to? | allergy |
    Wo wohne ich jetzt? | home |
    Wie alt ist Dana? | age | dana
    Bei welcher Firma bin ich? | employer |
    Was ist mein Lieblingsgetränk? | favourite | getränk
    Was vertrage ich nicht? | allergy |
    Met wie heb ik verkering? | partner |
    Waar woon ik nu? | home |
    Hoe heet mijn kat ook alweer? | pet |
    Wat voor werk doet Joost? | job | joost
    ¿Dónde vivo? | home |
    ¿A qué soy alérgica? | allergy |
    Où est-ce que j'habite ? | home |
    J'habite dans quelle ville maintenant ? | home |
    Où habite Claire ? | home | claire
    Comment s'appelle ma femme ? | partner |
    À quoi suis-je allergique ? | allergy |
    Je bosse où ? | employer |
    Quel âge j'ai ? | age |
    今どこに住んでる? | home |
    妻の名前は? | partner |
    田中さんの仕事は? | job | 田中
    我現在住哪裡? | home |
    我妹妹在哪里上班? | employer | 妹妹
    我最喜欢的水果是什么 | favourite | 水果
    Dove vivo adesso? | home |
    Come si chiama mia figlia? | child |
    Dove lavora Marco? | employer | marco
    """
    asked = [(each.attribute, each.about) for each in read_asked(question)]
    assert (attribute, about) in asked


@each_text
def test_what_is_no_such_question_asks_for_no_attribute_of_the_user(text):
    """A statement, an order or another question puts no fact about the user first.

    I moved to Oslo. | Book me a table for two. | Can you fix this function?
    """
    assert not [each for each in read_asked(text) if each.own]


@each_text
def test_a_pleasantry_or_a_question_states_nothing(text):
    """In any language.

    Noted! | It's choir night! | Happy new studio! | Danke! | ¿Qué tal? | Gracias, hasta luego
    What should she eat on the day? | Merci beaucoup | お大事に！
    """
    assert states_nothing(text)


@each_text
def test_what_tells_something_is_no_small_talk(text):
    """An exclamation mark or a question behind it takes nothing from a statement.

    We're in Gourock!! Keys on Friday. | They moved it to Friday! | It is at 9!
    I moved to Oslo, can you help? | Ich wohne jetzt in Bonn.
    """
    assert not states_nothing(text)


def test_an_instruction_is_found_with_what_it_is_about_until_it_is_revoked():
    """The turn that gave it, too; once it is forgotten, neither counts for more than others."""
    question = "Which libraries are used in this project?"
    with Memory(":memory:", user="ana", settings=Settings(timezone="UTC")) as memory:
        chat = memory.conversation("work")
        chat.add("user", "Always name the version when I ask about libraries.")
        chat.add("user", "The project has been late for weeks.")
        chat.end()
        memory.consolidate()
        (given,) = (each for each in memory.records(kind="fact") if each.attribute == "instruction")
        arms = [set(hit.why.arms) for hit in memory.search(question)]
        assert "instruction" in arms[0]
        memory.forget(given.id)
        assert all("instruction" not in hit.why.arms for hit in memory.search(question))

"""What a question asks for: the fact that holds now, or a text that tells it, comes first."""

from datetime import UTC, datetime, timedelta

import pytest
from tables import each_row, each_text, read_table

from memoranda import Memory, Settings
from memoranda.facts.questions import read_asked
from memoranda.search.questions import asks
from memoranda.testing.clocks import FrozenClock
from memoranda.text.small_talk import states_nothing

BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
SESSIONS = [
    ["I live in Largs.", "My boss is Alasdair.", "My sister Dana lives in Oslo."],
    ["My sister's flat is lovely, and where she lives there is a boss of a mountain."],
    ["We moved to Gourock.", "My new boss is called Shona."],
    ["It's boss night!", "Where do people live who have no boss?"],
]


def knowing(*sessions):
    """Return Ana's memory of sessions, ten days apart; a session is a turn or several."""
    clock = FrozenClock(BEGIN)
    made = Memory(":memory:", user="ana", settings=Settings(timezone="UTC"), clock=clock)
    for number, turns in enumerate(sessions):
        chat = made.conversation(f"session-{number}")
        for text in [turns] if isinstance(turns, str) else turns:
            chat.add("user", text)
        chat.end()
        made.consolidate()
        clock.advance(timedelta(days=10))
    return made


@pytest.fixture(scope="module")
def memory():
    """A memory of four sessions, in which home and manager changed."""
    with knowing(*SESSIONS) as made:
        yield made


@each_row
def test_the_value_that_holds_now_is_in_the_first_hit(memory, question, value):
    """In whatever words it is asked, of memory as a whole or of facts alone; a model reads it, too.

    Where do I live? | Gourock
    Which town do we live in these days? | Gourock
    whereabouts am I living now | Gourock
    Who is my boss? | Shona
    who do I report to | Shona
    What's the name of my manager? | Shona
    What's my sister called? | Dana
    """
    for kind in (None, "fact"):
        first = memory.search(question, kind=kind, limit=3)[0]
        assert value in first.record.content
        assert "attribute" in first.why.arms
    assert value in memory.recall(question, budget=500).text


def test_who_asks_for_the_past_is_not_given_the_present(memory):
    """A question about how it was puts nothing first; nor does it for another user."""
    first = memory.search("Where did I live before?", limit=1)[0].record.content
    assert "Gourock" not in first
    assert memory.as_user("ben").search("Where do I live?") == []


@each_text
def test_small_talk_is_found_but_never_before_a_statement(memory, question):
    """It is a factor in the score: nothing is left out for it.

    Where do I live? | Who is my boss?
    """
    hits = memory.search(question, limit=50)
    assert not states_nothing(hits[0].record.content)
    assert any(states_nothing(hit.record.content) for hit in hits)


def test_no_statement_is_shown_beside_the_fact_that_stands_for_it(memory):
    """A fact that is put first takes the place of its turns."""
    hits = memory.search("What's my sister called?", limit=50)
    ids = {hit.record.id for hit in hits}
    facts = [hit.record for hit in hits if hit.record.kind == "fact"]
    assert facts
    assert not [fact for fact in facts if ids & set(fact.source_ids)]


@each_row
def test_the_first_hit_is_what_was_asked_for(sessions, question, told):
    """Of sessions, parted by a stroke.

    # Of many instructions only the one that is asked about goes first.
    From now on give me temperatures in Celsius. / End each answer with a joke from now on.
    | Do I want a joke at the end of your answers? | joke
    # What is so answers before what is not.
    I'm allergic to peanuts. / I'm allergic to latex. / I'm not allergic to peanuts any more.
    | What am I allergic to? | latex
    # A later turn that speaks of another change is no answer.
    I drive a Kia Niro. / She now has to drive over to us, since her car moved.
    | What car am I driving? | Kia
    """
    with knowing(*sessions.split(" / ")) as memory:
        assert told in memory.search(question, limit=1)[0].record.content


def test_an_instruction_is_found_with_what_it_is_about_until_it_is_revoked():
    """The turn that gave it, too; once it is forgotten, neither counts for more than others."""
    question = "Which libraries are used in this project?"
    rule = "Always name the version when I ask about libraries."
    with knowing([rule, "The project has been late for weeks."]) as memory:
        (given,) = (each for each in memory.records(kind="fact") if each.attribute == "instruction")
        assert "instruction" in memory.search(question)[0].why.arms
        memory.forget(given.id)
        assert all("instruction" not in hit.why.arms for hit in memory.search(question))


ASKED = read_table("""
home |  | Where do I live? | Wo wohne ich jetzt? | Waar woon ik nu? | ¿Dónde vivo?
| Où est-ce que j'habite ? | J'habite dans quelle ville maintenant ? | 今どこに住んでる?
| 我現在住哪裡? | Dove vivo adesso?
employer |  | Which company do we work for now? | Bei welcher Firma bin ich? | Je bosse où ?
price | rent | How much is my rent?
date | board meeting | When is the board meeting?
partner |  | What's my wife's name? | Met wie heb ik verkering? | Comment s'appelle ma femme ?
| 妻の名前は?
age | declan | How old is Declan?
allergy |  | What am I allergic to? | Was vertrage ich nicht? | ¿A qué soy alérgica?
| À quoi suis-je allergique ?
age | dana | Wie alt ist Dana?
favourite | getränk | Was ist mein Lieblingsgetränk?
pet |  | Hoe heet mijn kat ook alweer?
job | joost | Wat voor werk doet Joost?
home | claire | Où habite Claire ?
age |  | Quel âge j'ai ?
job | 田中 | 田中さんの仕事は?
employer | 妹妹 | 我妹妹在哪里上班?
favourite | 水果 | 我最喜欢的水果是什么
child |  | Come si chiama mia figlia?
employer | marco | Dove lavora Marco?
""")


@each_row(
    ("attribute", "about", "question"), [(*row[:2], each) for row in ASKED for each in row[2:]]
)
def test_a_question_names_its_attribute(attribute, about, question):
    """What it is about is told in words, or it is the user's own."""
    assert (attribute, about) in [(each.attribute, each.about) for each in read_asked(question)]


@each_text
def test_what_is_no_such_question_asks_for_no_attribute_of_the_user(text):
    """A statement, an order or another question puts no fact about the user first.

    I moved to Oslo. | Book me a table for two. | Can you fix this function? | ⏎
    """
    assert not [each for each in read_asked(text) if each.own]


@each_text
def test_a_pleasantry_or_a_question_states_nothing(text):
    """In any language.

    Noted! | It's choir night! | Happy new studio! | Danke! | ¿Qué tal? | Gracias, hasta luego
    What should she eat on the day? | Merci beaucoup | お大事に!
    """
    assert states_nothing(text)


@each_text
def test_what_tells_something_is_no_small_talk(text):
    """An exclamation mark or a question behind it takes nothing from a statement.

    We're in Gourock!! Keys on Friday. | They moved it to Friday! | It is at 9!
    I moved to Oslo, can you help? | Ich wohne jetzt in Bonn. | ⏎
    """
    assert not states_nothing(text)


def first_said(question, *turns):
    """Return what a question finds first of (role, text), said nine days apart."""
    clock = FrozenClock(BEGIN)
    with Memory(":memory:", user="ana", settings=Settings(timezone="UTC"), clock=clock) as memory:
        for role, text in turns:
            clock.advance(timedelta(days=9))
            memory.remember(text, kind="episode", role=role)
        return memory.search(question)[0].record.content


def test_who_told_it_goes_before_who_says_it_again():
    """The assistant answers only where it is asked what it said."""
    said = (
        ("assistant", "The oven takes forty minutes."),
        ("user", "Slow, that oven: forty minutes."),
    )
    assert first_said("How many minutes does the oven take?", *said) == said[1][1]
    assert first_said("How many minutes did you say the oven takes?", *said) == said[0][1]


def test_an_earlier_question_is_no_evidence_and_hides_no_answer():
    """Law 16: who asked the same in other words said nothing of it."""
    asked = (("user", "My shoe size is 43."), ("user", "Do you know the size of my shoes?"))
    assert first_said("Which size of shoes do I wear?", *asked) == "My shoe size is 43."


@each_row
def test_a_question_needs_no_mark(text, question):
    """What begins as a question does is one; what only begins with its word is none.

    which part of town is my flat in | yes
    what noise freaks Gus out | yes
    how old is my sister | yes
    where do i work | yes
    who waters the plants when i'm away | yes
    in which city does Hilde live | yes
    what day's the chiro | yes
    what i owe vernon every month | yes
    who run the kitchen at my job | yes
    where we off to on honeymoon | yes
    when my servsafe run out | yes
    how much they want for the struts | yes
    crime number for the stolen saw | yes
    number for the plumber please | yes
    Maria, what's my locker | yes
    my race number for cork | yes
    wots aroha callin her salon | yes
    my blood group please they are asking me | yes
    how many units do I take at night, the nurse is asking | yes
    Kindly remind me of the painter's name. | yes
    did the plumber say when he comes | yes
    The wedding is on the 3rd, right? | yes
    Did I tell you where my keys are? | yes
    dose of my metformin | yes
    what antibiotic makes me break out | yes
    until when is my permit valid | yes
    which of the cats is on a diet | yes
    where in the hospital do i work | yes
    who'll stand up beside me | yes
    does mum still do dialysis | yes
    may I drive at night | yes
    May was a good month | no
    Since when I ask nobody answers | no
    did my left ankle in july so i see hannah the physio every second wednesday | no
    did my homework and went to bed | no
    I started with kickboxing, can you believe it? | no
    They charge for it although it was not my fault, isn't that wonderful of them? | no
    Please don't ask me how I am, ok? | no
    Did I mention that my sister lives in Coimbatore? | no
    My sister lives in Leeds, did I tell you? | no
    have a dose of a cold as well | no
    lost my pin for my card | no
    Had I been born a boy I'd have gone to sea | no
    what a lovely day | no
    What I need is a holiday | no
    which reminds me i need milk | no
    remind me to call Bob on Friday | no
    who cares about the weather anyway | no
    How much I owe is nobody's business | no
    where i live it never snows | no
    when you answer use short sentences | no
    When I was ten we moved to Leeds. | no
    Wow, Maria, what you're doing is brave. | no
    code for the gate 4412 | no
    prices in euros please | no
    I cherish time with family. | no
    """
    assert asks(text) is (question == "yes")


@each_row
def test_what_tells_of_a_change_goes_before_what_it_changes(question, old, new):
    """However much less like the question it is.

    who's my endocrinologist
    | dr Fortier is my endo | new endo, Fortier left so i've been handed to dr Whelan
    What's the code for the shed gate?
    | Remember the shed gate code. 2290. | New shed, new gate. Code's 7316 now.
    """
    said = [("user", text) for text in (old, new, "The kettle is broken again.")]
    assert first_said(question, *said) == new

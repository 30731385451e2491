"""Only what a person says of their own life becomes a fact: not texts, roles, reports, denials."""

from __future__ import annotations

from datetime import UTC, datetime

from tables import each_row

from memoranda.entities.rules import RuleExtractor as Names
from memoranda.learning.claims import Category, Claim, Turn
from memoranda.learning.extraction import RuleFactExtractor
from memoranda.model.models import DateMention

SAID = datetime(2025, 6, 2, 14, 30, tzinfo=UTC)


class Dates:
    """Finds no times."""

    def read(self, text: str, said_at: datetime) -> list[DateMention]:
        """Return nothing."""
        del text, said_at
        return []

    def resolve(self, text: str, said_at: datetime) -> str:
        """Return ``text`` as it is."""
        del said_at
        return text


def claims_of(text: str, speaker: str = "user") -> list[Claim]:
    """Return what one turn gives."""
    return RuleFactExtractor(Dates(), Names()).extract(
        [Turn("ep_1", speaker, text, SAID, person=True)]
    )


def contents(text: str, speaker: str = "user") -> list[str]:
    """Return the sentences of what one turn gives."""
    return [claim.content for claim in claims_of(text, speaker)]


DENIED = [
    "No vivo en Madrid.",
    "Ya no vivo en Sevilla.",
    "Nunca vivo en Madrid.",
    "No me gusta el café.",
    "No tengo 30 años.",
    "Ich mag keinen Fisch.",
    "Ich mag Fisch nicht.",
    "Ich liebe Kaffee nie.",
    "Ich heiße nicht Jana.",
    "Je n'aime pas le café.",
    "J'aime plus le café.",
    "J'habite jamais à Lyon.",
    "Não moro em Braga.",
]


@each_row("text", DENIED)
def test_a_denial_in_another_language_is_no_statement_of_its_opposite(text):
    """Where a foreign sentence denies anything, at most the denial becomes a fact."""
    stated = [claim.fact for claim in claims_of(text)]
    denied = {"dislikes", "avoids"}
    assert all(fact and (fact.value is None or fact.attribute in denied) for fact in stated)


@each_row(
    ("text", "content"),
    [
        ("Me gusta el café.", "Al usuario le gusta el café."),
        ("Ich mag Fisch.", "Der Nutzer mag Fisch."),
        ("J'aime le café.", "L’utilisateur aime le café."),
        ("Tengo 30 años.", "El usuario tiene 30 años."),
    ],
)
def test_the_same_without_a_negator_is_read(text, content):
    """What is stated plainly in another language is still found."""
    assert contents(text) == [content]


@each_row(
    "text",
    [
        "Denk daran, dass der Zahnarzttermin am 3. Mai um 15 Uhr ist",
        "Merk dir, dass ich Penicillin nicht vertrage.",
        "Vergiss nicht, dass der 3. und der 4. Termin in Bonn sind.",
    ],
)
def test_a_foreign_request_to_remember_is_kept_as_it_was_said(text):
    """The statement keeps its words; the full stop of an ordinal does not end it."""
    (claim,) = claims_of(text)
    said = text.partition(", ")[2]
    assert claim.content == f"{said[0].upper()}{said[1:].rstrip('.')}."
    assert claim.category is Category.REMEMBER


def test_a_foreign_request_keeps_what_it_quotes():
    """What stands in quotes within the sentence is kept as it is."""
    (content,) = contents('Merk dir, dass mein Projekt "Falke" heute heißt.')
    assert content == 'Dass mein Projekt "Falke" heute heißt.'


def test_a_number_at_the_end_of_an_english_sentence_ends_it():
    """``I am 34.`` is no ordinal."""
    assert contents("I am 34. I live in Porto.") == ["The user is 34.", "The user lives in Porto."]


BORROWED = [
    "Can you proofread this cover letter?\nMy name is John Smith. I live in Boston.",
    "I need help proofreading my essay:\n\nI live in Boston.",
    "Translate into French: I live in Tokyo.",
    "Traduce esto al inglés: vivo en Cuenca. Soy torero.",
    "¿Me corriges esta carta?\nVivo en Cuenca y tengo alergia al polen.",
    "Riassumi questo testo: abito a Matera. Sono un cuoco.",
    "Corrige este texto: moro em Óbidos. Sou médica.",
    "Hi! Could you please translate this to Spanish?\n\nI work at Google.",
    "Summarize this article:\nMy name is John. I live in Rome.",
    "Please summarise the following. I live in Rome.",
    "Rewrite this in a formal tone: I quit my job at Siemens.",
    "Can you check and correct this email? I live in Rome.",
    "Please check my grammar: I live in Rome.",
    "Edit this paragraph for me. I live in Rome.",
    "Write a story that starts with: My name is Bob.",
    "Continue this story. I live in a castle by the sea.",
    "I want you to write a short poem. I live in Rome.",
    "Let's role play: I am a dragon. My name is Smaug.",
    "Pretend we are pirates. I own a ship.",
    "Imagine you're my boss. I live in Rome.",
    "Act as a doctor. I am allergic to peanuts.",
    "Here is the letter:\n\nI live in Rome.",
    "This is my first draft. I live in Rome.",
    "Here's some text: I live in Rome.",
    "Reply to this email: I live in Rome.",
    "Make this sound better: I live in Rome.",
    "Play the role of a doctor. I own a boat.",
    "Hypothetically: I live in Rome.",
    "In this role-play, I am a dragon. I live in Rome.",
    "My boss emailed: I live in Rome.",
    "My sister said: I live in Paris.",
    'Tom wrote: "I quit my job."',
    "Tom wrote: I quit my job.",
    'My mother told me: "I own a boat. I live in Rome.',
    "Ana replied:\nI live in Rome. I own a boat.",
    "<memoranda-memory id=3>\nI live in Rome.\nI work at Google.",
    "Hi. <memoranda-memory>I live in Rome. I work at Google.",
    "Let's play 20 questions. I'm an animal that lives in Rome.",
    "Truth or dare: I have kissed a frog.",
    "I had a weird dream last night. I was married to a penguin.",
    "Example sentence: My aunt lives in Peru.",
    "I need a caption: I quit my job to sail the world.",
    "Fwd: Dear all, I have moved to the Rome office. Regards, Tim",
    "Hi team, I'm on leave until 5 June.",
    "Dear Ms Okafor, I live in Rome and own a bakery. Kind regards, Tim",
    "Chapter one: I was born in Rome.",
    "My character in the game is a blacksmith and lives in Rome.",
    "According to the article, my generation has no pensions.",
    "You said I have a cat.",
    "Repeat after me: I am a strong woman.",
    "I have cities but no houses. What am I?",
    "Job ad: We are a bakery in York.",
    "If I have a full deck and I draw one ace.",
    "I've got 9 + 16 = 25 cm.",
    "Yeah, because I own a yacht.",
]


@each_row("text", BORROWED)
def test_what_is_not_the_speakers_own_word_gives_nothing(text):
    """Texts to be worked on, roles, reported speech and open memory tell nothing of the user."""
    assert claims_of(text) == []


OWN = [
    ("I live in Porto. Please translate this: I live in Tokyo.", ["The user lives in Porto."]),
    ("I live in Porto.\n<memoranda-memory>\nI live in Rome.", ["The user lives in Porto."]),
    (
        "<memoranda-memory>I live in Rome.</memoranda-memory> I live in Porto.",
        ["The user lives in Porto."],
    ),
    ("Tom wrote: I quit my job. I live in Porto.", ["The user lives in Porto."]),
    ("Ana replied:\nI live in Rome.\n\nI live in Porto.", ["The user lives in Porto."]),
    ('My sister said: "I live in Rome." I live in Porto.', ["The user lives in Porto."]),
    ("Can you help me fix this? The deadline is April 5.", ["The deadline is April 5."]),
    ("Can you review this code? The deadline is April 5.", ["The deadline is April 5."]),
    ("Can you rewrite this function? The deadline is April 5.", ["The deadline is April 5."]),
    ("Write a script that sends an email. The deadline is April 5.", ["The deadline is April 5."]),
    ("I wrote a letter. I live in Porto.", ["The user lives in Porto."]),
    ("I work as a translator. I live in Porto.", None),
    ("I like role-playing games. I live in Porto.", None),
    ("I have to translate a text for work. I live in Porto.", None),
    ("I told her: I live in Porto.", None),
    ("Can you check my calendar? I live in Porto.", None),
    ("I read, write, translate books. I live in Porto.", None),
]


@each_row(("text", "expected"), OWN)
def test_what_stands_outside_of_a_borrowed_text_is_read(text, expected):
    """Before a request, after a quote, and in requests about code the user's word counts."""
    found = contents(text)
    if expected is None:
        assert "The user lives in Porto." in found
    else:
        assert found[-1:] == expected
        assert not any("Rome" in each or "Tokyo" in each for each in found)


@each_row(
    ("text", "content"),
    [
        (
            "My boss is called Sven Petersen. Correction: my start date was pushed to June 8.",
            "The user's start date was pushed to June 8.",
        ),
        ("The deadline is May 3. I meant my deadline is May 5.", "The user's deadline is May 5."),
        ("The deadline is April 3. Correction: May 5.", "The deadline is on May 5."),
    ],
)
def test_a_correction_with_a_subject_of_its_own_stands_alone(text, content):
    """It is never put behind what was spoken of before; a bare value is."""
    last = claims_of(text)[-1]
    assert last.content == content
    assert last.category is Category.CORRECTION


@each_row(
    "text",
    [
        "The deadline is May 3. Actually, it's because I moved.",
        "The deadline is May 3. Correction: it's on my birthday.",
        "The deadline is May 3. No, it's what they told me.",
    ],
)
def test_no_claim_keeps_a_first_person(text):
    """A claim that still says ``I``, ``my`` or ``me`` was misread and is dropped."""
    assert contents(text) == ["The deadline is May 3."]


def test_a_speaker_whose_name_is_such_a_word_is_heard():
    """``Me`` as the name of a speaker is no first person."""
    assert contents("I live in Porto.", "Me") == ["Me lives in Porto."]


CHANGES = [
    ("My girlfriend is Anna.", "The user's girlfriend is called Anna.", "relation"),
    ("We're on Python 3.12 now.", "The user is on Python 3.12 now.", "state"),
    ("I'm no longer allergic to nuts.", "The user is no longer allergic to nuts.", "identity"),
    ("I no longer live in Rome.", "The user no longer lives in Rome.", "identity"),
    ("I don't live in Rome anymore.", "The user does not live in Rome anymore.", "identity"),
    ("I quit my job at Siemens.", "The user quit their job at Siemens.", "event"),
    ("I moved back to Lisbon.", "The user moved back to Lisbon.", "event"),
    ("My son Leo plays football.", "The user's son Leo plays football.", "relation"),
    ("Sadly our cat died in Rome.", "The user's cat died in Rome.", "event"),
]


@each_row(("text", "content", "category"), CHANGES)
def test_a_change_of_life_is_a_fact(text, content, category):
    """What is no longer so, and who somebody is, are kept as they are said."""
    (claim,) = claims_of(text)
    assert (claim.content, claim.category) == (content, category)


def page(*said: str) -> list[str]:
    """Return the sentences of what the turns of one page give together."""
    turns = [Turn(f"ep_{n}", "user", text, SAID, person=True) for n, text in enumerate(said)]
    return [claim.content for claim in RuleFactExtractor(Dates(), Names()).extract(turns)]


@each_row(
    "text",
    [
        "Don't remember this, but I have a crush on my boss Paul.",
        "Please do not save this. I live in Porto.",
        "Off the record: I hate my job.",
        "Between us, I'm pregnant.",
        "My colleague Pedro hates Go. Don\u2019t tell anyone.",
        "I work at Siemens, but keep it to yourself.",
        "I'm vegetarian. This is confidential.",
        "Unter uns: Ich mag Fisch.",
    ],
)
def test_what_is_told_in_confidence_gives_nothing(text):
    """A turn that says of itself that it is not to be kept gives no fact."""
    assert page(text) == []


@each_row(
    "text",
    [
        "Don't forget that I live in Porto.",
        "I don't remember it well, but I live in Porto.",
        "The distance between us is small. I live in Porto.",
        "I'm not kidding, I live in Porto.",
        "Forget the old plan. I live in Porto.",
    ],
)
def test_what_only_looks_like_a_confidence_is_read(text):
    """Words of confidence that mean something else withhold nothing."""
    assert any(
        "lives in Porto" in content or content == "I live in Porto." for content in page(text)
    )


def test_a_turn_taken_back_gives_nothing_and_others_stay():
    """``Forget what I said`` takes back the turn before it, and no other."""
    said = page("I live in Faro.", "I have two cats.", "Forget what I said.", "I hate mushrooms.")
    assert said == ["The user lives in Faro.", "The user hates mushrooms."]


@each_row(
    ("first", "second"),
    [
        ("I'm vegetarian.", "Please forget that I'm vegetarian."),
        ("I work at Google.", "Just kidding, I don't work at Google."),
        ("I work at Siemens.", "I don't work at Siemens, I just made that up."),
        ("I work at Siemens.", "I just made that up."),
        ("I love fish.", "That was a lie. Ask me something else."),
    ],
)
def test_a_claim_taken_back_is_no_fact_of_its_page(first, second):
    """What turns out made up, or is to be forgotten, is not drawn from where it was said."""
    assert page(first) != []
    kept = page("I live in Faro.", first, second)
    assert "The user lives in Faro." in kept
    assert not set(page(first)) & set(kept)
    assert not set(page(first)) & set(page(f"{first} {second}"))


def test_a_role_lasts_until_it_ends():
    """Nothing said in a role is the speaker's own; what follows its end is."""
    said = page(
        "Imagine I'm a pirate. I live on a ship.",
        "For the role play: I have three parrots.",
        "I hate the Navy.",
        "ok stop. I live in Porto.",
        "I have two cats.",
    )
    assert said == ["The user lives in Porto.", "The user has two cats."]


@each_row(
    "text",
    [
        "As Shakespeare says, I am a man more sinned against than sinning.",
        "The song goes 'I am the walrus, I live in an octopus's garden'.",
        "My sister said 'I am moving to Berlin'.",
        'My sister said "I am moving to Berlin" yesterday.',
        "If I were rich I would live in Tokyo.",
        "I almost bought a Tesla.",
        "I have eggs, spinach and rice.",
        "I have exactly five weeks to pack up nine years.",
        "My husband is a ghost until his second coffee.",
        "My goal is under 4 hours.",
        "I'm just a poor boy.",
        "Another meeting, I live for those.",
    ],
)
def test_quotations_figures_of_speech_and_trifles_give_nothing(text):
    """Words of others, exaggeration, near misses and what one has today are no facts."""
    assert page(text) == []


@each_row(
    ("text", "content"),
    [
        ("I am a machine learning engineer.", "The user is a machine learning engineer."),
        ("I have a peanut allergy.", "The user has a peanut allergy."),
        ("As I said, I live in Porto.", "The user lives in Porto."),
        ("I have 10 years of experience in Go.", "The user has 10 years of experience in Go."),
        ("Hi everyone, I live in Porto.", "The user lives in Porto."),
        ("Let's play chess soon. I live in Porto.", "The user lives in Porto."),
    ],
)
def test_what_resembles_a_trifle_is_read(text, content):
    """The rules against trifles look at what a word is the head of."""
    assert page(text) == [content]


def test_a_pronoun_stands_for_the_person_not_for_what_is_theirs():
    """``He`` after ``my husband's birthday`` is the husband; between two persons nobody."""
    said = page("My husband's birthday is on 9 October, he loves jazz.")
    assert said[-1] == "The user's husband loves jazz."
    assert not any("birthday loves" in content for content in said)
    assert not any("jazz" in each for each in page("My boss's son is a doctor, he loves jazz."))


@each_row(
    ("leaning", "whole"),
    [
        ("I started volunteering here in 2022.", "I started volunteering at the shelter in 2022."),
        ("I played games and just hung out together.", "I played cards together with Rosa."),
        ("I have been running longer since our last chat.", "I have been running longer."),
        ("I finished another painting like that.", "I finished another painting."),
        ("I met up in May.", "I met up with Rosa in May."),
    ],
)
def test_what_can_be_understood_only_in_its_talk_is_no_fact(leaning, whole):
    """What it points at, or who was there, would be missing; told in full it is one."""
    assert contents(leaning) == []
    assert contents(whole) != []

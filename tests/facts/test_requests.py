"""Requests: what a sentence asks of memory, in its own words, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.facts.requests import (
    RequestKind,
    asks_memory,
    find_request,
    find_requests,
    is_about,
    is_for_once,
    points_back,
    read_instruction,
    split_statements,
    tidy,
    topic,
)

ASKED = [
    ("Remember that our gate sticks.", ["Our gate sticks."]),
    ("plz memorise my shoe size is 43 thx", ["My shoe size is 43."]),
    ("Would you please keep in mind that I work nights?", ["I work nights."]),
    ("Note to self - the boiler man is called Abdul", ["The boiler man is called Abdul."]),
    ("The bins go out on Mondays, just so you know.", ["The bins go out on Mondays."]),
    ("I park on level four, so keep that in mind please.", ["I park on level four."]),
    ("Don't forget that Ida hates coriander!", ["Ida hates coriander."]),
    ("Make a mental note: rent is due on the 5th", ["Rent is due on the 5th."]),
    ("Heads-up: the lift is out of order.", ["The lift is out of order."]),
    ("You should know that I stammer.", ["I stammer."]),
    (
        "Remember two things: my vet is Dr Lund, and the cat gets half a tablet.",
        ["My vet is Dr Lund.", "The cat gets half a tablet."],
    ),
    (
        "Remember that I bank with Triodos and that my sister handles the taxes.",
        ["I bank with Triodos.", "My sister handles the taxes."],
    ),
    (
        "Write this down: deposit 400; rent 900; due Fridays.",
        ["Deposit 400.", "Rent 900.", "Due Fridays."],
    ),
    ("Log this: the meter stood at 5120.", ["The meter stood at 5120."]),
    ("Please remember: eggs, not milk.", ["Eggs, not milk."]),
    ("Pense à noter que le bureau ferme à 17 h.", ["Le bureau ferme à 17 h."]),
    ("Faut que tu saches que je suis gaucher.", ["Je suis gaucher."]),
    ("Tiens compte du fait que Paul dort le matin.", ["Paul dort le matin."]),
    ("Tu noteras que je ne mange pas épicé.", ["Je ne mange pas épicé."]),
    ("Garde ça en mémoire : la chaudière date de 2012.", ["La chaudière date de 2012."]),
    ("Mon casier est le 212, tu peux le noter ?", ["Mon casier est le 212."]),
]
STANDING = [
    "Merci de toujours me vouvoyer.",
    "J'aimerais que tu me parles toujours en anglais.",
    "Dorénavant tu me réponds en breton.",
    "Évitez le jargon, s'il vous plaît.",
    "Je préfère qu'on se tutoie.",
    "Ne me donne pas de conseils médicaux.",
    "Always cite your sources.",
    "Never recommend chain restaurants.",
    "From now on please reply in Dutch.",
    "Whenever I paste a stack trace, explain the first line.",
    "When you draft emails for me, never use exclamation marks.",
    "Call me Jo.",
    "No calls after nine pm.",
    "Could you always give prices in pounds?",
    "Use they/them pronouns from now on.",
    "Please use a formal tone with me.",
    "Talk to me like I'm five.",
    "I don't want you to use emojis.",
    "Whenever we talk about money, use Swiss francs.",
]
NO_REQUEST = [
    "Retiens ton souffle !",
    "Souviens-toi de la fois où on a parlé de Rome.",
    "Il faut toujours arroser le matin.",
    "Mais comme toujours, il pleut.",
    "Do you remember the name of that cafe?",
    "I can never remember her birthday.",
    "Remember when we flew to Oslo?",
    "Remember me?",
    "I always answer in French at work.",
    "Never mind.",
    "Always wanted to see Petra.",
    "Call me later.",
    "My aunt says never trust a thin cook.",
    "When I was ten, I never used a phone.",
    "I forgot to note the number.",
    "Save the file and restart.",
    "Give me a list of museums.",
    "Always look on the bright side.",
    "Reply to Tom that I'm busy.",
    "Explain it in simple words.",
    "Write to my landlord in German.",
]


@pytest.mark.parametrize(("sentence", "statements"), ASKED)
def test_what_is_asked_is_read_in_its_own_words(sentence, statements):
    """Each statement of a request is a sentence of its own, without what only leads to it."""
    request = find_request(sentence, question=sentence.endswith("?"))
    assert request is not None
    assert request.kind is RequestKind.REMEMBER
    spans = split_statements(request, sentence)
    assert [tidy(sentence[start:end], "en") for start, end in spans] == statements


@pytest.mark.parametrize("sentence", STANDING)
def test_a_lasting_instruction_is_one(sentence):
    """What says how to be answered from now on is an instruction, and not for once."""
    request = find_request(sentence, question=sentence.endswith("?"))
    assert request is not None
    assert request.kind in {RequestKind.STANDING, RequestKind.STYLE}
    assert not is_for_once(sentence, "en")


@pytest.mark.parametrize("sentence", NO_REQUEST)
def test_what_only_looks_like_a_request_is_none(sentence):
    """Memories of one's own, idioms and habits ask nothing of memory."""
    assert find_request(sentence, question=sentence.endswith("?")) is None


@pytest.mark.parametrize("sentence", [text for text, _ in ASKED] + STANDING)
def test_no_request_is_missed_by_the_quick_look(sentence):
    """A text is passed over at once only if none of its sentences asks for anything."""
    assert asks_memory(f"Hi there. {sentence} Thanks!")


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at(text):
    """Whatever a message holds, looking for requests ends and fails on nothing."""
    asks_memory(text)


def test_an_instruction_knows_its_attribute():
    """The language to answer in, and what to call somebody, are attributes of their own."""
    said = "Always answer in Portuguese"
    assert read_instruction(said, said, "en").attribute == "answer_language"
    assert read_instruction("Call me Jo.", "Call me Jo.", "en").value == "Jo"
    when = "When I write German, answer in German"
    assert read_instruction(when, when, "en").attribute == "instruction"


def test_instructions_of_one_topic_are_known():
    """General instructions about length exclude each other; one for an occasion stands beside."""
    assert topic("Be brief.") == topic("Give me detailed answers") == "length"
    assert topic("Whenever I ask for a summary, be brief.") is None


def test_a_revocation_is_about_what_it_names():
    """It ends the instruction whose words it tells, whatever the verbs, and no other."""
    assert is_about("suggest seafood", "Never recommend seafood.")
    assert not is_about("suggest seafood", "Never recommend pork.")
    assert is_about("all my rules", "No bullet points.")
    assert points_back("do that")


def test_several_instructions_of_a_sentence_are_several():
    """What is to be instead of something revoked is an instruction of its own."""
    found = find_requests("Never suggest pork, always offer fish, and call me Jo.")
    assert [each.kind for each in found] == [RequestKind.STANDING] * 3
    said = "You don't have to be brief any more, always give examples."
    assert [each.kind for each in find_requests(said)] == [
        RequestKind.REVOKED,
        RequestKind.STANDING,
    ]

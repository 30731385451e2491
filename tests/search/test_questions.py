"""What is read in a question and in a text before one answer goes before another."""

from tables import each_row

from memoranda.search.evidence import ANALYZER
from memoranda.search.questions import (
    ParsedQuestion,
    StatedText,
    competes,
    speaks_of_change,
    stated_sentences,
    values_of,
)


def question(text):
    """Read a question whose words all tell the same."""
    return ParsedQuestion(text, frozenset(ANALYZER.query_terms(text)))


@each_row
def test_a_question_shows_whether_it_is_about_the_past(text, past):
    """Past forms do, but for what was done and counts on.

    What is my rent? | no
    How many tasks have I finished? | no
    How many tasks did I finish? | no
    What is the deadline for the first sprint? | no
    What was my rent? | yes
    Where did I live before? | yes
    What day was my exam in the end? | no
    How many tasks did I say were open? | yes
    What is the difference between my two flats? | yes
    What has changed in my rent? | yes
    my rent | no
    """
    assert ParsedQuestion(text, frozenset()).past is (past == "yes")


@each_row
def test_values_are_read_with_their_sort(text, expected):
    """A number comes with what it measures.

    It costs $1,250.50 now. | money $1,250.50
    It costs 40 euros. | money 40 euros
    Down to 2.5% on Monday. | date monday / share 2.5%
    Due April 5, 2024 at 17:30. | clock 17:30 / date april 5, 2024
    Version 3.11.2 needs 250ms. | span 250ms / version 3.11.2
    We have twelve cards. | number twelve
    Only one of us knows. |
    It should be under 200ms. | span 200ms
    A disk of 2 TB. | measure 2 tb
    """
    assert " / ".join(sorted(" ".join(each) for each in values_of(text))) == expected


def test_code_and_questions_state_nothing():
    """Only what is claimed counts: no code, no question."""
    text = "I have 5 cards. Can you help me?\n```\nlimit = 7\n```\nThey are red."
    assert list(stated_sentences(text)) == ["I have 5 cards.", "They are red."]


def test_the_longest_text_is_read_in_no_time():
    """What is read is bounded, and no pattern backtracks over it."""
    for piece in ("new ", "1,", "April ", "can you ", "```", "a.b ", "\n"):
        for sentence in stated_sentences(piece * 20_000):
            values_of(sentence)
            speaks_of_change(sentence)


@each_row
def test_words_of_change_are_heard(sentence, change):
    """A sentence says that something is not as it was, or only how it is.

    I raised it to 460. | yes
    It is no longer there. | yes
    The new desk is brown. | yes
    It is 400. | no
    """
    assert speaks_of_change(sentence) is (change == "yes")


@each_row
def test_a_rival_is_told_by_the_word_in_its_place(asked, sentence, rival):
    """Another word where the question has its own means another thing.

    What is the price of the blue bicycle? | The red bicycle costs 90. | yes
    What is the price of the blue bicycle? | The bicycle costs 90. | no
    How much is the flight to Oslo? | The flight to Rome was cheap. | yes
    How much is the flight to Oslo? | The flight was cheap. | no
    How old is my sister Ana? | My sister Berta is 27. | yes
    When is sprint 1 over? | Sprint 2 is over on Friday. | yes
    When is sprint 1 over? | The sprint is over on Friday. | no
    What is the deadline for the grant? | The deadline of April 5 stands. | no
    """
    assert competes(question(asked), StatedText(sentence)) is (rival == "yes")

"""What is read in a question and in a text before one answer goes before another."""

from tables import each_row

from memoranda.search.precedence import (
    QuestionTense,
    competes,
    read_question,
    speaks_of_change,
    state_of,
    stated_sentences,
    values,
)
from memoranda.text.terms import TermAnalyzer

ANALYZER = TermAnalyzer()


def question(text):
    """Read a question whose words all tell the same."""
    terms = ANALYZER.query_terms(text)
    return read_question(text, terms, [1.0] * len(terms))


@each_row(
    ("text", "state"),
    [
        ("What is my rent?", QuestionTense.NOW),
        ("what's my rent", QuestionTense.NOW),
        ("How many tasks have I finished?", QuestionTense.NOW),
        ("How many tasks did I finish?", QuestionTense.NOW),
        ("Remind me, which editor do I use?", QuestionTense.NOW),
        ("In which city do I live?", QuestionTense.NOW),
        ("What is the deadline for the first sprint?", QuestionTense.NOW),
        ("What was my rent?", QuestionTense.THEN),
        ("Where did I live before?", QuestionTense.THEN),
        ("How many tasks did I say were open?", QuestionTense.THEN),
        ("What is the difference between my two flats?", QuestionTense.THEN),
        ("What has changed in my rent?", QuestionTense.THEN),
        ("my rent", QuestionTense.OPEN),
        ("Tell a story about Porto", QuestionTense.OPEN),
    ],
)
def test_a_question_shows_which_time_it_is_about(text, state):
    """Present forms ask for now, past forms for then, keywords for neither."""
    assert state_of(text) is state


def test_a_question_names_what_it_asks_for():
    """The head is the noun phrase after the question word, without what every question has."""
    asked = question("What is the average response time of the dashboard API?")
    assert asked.head == {"respons"}
    assert not asked.many
    assert question("What are the names of my sisters?").many
    assert question("What is my monthly savings goal?").own
    assert question("How many hours do I sleep?").sorts == {"span"}


@each_row(
    ("text", "expected"),
    [
        ("It costs $1,250.50 now.", {("money", "$1250.50")}),
        ("It costs 40 euros.", {("money", "40 euros")}),
        ("Down to 2.5% on Monday.", {("share", "2.5%"), ("date", "monday")}),
        ("Due April 5, 2024 at 17:30.", {("date", "april 5 2024"), ("clock", "17:30")}),
        ("Version 3.11.2 needs 250ms.", {("version", "3.11.2"), ("span", "250ms")}),
        ("We have twelve cards.", {("number", "12")}),
        ("Only one of us knows.", set()),
        ("It should be under 200ms.", set()),
        ("A disk of 2 TB.", {("measure", "2 tb")}),
    ],
)
def test_values_are_read_with_their_sort(text, expected):
    """A number comes in one form with what it measures; an aim is no value."""
    assert {(value.sort, value.plain) for value in values(text)} == expected


def test_code_and_questions_state_nothing():
    """Only what is claimed counts: no code, no question."""
    text = "I have 5 cards. Can you help me?\n```\nlimit = 7\n```\nThey are red."
    assert list(stated_sentences(text)) == ["I have 5 cards.", "They are red."]


def test_the_longest_text_is_read_in_no_time():
    """What is read is bounded, and no pattern backtracks over it."""
    for piece in ("new ", "1,", "April ", "can you ", "```", "a.b ", "\n"):
        for sentence in stated_sentences(piece * 20_000):
            values(sentence)
            speaks_of_change(sentence, ("zzz",))


@each_row(
    ("sentence", "changes"),
    [
        ("I raised it to 460.", True),
        ("It is no longer there.", True),
        ("The new deadline is in May.", True),
        ("The new desk is brown.", False),
        ("It is 400.", False),
    ],
)
def test_words_of_change_are_heard(sentence, changes):
    """``new`` counts where it is said of what the question is about."""
    assert speaks_of_change(sentence, ("deadlin",)) is changes


@each_row(
    ("asked", "sentence", "rival"),
    [
        ("What is the price of the blue bicycle?", "The red bicycle costs 90.", True),
        ("What is the price of the blue bicycle?", "The bicycle costs 90.", False),
        ("How much is the flight to Oslo?", "The flight to Rome was cheap.", True),
        ("How much is the flight to Oslo?", "The flight was cheap.", False),
        ("How old is my sister Ana?", "My sister Berta is 27.", True),
        ("When is the first sprint over?", "Sprint 2 is over on Friday.", True),
        ("When is the first sprint over?", "The sprint is over on Friday.", False),
        ("What is the deadline for the grant?", "The deadline of April 5 stands.", False),
    ],
)
def test_a_rival_is_told_by_the_word_in_its_place(asked, sentence, rival):
    """Another word where the question has its own means another thing."""
    held = frozenset(ANALYZER.terms(sentence))
    assert competes(question(asked), sentence, held, ANALYZER) is rival

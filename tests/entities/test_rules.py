"""Named things by rule: what is found, what is left alone, and how much work it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, each_text

from memoranda.entities.rules import RuleExtractor
from memoranda.model.ports import EntityExtractor
from memoranda.text.limits import MOST_READ

EXTRACTOR: EntityExtractor = RuleExtractor()


def found(text: str) -> list[tuple[str, str]]:
    """Return texts and types of the mentions in ``text``."""
    return [(mention.text, mention.type) for mention in EXTRACTOR.extract(text)]


@each_row
def test_marks_have_a_form_of_their_own(text: str, mark: str, kind: str):
    """Addresses, tags and dates are found whole, without the sentence's punctuation.

    ask @ana_b, please | @ana_b | mention
    ask @ana. | @ana | mention
    so #happy! | #happy | hashtag
    le #café | #café | hashtag
    #हिन्दी में | #हिन्दी | hashtag
    今日 #記憶 | #記憶 | hashtag
    #facade is a word | #facade | hashtag
    write bob.smith+x@mail.example.com. | bob.smith+x@mail.example.com | email
    see https://example.com/a?b=c#d. | https://example.com/a?b=c#d | url
    (see https://example.com/x) | https://example.com/x | url
    at https://e.org/wiki/Foo_(bar)). | https://e.org/wiki/Foo_(bar) | url
    www.example.com, then | www.example.com | url
    on 2023-05-08 we | 2023-05-08 | date
    on 8 May 2023 we | 8 May 2023 | date
    on May 8th, 2023 we | May 8th, 2023 | date
    on 08/05/2023 we | 08/05/2023 | date
    in May 2023 we | May 2023 | date
    am 8. Mai 2023 war | 8. Mai 2023 | date
    el 8 de mayo de 2023 | 8 de mayo de 2023 | date
    在2023年5月8日 | 2023年5月8日 | date
    """
    assert found(text) == [(mark, kind)]


@each_text
def test_what_only_looks_like_a_mark(text: str):
    """Code, colours, numbers and impossible dates are no marks.

    #include <stdio.h> | the colours #fff and #a1b2c3 | issue #123 | # heading | in c# it is
    2023-13-45 | 45/45/2023 | we may 5 of us come and march 10 miles | npm i @types/node
    10:30 at 3.5 km
    """
    assert found(text) == []


def test_a_tag_inside_a_url_or_an_address_is_part_of_it():
    """What is inside a URL or an e-mail address is found once, as a whole."""
    assert [kind for _, kind in found("https://e.org/@ana#top and x@e.org")] == ["url", "email"]


@each_row(
    ("text", "expected"),
    [
        ("Hey Mel! Good to see you!", [("Mel", "person")]),
        ("Wow, that's cool, Caroline!", [("Caroline", "person")]),
        ("Zoltan said it is late", [("Zoltan", "person")]),
        ("we met Zoltan there", [("Zoltan", "person")]),
        ("my friend Zorbas cooks", [("Zorbas", "person")]),
        ("I asked Dr. Smith about it", [("Smith", "person")]),
        ("it was John F. Kennedy who", [("John F. Kennedy", "person")]),
        ("saw Vincent van Gogh's house", [("Vincent van Gogh", "person")]),
        ("I live in New York now", [("New York", "location")]),
        ("New York is big", [("New York", "location")]),
        ("around San Francisco Bay", [("San Francisco Bay", "location")]),
        ("we moved to Smallville", [("Smallville", "location")]),
        ("he loves Smallville", [("Smallville", "other")]),
        ("at Bank of America", [("Bank of America", "organization")]),
        ("Bank of America called", [("Bank of America", "organization")]),
        ("for Acme Ltd now", [("Acme Ltd", "organization")]),
        ("at Lisbon University", [("Lisbon University", "organization")]),
        ("an LGBTQ+ group", [("LGBTQ+", "other")]),
        ("it is by NASA", [("NASA", "organization")]),
        ("NYC is loud", [("NYC", "location")]),
        ("we use GPT-4 here", [("GPT-4", "project")]),
        ("with PostgreSQL 16 and", [("PostgreSQL 16", "project")]),
        ("written in FastAPI today", [("FastAPI", "project")]),
        ("Ana's dog", [("Ana", "person")]),
        ("met Ana’s dog", [("Ana", "person")]),
        ("Thanks, Caroline!", [("Caroline", "person")]),
        ("When Caroline came", [("Caroline", "person")]),
        ('I read "Nothing Is Impossible" twice', [("Nothing Is Impossible", "other")]),
        ("我读了《三体》", [("三体", "other")]),
        ("「活着」很好", [("活着", "other")]),
        ("Вчера Анна Петрова пела", [("Анна Петрова", "person")]),
        ("η Μαρία ήρθε", [("Μαρία", "person")]),
        ("Ich war mit Anna und das Haus ist schön", [("Anna", "person")]),
        ("i met melanie in new york city", [("melanie", "person"), ("new york city", "location")]),
        ("saw it on twitter", [("twitter", "organization")]),
        ("We use docker here", [("docker", "project")]),
        ("I work at Zenodyne now", [("Zenodyne", "organization")]),
        ("we live in Orillia", [("Orillia", "location")]),
        ("Lunch with Hughie Drummond", [("Hughie Drummond", "person")]),
        ("we saw The Replacement there", [("The Replacement", "other")]),
        ("Is Zoltan Zorbas Our Modern Day Hughie Drummond",
         [("Zoltan Zorbas", "person"), ("Hughie Drummond", "person")]),
        ("I ate in Lisbon, EST", [("Lisbon", "location")]),
    ],
)  # fmt: skip
def test_names_in_conversation(text: str, expected: list[tuple[str, str]]):
    """Names are found whole and typed where a rule tells."""
    assert found(text) == expected


@each_text
def test_no_name_rather_than_a_wrong_one(text: str):
    """Sentence openers, shouting, headings, code and German nouns are no names.

    I think I'm OK. | Absolutely! Painting helps. Running too.
    Congrats! What happened? Did you see it? | See you on Monday, or in June.
    Happy Birthday! Good luck! | THIS IS SO COOL | OK SO THIS IS SHOUTED BY NASA
    # The Long Heading⏎text | **Bold Label**: text | ```⏎class Foo(Bar): pass⏎```
    call `Foo.Bar` now | Define the steps. Navigate to it. | A B C | snake_Case and Snake_Case
    Der Hund und das Haus sind mit der Katze | 我昨天去了北京 | he said "Yes" | it's 5 PM, LOL
    Hahaha! Nooo. Hmm, Ahhh | We love Italian food and Greek Festivals
    i will mark the rose with jack, may chase bill | open /home/melanie/twitter.txt or x=london
    melanie.py imports london_bridge | Official Music Video Now Out For Free Download Today
    Going now. Doing fine.
    """
    assert found(text) == []


def test_a_name_has_one_type_in_a_text():
    """What a rule tells of one mention holds for the others in the same text."""
    assert found("we saw Zoltan. Then Zoltan said no") == [("Zoltan", "person")] * 2


def test_a_long_text_is_read_to_the_limit():
    """Names behind the limit are not found, those before it are."""
    text = "we met Ana. " + "x " * MOST_READ + "we met Bob."
    assert found(text) == [("Ana", "person")]


ADVERSARIAL = [
    "A ", "a", "@a.", '"A', "A.", "A'", "`", "May 5 ", "https://(", "x@y.", "#", "Ab de ", "A-",
    "The Big Foo\n", "「", "**", "1/", "McA", "ﬁ", "É\u0301",
]  # fmt: skip


@each_row("piece", ADVERSARIAL)
def test_repetition_ends(piece: str):
    """A long repetition costs no more than its limit: the rest is not looked at."""
    text = piece * 100_000
    assert EXTRACTOR.extract(text) == EXTRACTOR.extract(text[:MOST_READ])


PIECES = st.sampled_from(
    [*ADVERSARIAL, "Ana ", "New York", "of ", "Dr. ", "8 May 2023", "\n", "I "]
)


@given(st.one_of(st.text(max_size=3_000), st.lists(PIECES, max_size=60).map("".join)))
def test_mentions_are_what_the_text_says(text: str):
    """Mentions are in order, do not overlap, and hold exactly the characters they name."""
    mentions = EXTRACTOR.extract(text)
    end = 0
    for mention in mentions:
        assert end <= mention.start < mention.end <= len(text)
        assert mention.text == text[mention.start : mention.end]
        assert 0 < mention.confidence <= 1
        end = mention.end
    assert mentions == EXTRACTOR.extract(text)

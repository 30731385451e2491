"""Named things by rule: what is found, what is left alone, and how much work it is."""

import re

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


def read_marked(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a text without its marks, and what they mark: ``[name:type]``."""
    mark = r"\[([^][]+):(\w+)\]"
    return re.sub(mark, r"\1", text), re.findall(mark, text)


@each_text
def test_marks_have_a_form_of_their_own(text: str):
    """Addresses, tags and dates are found whole, without the sentence's punctuation.

    ask [@ana_b:mention], please | ask [@ana:mention]. | so [#happy:hashtag]! | le [#café:hashtag]
    [#हिन्दी:hashtag] में | 今日 [#記憶:hashtag] | [#facade:hashtag] is a word
    write [bob.smith+x@mail.example.com:email]. | see [https://example.com/a?b=c#d:url].
    (see [https://example.com/x:url]) | at [https://e.org/wiki/Foo_(bar):url]).
    [www.example.com:url], then | on [2023-05-08:date] we | on [8 May 2023:date] we
    on [May 8th, 2023:date] we | on [08/05/2023:date] we | in [May 2023:date] we
    am [8. Mai 2023:date] war | el [8 de mayo de 2023:date] | 在[2023年5月8日:date]
    [https://e.org/@ana#top:url] and [x@e.org:email]
    # Code, colours, numbers and impossible dates are no marks.
    #include <stdio.h> | the colours #fff and #a1b2c3 | issue #123 | # heading | in c# it is
    2023-13-45 | 45/45/2023 | we may 5 of us come and march 10 miles | npm i @types/node
    10:30 at 3.5 km
    """
    plain, expected = read_marked(text)
    assert found(plain) == expected


@each_text
def test_names_in_conversation(text: str):
    """Names are found whole and typed where a rule tells, alike in all of a text.

    Hey [Mel:person]! Good to see you! | Wow, that's cool, [Caroline:person]!
    we met [Zoltan:person] there |
    my friend [Zorbas:person] cooks | it was [John F. Kennedy:person] who
    I asked Dr. [Smith:person] about it |
    saw [Vincent van Gogh:person]'s house | I live in [New York:location] now
    [New York:location] is big | around [San Francisco Bay:location]
    we moved to [Smallville:location] | he loves [Smallville:other]
    [Bank of America:other] called
    for [Acme Ltd:organization] now | at [Lisbon University:organization] | an [LGBTQ+:other] group
    it is by [NASA:organization] | [NYC:location] is loud | we use [GPT-4:other] here
    with [PostgreSQL:project] 16 and | written in [FastAPI:project] today | [Ana:person]'s dog
    met [Ana:person]’s dog | Thanks, [Caroline:person]! | When [Caroline:person] came
    我读了《[三体:other]》 | 「[活着:other]」很好
    Вчера [Анна Петрова:person] пела | η [Μαρία:person] ήρθε
    Ich war mit [Anna:person] und das Haus ist schön
    i met [melanie:person] in [lisbon:location] | saw it on [twitter:organization]
    We use [docker:project] here | I work at [Zenodyne:organization] now
    we live in [Orillia:location] | Lunch with [Hughie Drummond:person]
    I ate in [Lisbon:location], EST | we saw [Zoltan:other]. Then [Zoltan:other] said no
    # Sentence openers, shouting, headings, code and German nouns are no names.
    I think I'm OK. | Absolutely! Painting helps. Running too.
    Congrats! What happened? Did you see it? | See you on Monday, or in June.
    Happy Birthday! Good luck! | THIS IS SO COOL | OK SO THIS IS SHOUTED BY NASA
    **Bold Label**: text | # The Long Heading⏎text | ⏎ | ```⏎class Foo(Bar): pass⏎```
    call `Foo.Bar` now | Define the steps. Navigate to it. | A B C | snake_Case and Snake_Case
    Der Hund und das Haus sind mit der Katze | 我昨天去了北京 | he said "Yes" | it's 5 PM, LOL
    Hahaha! Nooo. Hmm | We love Italian food and Greek Festivals
    i will mark the rose with jack, may chase bill | open /home/melanie/twitter.txt or x=london
    melanie.py imports london_bridge | Official Music Video Now Out For Free Download Today
    Going now. Doing fine.
    """
    plain, expected = read_marked(text)
    assert found(plain) == expected


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
    assert all(each.end <= MOST_READ for each in EXTRACTOR.extract(piece * 100_000))


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

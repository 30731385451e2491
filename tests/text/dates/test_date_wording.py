"""Absolute wording: a sentence that says its times in full."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, read_table

from memoranda.text.dates.statements import DateParser
from memoranda.text.dates.wording import absolute_wording

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=ZoneInfo("Europe/Berlin"))  # A Monday.

TABLE = read_table("""
I went to Rome yesterday. | I went to Rome on 7 May 2023.
Yesterday I went to Rome. | On 7 May 2023 I went to Rome.
yesterday I went to Rome | on 7 May 2023 I went to Rome
We met on Friday. | We met on 5 May 2023.
I joined a gym last week! | I joined a gym in the week of 1 May 2023!
Last week was wild. | The week of 1 May 2023 was wild.
Last night was amazing! | The night of 7 May 2023 was amazing!
I missed yesterday's meeting. | I missed 7 May 2023's meeting.
The tickets for tomorrow are gone. | The tickets for 9 May 2023 are gone.
The opening night is tomorrow. | The opening night is 9 May 2023.
We're going to Italy next month. | We're going to Italy in June 2023.
I read it last year. | I read it in 2022.
I got a puppy two weeks ago! | I got a puppy around 24 April 2023!
I started about a year ago. | I started around 2022.
I got it a few years ago. | I got it between 2018 and 2021.
I got it a few weeks ago. | I got it between 31 March and 27 April 2023.
I got it a few months ago. | I got it between December 2022 and March 2023.
I'll sell it later this month. | I'll sell it between 8 and 31 May 2023.
We camped last summer. | We camped in the summer of 2022.
We skied last winter. | We skied in the winter of 2022/23.
We hiked over the weekend. | We hiked on the weekend of 6 May 2023.
I've lived here since March. | I've lived here since March 2023.
I've lived here since Saturday. | I've lived here since 6 May 2023.
I need it by Friday. | I need it by 12 May 2023.
I was ill from Monday to Wednesday. | I was ill from 1 to 3 May 2023.
See you tomorrow at 5pm. | See you on 9 May 2023 at 17:00.
This morning I ran 5 km. | On the morning of 8 May 2023 I ran 5 km.
We had a party tonight. | We had a party on the evening of 8 May 2023.
We talked yesterday evening. | We talked on the evening of 7 May 2023.
I moved in early April. | I moved in early April 2023.
I paid on the 3rd. | I paid on 3 May 2023.
I sold it last quarter. | I sold it in the first quarter of 2023.
I was born on 5 May 1990. | I was born on 5 May 1990.
I've worked there since 2016. | I've worked there since 2016.
I stayed until 2018. | I stayed until 2018.
The other day I may have said it. | The other day I may have said it.
I was away from 28 December to 3 January. | I was away from 28 December 2022 to 3 January 2023.
We're in Rome from 25 July till 1 August. | We're in Rome from 25 July to 1 August 2023.
We have got the kids from the 3rd to the 9th of June. | We have got the kids from 3 to 9 June 2023.
The exam is in a fortnight. | The exam is around 22 May 2023.
I defend a week on Friday. | I defend on 19 May 2023.
I met Ana on Friday just gone. | I met Ana on 5 May 2023.
The exam is next month. | The exam is in June 2023.
The concert is tonight. | The concert is on the evening of 8 May 2023.
It ends at the end of the month. | It ends at the end of May 2023.
We got engaged at Christmas. | We got engaged at Christmas 2022.
The user's cat was buried on Saturday. | The user's cat was buried on 6 May 2023.
The exam has been set for 14 June. | The exam has been set for 14 June 2023.
I retired at Easter. | I retired at Easter (said on 8 May 2023).
I take statistics next term. | I take statistics next term (said on 8 May 2023).
My brother drowned on 14 August. | My brother drowned on 14 August.
We got married on 14 June. | We got married on 14 June.
The rent goes out on the 3rd. | The rent goes out on the 3rd.
My birthday is on 12 June. | My birthday is on 12 June.
The shop is open from March to October. | The shop is open from March to October.
I booked a week in Corfu from 3 to 17 October. | I booked a week in Corfu from 3 to 17 October 2023.
The open day is the last Sunday in July. | The open day is 30 July 2023.
It was suspended from 1 March to 30 April. | It was suspended from 1 March to 30 April 2023.
The exam was originally on 3 June. | The exam was originally on 3 June 2023.
Mein Bruder ist am 8. Januar gestorben. | Mein Bruder ist am 8. Januar gestorben.
Meine Tochter hat am 8. Mai Geburtstag. | Meine Tochter hat am 8. Mai Geburtstag.
Gestern war ich in Rom. | Gestern (2023-05-07) war ich in Rom.
El mes pasado fui a Roma. | El mes pasado (2023-04) fui a Roma.
""")


@each_row(("text", "full"), TABLE)
def test_a_sentence_says_its_times_in_full(text, full):
    """Relative times become absolute ones, which nothing that is said later changes."""
    assert DateParser().resolve(text, SAID) == full
    assert DateParser().resolve(full, datetime(2031, 1, 2, tzinfo=UTC)) == full


@each_row
def test_a_mention_in_absolute_words(text, words):
    """Each kind of time has its wording.

    yesterday | on 7 May 2023
    in May 2023 | in May 2023
    last week | in the week of 1 May 2023
    last year | in 2022
    before 2020 | before 2020
    I left after May 2022 | after May 2022
    the 1990s | in the 1990s
    """
    (mention,) = DateParser().read(text, SAID)
    assert " ".join(absolute_wording(mention)) == words


PIECES = st.sampled_from(" ".join(row[0] for row in TABLE).split(" "))


@given(
    st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=10).map(" ".join)),
    st.datetimes(timezones=st.timezones()),
)
def test_only_times_change(text, said_at):
    """What is no time stands unchanged; a text without times is returned as it is."""
    found, resolved = DateParser().read(text, said_at), DateParser().resolve(text, said_at)
    told, noted, _ = resolved.partition(" (said on ")
    if noted:  # Some of it counts from the day it was said on, and means no sure day.
        text = text.removesuffix(".")
    if not found:
        assert told == text
        return
    assert told.startswith(text[: found[0].start])
    assert told.endswith(text[found[-1].end :])
    assert all(absolute_wording(mention) for mention in found)

"""Time words: what a question says about time, and when it says nothing."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, each_text, read_table

from memoranda.errors import InvalidInput
from memoranda.text.dates.questions import question_range

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2023, 7, 12, 15, 30, tzinfo=BERLIN)  # A Wednesday.

PHRASES = """
2023-06-01 | 2023-07-01 | What happened in June 2023? | last month | el mes pasado | 上个月
2023-05-05 | 2023-05-06 | What did she say on 5 May 2023? | am 5. Mai 2023
2023-05-08 | 2023-05-09 | May 8 | What did I do on May 8th, 2023? | meeting of 2023-05-08
| 2023-05-08T10:00:00Z | 8.5.2023 | el 8 de mayo de 2023 | 2023年5月8日
2023-06-03 | 2023-06-04 | the 3rd of June
2022-08-03 | 2022-08-04 | August 3
2022-01-01 | 2023-01-01 | What did I buy in 2022? | a year ago | last year
2021-01-01 | 2022-01-01 | Where were we in 2021 with Ana?
2023-05-13 | 2023-05-14 | the log 13/05/2023 | the log 05/13/2023
2023-07-11 | 2023-07-12 | what did we eat yesterday? | last Tues | Was habe ich gestern gesagt?
| Qu'est-ce que j'ai fait hier ? | ¿Qué comí ayer? | 我昨天说了什么?
2023-07-10 | 2023-07-11 | the day before yesterday | vorgestern
2023-07-12 | 2023-07-13 | what is planned today
2023-07-13 | 2023-07-14 | tomorrow
2023-07-03 | 2023-07-10 | last week | letzte Woche | la semaine dernière | 上周
2023-06-26 | 2023-07-03 | the week before last
2023-07-10 | 2023-07-17 | this week
2023-07-17 | 2023-07-24 | next week
2023-06-18 | 2023-06-25 | three weeks ago | vor drei Wochen | hace tres semanas | 三周前
2023-07-02 | 2023-07-03 | 10 days ago
2023-05-01 | 2023-06-01 | two months ago | last May | in May
2023-06-04 | 2023-07-02 | a few weeks ago
2022-09-01 | 2022-10-01 | last September
2022-07-01 | 2022-08-01 | last July
2023-07-01 | 2023-08-01 | this month
2023-04-01 | 2023-07-01 | from April to June
2023-03-01 | 2023-06-01 | between March and May 2023 | zwischen März und Mai 2023 | 从3月到5月
2022-11-01 | 2023-03-01 | between November and February 2023
2019-01-01 | 2022-01-01 | from 2019 to 2021
2023-05-05 | 2023-05-09 | from 5 to 8 May 2023 | May 5-8, 2023
2023-07-10 | 2023-07-13 | since Monday | seit Montag
2023-06-01 | 2023-07-13 | since June | after May 2023
1900-01-01 | 2020-01-01 | before 2020 | vor 2020
1900-01-01 | 2022-01-01 | until 2021
2023-07-09 | 2023-07-13 | the last 3 days | die letzten drei Tage | les 3 derniers jours | 最近三天
2023-06-12 | 2023-07-13 | over the past month
2023-07-08 | 2023-07-10 | last weekend | 上周末
2023-07-01 | 2023-07-03 | two weekends ago
2022-06-01 | 2022-09-01 | last summer
2021-06-01 | 2021-09-01 | in the summer of 2021
2022-12-01 | 2023-03-01 | in winter
2022-12-01 | 2023-01-01 | in December
2023-06-01 | 2023-07-01 | in early June
2023-03-01 | 2023-04-01 | the end of March 2023
2023-07-07 | 2023-07-08 | last Friday | 上周五
2023-07-05 | 2023-07-06 | on Wednesday
2023-07-17 | 2023-07-18 | next Monday
2023-07-14 | 2023-07-15 | this Friday
2023-07-04 | 2023-07-05 | on Tuesday of last week
2022-05-01 | 2022-06-01 | in May last year | 去年5月
2023-06-25 | 2023-07-02 | il y a deux semaines
2023-03-01 | 2023-04-01 | en mars
2023-05-01 | 2023-07-13 | desde mayo
2020-02-29 | 2020-03-01 | 29 February
2023-07-11 | 2023-07-12 | last night
2023-07-12 | 2023-07-13 | this morning
"""
TABLE = [(text, start, end) for start, end, *texts in read_table(PHRASES) for text in texts]


def midnight(day: str) -> datetime:
    """Return the midnight that begins ``day`` in the zone of the table."""
    return datetime.fromisoformat(day).replace(tzinfo=BERLIN)


@each_row(("query", "start", "end"), TABLE)
def test_a_phrase_means_its_stretch_of_days(query: str, start: str, end: str):
    """What a phrase means, in five languages; parts of a day and counted hours are finer."""
    assert question_range(query, NOW) == (midnight(start), midnight(end))


@each_text
def test_no_range_rather_than_a_wrong_one(query: str):
    """Words that only look like a time, and times that cannot be known, give nothing.

    What did we eat? | may I ask? | You may know | This may be right | it may be 5 people
    May 5 of us come? | which of the 5 may be right | march on | they march on Rome
    she sat down, where I last sat | the second time | give me a second | Sun and moon
    Wed themselves | life on Mars | the things in mars bars | Who is April? | Tell me about May
    my friend June said | two weeks before my birthday | three days after the wedding
    over two years ago | half a year ago | What is in room 2022? | Windows 2000 | I need 2000 steps
    in 2000 people | $2022 | version 2.2022 | the last day of school | the next week
    the last week of 2019 | last minute ideas | every Monday | Monday blues | Black Friday
    spring framework | fall in love | did he fall | the song "Yesterday"
    he watched Yesterday with me | Ich bin hier | Guten Morgen | jeden Morgen | sept enfants
    mes amis | en un an | 08/05/2023 | ⏎ | 31 February 2023 | 2023-13-45
    on 5 May 2023 and on 7 June 2021 | ? | any plans for the summer?
    last weekend before May 3, 2023 | the last weekend of June 2023 | the Sunday before 25 May 2023
    two weekends before 17 July 2023 | the week of 5 May 2023 | two days after 5 May 2023
    2020年以前
    """
    assert question_range(query, NOW) is None


def test_days_are_those_of_the_person_who_asks():
    """The same instant is another "yesterday" in another time zone."""
    instant = datetime(2023, 7, 12, 23, 30, tzinfo=UTC)
    at_home, _ = question_range("yesterday", instant)
    in_tokyo, _ = question_range("yesterday", instant.astimezone(ZoneInfo("Asia/Tokyo")))
    assert (at_home.day, in_tokyo.day) == (11, 12)
    assert in_tokyo.utcoffset() == timedelta(hours=9)


def test_a_naive_now_is_refused():
    """A question's moment without a time zone is an error that says so."""
    with pytest.raises(InvalidInput, match="time zone"):
        question_range("yesterday", NOW.replace(tzinfo=None))


WORDS = st.sampled_from(
    (" ".join(row[0] for row in TABLE) + " before after of the since and may 31 2000 ago").split()
)
QUERIES = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=8).map(" ".join))
MOMENTS = st.datetimes(timezones=st.timezones())


@given(QUERIES, MOMENTS)
def test_any_text_at_any_moment(query: str, now: datetime):
    """It never raises, is deterministic, and a range ends after it starts."""
    found = question_range(query, now)
    assert found == question_range(query, now)
    if found is not None:
        assert found[0].astimezone(UTC) < found[1].astimezone(UTC)
        assert found[0].tzinfo is now.tzinfo


@given(st.integers(2000, 2099), st.dates(datetime(2000, 1, 1, tzinfo=UTC).date()))
def test_a_day_ago_is_before_today(count: int, day):
    """The words "N days ago" mean the day N days before, for any N below 1000."""
    count %= 1000
    now = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    found = question_range(f"{count} days ago", now)
    if found is not None:
        assert found[0].date() == day - timedelta(days=count)

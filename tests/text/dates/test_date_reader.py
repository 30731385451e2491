"""Times in statements: which days they mean, and when they mean none."""

import re
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, each_text, read_table

from memoranda.errors import InvalidInput
from memoranda.text.dates.statements import read_times

BERLIN = ZoneInfo("Europe/Berlin")
SAID = datetime(2023, 5, 10, 13, 56, tzinfo=BERLIN)  # A Wednesday.

MEANT = read_table("""
2023-05-09 | 2023-05-10 | day | I went there [yesterday]. | [Gestern] war ich in Rom.
| [Ayer] fui a Roma. | 我[昨天]去了罗马。
2023-05-05 | 2023-05-06 | day | We met [last Friday]. | I went [on Friday]. | I called him [Friday].
| I met Bob [on Friday, May 5]. | [Am Freitag] war ich in Rom.
2023-04-23 | 2023-04-30 | week | I moved [two weeks ago].
2023-06-01 | 2023-07-01 | month | We're going to Italy [next month]. | We will be there [in June].
2023-03-01 | 2023-04-01 | month | I was there [in March].
2023-05-03 | 2023-05-04 | day | We paid [on the 3rd].
2023-06-03 | 2023-06-04 | day | It is due [on the 3rd].
2023-05-12 | 2023-05-13 | day | I'm going [on Friday]. | I have a concert [on Friday].
| I'll wear a hat [on Friday]. | I meet Dr. Costa [on Friday] at 9:30.
| Call mom [on Friday]. | [this Friday] works
| [Am Freitag] werde ich in Rom sein.
2023-05-13 | 2023-05-14 | day | I'm so excited to see you [Saturday]!
2023-05-18 | 2023-05-19 | day | Dinner [tomorrow week].
2023-05-19 | 2023-05-20 | day | [Next Friday] works.
2023-06-12 | 2023-06-13 | day | J'ai rendez-vous [le 12 juin].
2023-05-06 | 2023-05-08 | span | We went hiking [this weekend].
| That trip [this past weekend] was fun.
2023-05-13 | 2023-05-15 | span | We're going hiking [this weekend].
2020-01-01 | 2021-01-01 | year | I started [3 years ago].
2016-01-01 | 2023-05-11 | span | I've worked there [since 2016].
2023-03-01 | 2023-05-11 | span | I've worked there [since March].
2024-04-19 | 2024-04-20 | day | released [on 2024-04-19]
2024-03-29 | 2024-03-30 | day | the sprint will end [March 29]
2023-05-31 | 2023-06-01 | day | we need it [by May 31] | the [May 31st] deadline is near
2023-05-03 | 2023-05-06 | span | [May 3-5] we were in Rome | I was away [from 3 to 5 May].
2023-05-21 | 2023-05-22 | day | It's [on the twenty-first of May].
2023-04-29 | 2023-04-30 | day | The birds came [on 29 April this year].
2023-05-31 | 2023-06-01 | day | They operate my knee [three weeks from today].
2023-06-10 | 2023-06-11 | day | The talk starts [on the 10th].
2022-06-01 | 2022-09-01 | span | [Last summer] we swam.
2022-06-01 | 2022-07-01 | month | We moved [in early June 2022].
2023-11-16 | 2023-12-16 | span | [Nov 16 - Dec 15, 2023]: login
2023-05-11 | 2023-05-14 | span | It runs [from Thursday to Saturday].
2023-05-08 | 2023-05-10 | span | I was ill [from Monday to Tuesday].
2023-05-21 | 2023-05-28 | week | Let's meet [in two weeks].
2023-05-07 | 2023-05-11 | span | I've been ill [for the past 3 days].
1990-05-05 | 1990-05-06 | day | I was born [on 5 May 1990].
2023-05-01 | 2023-05-08 | week | La [semaine dernière] il était à Rome.
2023-05-11 | 2023-05-12 | day | See you [tomorrow] at 5pm.
2023-05-10 | 2023-05-11 | day | [This morning] I ran. | Dinner [tonight] at 7.
2023-05-09 | 2023-05-10 | day | We cooked [last night].
2023-05-12 | 2023-05-13 | day | My bus at 17:45 [on 12 May] is late.
| I arrive [on May 12] at 5 p.m. Bye.
| We'll meet [Friday] 2-4pm.
2023-05-15 | 2023-05-16 | day | We'll meet [Monday] 3:30pm.
""")


def there(moment: str) -> datetime:
    """Return a moment in the zone of the tables."""
    return datetime.fromisoformat(moment).replace(tzinfo=BERLIN)


AHEAD = read_table("""
2026-05-28 | 2026-06-08 | My start date was pushed to June 8. | They moved the launch to June 8.
| The deadline is moved to June 8. | The call got rescheduled for June 8.
| The report is due June 8.
2026-05-28 | 2026-06-22 | The launch was postponed to June 22.
| The launch has been pushed back until June 22.
2026-03-15 | 2026-10-18 | I signed up for the harbour marathon on 18 October.
2026-03-15 | 2026-06-03 | I booked a table for 3 June.
2026-03-15 | 2026-03-03 | I booked the flight on 3 March. | I forgot to call on 3 March.
2026-03-15 | 2026-05-03 | We decided to fly on 3 May.
2026-03-15 | 2026-06-20 | She promised to pay by 20 June.
2026-05-28 | 2026-06-02 | The exam was brought forward to June 2.
2026-05-28 | 2026-06-09 | It was put off till June 9.
2026-05-28 | 2026-05-29 | The call got moved to Friday. | They rescheduled my talk for Friday.
2026-05-28 | 2027-03-01 | The deadline was extended to March. | The visa expires in March.
2026-05-28 | 2025-12-08 | We moved to Lisbon on December 8.
2026-05-28 | 2026-06-03 | They won't know until the scan on Wednesday.
2026-01-12 | 2026-09-12 | Recuerda que mi boda es el 12 de septiembre.
| Rappelle-toi que mon mariage est le 12 septembre. | Meine Hochzeit ist am 12. September.
| Merke dir, dass meine Hochzeit am 12. September ist. | Das Fest ist am 12. September geplant.
2026-01-12 | 2025-09-12 | Er ist am 12. September angekommen. | Il est parti le 12 septembre.
""")


@each_row(("said", "since", "text"), [(*row[:2], text) for row in AHEAD for text in row[2:]])
def test_what_was_put_to_a_day_or_is_on_it_lies_ahead(said, since, text):
    """A new date, an end and a present verb right before a date look ahead; the past does not."""
    (mention,) = read_times(text, there(said))
    assert mention.since == there(since)
    assert mention.precision in {"day", "month"}


def test_a_move_from_one_day_to_another_is_no_stretch():
    """Both days are told, each for itself."""
    found = read_times("It was moved from June 3 to June 8.", there("2026-05-28"))
    assert [mention.since for mention in found] == [there("2026-06-03"), there("2026-06-08")]


@each_row(
    ("since", "until", "precision", "marked"),
    [(*row[:3], marked) for row in MEANT for marked in row[3:]],
)
def test_a_statement_means_its_days(since, until, precision, marked):
    """What the words in brackets mean, as exact as days are, and where they stand."""
    before, words, after = re.split(r"[][]", marked)
    (mention,) = read_times(f"{before}{words}{after}", SAID)
    assert (mention.text, mention.precision, mention.start) == (words, precision, len(before))
    assert (mention.since, mention.until) == (there(since), there(until))
    assert mention.end == len(before + words)


@each_text
def test_no_time_rather_than_a_wrong_one(text):
    """Names, verbs, habits, vague and impossible times give nothing.

    I may go. | We march on. | The sun is out and we sat down. | Give me a second, the second one.
    I saw April and June in the park. | He told me about May. | the other day I saw him
    every Friday we meet | On Fridays I usually go out on Friday. | I get up at 8:30 am every day.
    The call is at 8:30 am. | It rang two hours ago.
    Black Friday was loud. | My birthday is on May 5. | I was born in May.
    I built it in two weeks. | open 24/7 in room 2022, version 2.5.2020 | I have 2022 photos.
    more than two years ago | two weeks and two days ago | 31 February 2023
    It will last three weeks, shouldn't last two hours. | He said "I'll come tomorrow".
    Two days after Christmas we left. | the week before 9 June 2023 it was | the first Sunday in May
    see https://example.com/2023-05-08 and `date(2023, 5, 8)`
    January twenty five nineteen eighty six | on Sunday March 8 | the following Friday | 08/05/2023
    on Friday | a good Friday | ⏎ | I lived there for 4 years.
    I leave from next friday to Oct 1st 2020 | I was there in June. | It is not on 12 June.
    They told me to come on 9 June. | We buried him that Thursday. | They came in on the Monday.
    Finally Wednesday and I have an hour. | He doesn't sleep well in the winter.
    I bought a caravan in Nov. 18 grand.
    He stays till the Tuesday after.
    Full duties from the 17th, they said. | I'm from a town in mayo and my parents still live there.
    It is on Thursday week if they ask me. | I see him since like March.
    Nan had a fall, last we heard.
    The exam was pushed to the 16th. | It is the first time in 4 years.
    My best is 341 in a day. | Rent was due on the 10th.
    I baked it in three days, this year. | I swim on Monday and Thursday mornings.
    """
    assert read_times(text, SAID) == []


def test_each_time_of_a_text_is_read():
    """Several times in one text are read each by its own verb."""
    text = "I left on Monday, and on Friday I'm coming back. In 2019 I stayed until June 2020."
    found = read_times(text, SAID)
    assert [each.text for each in found] == ["on Monday", "on Friday", "In 2019", "until June 2020"]
    assert [each.since for each in found[:2]] == [there("2023-05-08"), there("2023-05-12")]


def test_days_are_those_of_who_speaks():
    """The same instant is another yesterday in another time zone."""
    instant = datetime(2023, 5, 10, 23, 30, tzinfo=UTC)
    (home,) = read_times("yesterday", instant)
    (tokyo,) = read_times("yesterday", instant.astimezone(ZoneInfo("Asia/Tokyo")))
    assert (home.since.day, tokyo.since.day) == (9, 10)
    assert tokyo.since.tzinfo == ZoneInfo("Asia/Tokyo")


@each_row(("day", "hours"), [("2023-03-27", 23), ("2023-10-30", 25)])
def test_a_day_of_clock_change_is_whole(day, hours):
    """Bounds are midnights, so a day on which clocks change has 23 or 25 hours."""
    (mention,) = read_times("yesterday", there(day) + timedelta(hours=9))
    assert mention.until.astimezone(UTC) - mention.since.astimezone(UTC) == timedelta(hours=hours)
    assert (mention.since.hour, mention.until.hour, mention.precision) == (0, 0, "day")


def test_a_naive_moment_is_refused():
    """A moment without a time zone is an error that says so."""
    with pytest.raises(InvalidInput, match="time zone"):
        read_times("yesterday", SAID.replace(tzinfo=None))


WORDS = st.sampled_from(
    (
        " ".join(text for row in MEANT for text in row[3:])
        + ' before after of the since and may 31 2000 ago - , . ( ) " \n from between a.m. and to'
        + " \u017f \u0130"
    ).split(" ")
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=12).map(" ".join))
MOMENTS = st.datetimes(timezones=st.timezones())


@given(TEXTS, MOMENTS)
def test_any_text_at_any_moment(text, said_at):
    """It never raises; places are in order, apart and right; every time ends after it begins."""
    found = read_times(text, said_at)
    assert found == read_times(text, said_at)
    reached = 0
    for mention in found:
        assert reached <= mention.start < mention.end <= len(text)
        assert mention.text == text[mention.start : mention.end]
        assert mention.since.astimezone(UTC) < mention.until.astimezone(UTC)
        assert mention.since.tzinfo is said_at.tzinfo
        if mention.precision in {"day", "week", "month", "year"}:
            edges = (mention.since, mention.until)
            assert all((edge.hour, edge.minute, edge.second) == (0, 0, 0) for edge in edges)
        reached = mention.end


@each_row(
    "piece",
    ["a ", "1 ", "last ", "5-", "may ", "一", "e\u0301", "“", "`", "1:", "x@", "Monday, ", "went "],
)
def test_time_grows_with_the_text_and_no_faster(piece):
    """Repetition of the rules' own words makes no work that explodes."""
    read_times(piece * 100, SAID)

    def seconds(count: int) -> float:
        start = time.process_time()
        read_times(piece * count, SAID)
        return time.process_time() - start

    assert seconds(2_000) < 16 * seconds(250) + 0.2

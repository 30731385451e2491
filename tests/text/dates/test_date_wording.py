"""A sentence with the dates of its times behind them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row, read_table

from memoranda.text.dates.statements import read_times, resolve_times, without_dates

SAID = datetime(2023, 5, 8, 13, 56, tzinfo=ZoneInfo("Europe/Berlin"))  # A Monday.

TABLE = read_table("""
I went to Rome yesterday. | I went to Rome yesterday (7 May 2023).
I missed yesterday's meeting. | I missed yesterday's (7 May 2023) meeting.
We met on Friday, and Bob left. | We met on Friday (5 May 2023), and Bob left.
I joined a gym last week! | I joined a gym last week (1 May 2023 \u2013 7 May 2023)!
We're going to Italy next month. | We're going to Italy next month (June 2023).
I read it last year. | I read it last year (2022).
See you tomorrow at 5pm. | See you tomorrow (9 May 2023) at 5pm.
The exam has been set for 14 June. | The exam has been set for 14 June (14 June 2023).
I stayed until March. | I stayed until March (\u2013 31 March 2023).
Gestern war ich in Rom. | Gestern (2023-05-07) war ich in Rom.
El mes pasado fui a Roma. | El mes pasado (2023-04) fui a Roma.
我昨天去了罗马。 | 我昨天 (2023-05-07)去了罗马。
It ends on the 3rd of November '28. | It ends on the 3rd of November 2028.
I sat it in March '19. | I sat it in March 2019.
I was born on 5 May 1990. | I was born on 5 May 1990.
I've worked there since 2016. | I've worked there since 2016.
I retired at Easter. | I retired at Easter.
My brother drowned on 14 August. | My brother drowned on 14 August.
The rent goes out on the 3rd. | The rent goes out on the 3rd.
My birthday is on 12 June. | My birthday is on 12 June.
The shop is open from March to October. | The shop is open from March to October.
The exam was originally on 3 June. | The exam was originally on 3 June (3 June 2023).
Meine Tochter hat am 8. Mai Geburtstag. | Meine Tochter hat am 8. Mai Geburtstag.
It was my first holiday in ten years. | It was my first holiday in ten years.
I haven't smoked in five years. | I haven't smoked in five years.
We go back in four years. | We go back in four years (2027).
The exam is last Friday of this month. | The exam is last Friday of this month.
They moved me, from Sunday I'm in Leeds. | They moved me, from Sunday (14 May 2023) I'm in Leeds.
My first exam is in two weeks. | My first exam is in two weeks (19 May 2023 \u2013 25 May 2023).
""")


@each_row(("text", "full"), TABLE)
def test_a_sentence_keeps_its_words_and_tells_its_dates(text, full):
    """The words stay as they were said; nothing said later changes the dates behind them."""
    assert resolve_times(text, SAID) == full
    assert resolve_times(full, datetime(2031, 1, 2, tzinfo=UTC)) == full
    assert without_dates(full) == text or "'" in text


PIECES = st.sampled_from(" ".join(row[0] for row in TABLE).split(" "))


@given(
    st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=10).map(" ".join)),
    st.datetimes(timezones=st.timezones()),
)
def test_only_dates_are_added(text, said_at):
    """Without what was added a text is what it was; one without times is returned as it is."""
    found, resolved = read_times(text, said_at), resolve_times(text, said_at)
    assert (resolved == text) or found
    left = iter(resolved)
    assert all(sign in left for sign in text)

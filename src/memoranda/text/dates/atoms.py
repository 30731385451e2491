"""Single time expressions: the patterns that find them and what each one means.

The longest match wins. A resolver returns ``None`` where the words only look like a time,
and raises :class:`ValueError` where they are one that cannot be known ("31 February").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from memoranda.text.dates import grammar as g
from memoranda.text.dates.grammar import DAY, Bounds, Calendar

_MONTHS_A_YEAR = 12
_COUNTED = re.compile(
    r"(?:[$€£#]|\b(?:room|windows|version|route|area|code|number|no\.?|id|top|about|over|than))\s*$",
    re.IGNORECASE,
)
_GERMAN = re.compile(
    r"\b(?:ich|ist|war|was|wer|wo|wir|der|die|das|und|hat|habe|nicht|wie|ein)\b", re.IGNORECASE
)
_FRENCH = re.compile(r"\b(?:en|depuis|avant|après|entre|de|et|à|mi|fin)\s+mars\b", re.IGNORECASE)
_MORNING = re.compile(r"\b(?:guten|jeden|am|diesen|every|la|por\s+la|una|cada)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """What an expression means.

    Attributes:
        bounds: the stretch of time.
        grain: what it is: day, weekday, week, month, season, year, …
        needs_cue: whether it means a time only behind a word such as "in" or "since".
        in_year: the same in another year, where no year was said.
        options: other times that the words may mean, where the tense decides.
        only: ``future`` where the words mean a time only with a verb that looks ahead.
    """

    bounds: Bounds
    grain: str
    needs_cue: bool = False
    in_year: Callable[[int], Bounds] | None = None
    options: tuple[Bounds, ...] = ()
    only: str = ""


@dataclass(frozen=True, slots=True)
class Atom:
    """A time expression and where it stands in the query."""

    begin: int
    finish: int
    found: Found


def _yearly(c: Calendar, m: re.Match[str], in_year: Callable[[int], Bounds], grain: str) -> Found:
    """Place a stretch that recurs each year: in the year said, or the latest."""
    year = m["y"]
    if year is not None:
        return Found(in_year(int(year)), grain)
    return Found(c.latest(in_year), grain, in_year=in_year)


def _numeric(m: re.Match[str], c: Calendar) -> Found:
    first, second = int(m["a"]), int(m["b"])
    if m["sep"] != "." and first != second and max(first, second) <= _MONTHS_A_YEAR:
        message = "day and month cannot be told apart"
        raise ValueError(message)
    day, month = (second, first) if m["sep"] != "." and second > _MONTHS_A_YEAR else (first, second)
    start = c.date(int(m["y"]), month, day)
    return Found((start, start + DAY), "day")


def _iso(m: re.Match[str], c: Calendar) -> Found:
    start = c.date(int(m["y"]), int(m["m"]), int(m["d"]))
    return Found((start, start + DAY), "day")


def month_day(m: re.Match[str], c: Calendar) -> Found:
    """Read a day of a month, or some days of it."""
    month = (g.MONTHS | g.SHORT_MONTHS)[m["m"].lower()]
    first, last = int(m["d"]), int(m["e"] or m["d"])

    def in_year(year: int) -> Bounds:
        return c.date(year, month, first), c.date(year, month, last) + DAY

    return _yearly(c, m, in_year, "day")


def _month(m: re.Match[str], c: Calendar) -> Found | None:
    if m["m"].lower() == "mars" and not _FRENCH.search(m.string):
        return None  # A planet, or a chocolate bar.
    month = (g.MONTHS | g.SHORT_MONTHS)[m["m"].lower()]
    phase = (m["phase"] or "").lower()[:3]

    def in_year(year: int) -> Bounds:
        start, end = c.months(year, month)
        if phase[:2] in {"mi", "me"}:
            return start + 10 * DAY, start + 20 * DAY
        if phase in {"lat", "end", "fin"}:
            return start + 20 * DAY, end
        return start, start + 10 * DAY if phase else end

    found = _yearly(c, m, in_year, "month")
    bare = not phase and m["y"] is None
    return Found(found.bounds, "month", needs_cue=bare, in_year=found.in_year)


def _shifted_month(m: re.Match[str], c: Calendar) -> Found:
    month, shift = g.MONTHS[m["m"].lower()], g.SHIFTS[m["shift"].lower()]
    return Found(c.shifted(lambda year: c.months(year, month), shift), "month")


def _season(m: re.Match[str], c: Calendar) -> Found:
    season = g.SEASONS[m["season"].lower()]

    def in_year(year: int) -> Bounds:
        return c.season(year, season)

    if m["shift"]:
        return Found(c.shifted(in_year, g.SHIFTS[m["shift"].lower()]), "season")
    found = _yearly(c, m, in_year, "season")
    return Found(found.bounds, "season", needs_cue=m["y"] is None, in_year=found.in_year)


def _weekday(m: re.Match[str], c: Calendar) -> Found:
    said, today = m["day"].lower(), c.today.isoweekday()
    number = g.WEEKDAYS.get(said) or next(
        day for word, day in g.WEEKDAYS.items() if word.startswith(said)
    )
    shift = g.SHIFTS[m["shift"].lower()] if m["shift"] else -1
    offset = {
        -1: (number - today) % 7 - 7,
        0: number - today,
        1: number - today + 7,
    }[shift]
    if m["shift"]:
        return Found(c.days(offset), "weekday")
    options = (c.days(offset), c.days((number - today - 1) % 7 + 1))
    return Found(c.days(offset), "weekday", needs_cue=True, options=options)


def _unit(m: re.Match[str], c: Calendar) -> Found:
    unit = g.UNITS[re.sub(r"\s+", " ", m["u"].lower())]
    return Found(c.unit(unit, g.SHIFTS[m["shift"].lower()]), unit)


def _before_last(m: re.Match[str], c: Calendar) -> Found:
    unit = g.UNITS[m["u"].lower()]
    return Found(c.unit(unit, -2), unit)


def span_of(m: re.Match[str]) -> tuple[str, int, int]:
    """Return the unit and the least and greatest number of a counted stretch."""
    unit = g.UNITS[re.sub(r"\s+", " ", m["u"].lower())]
    groups = m.groupdict()
    if groups.get("few"):
        return unit, *g.FEW_MEANS
    count = g.number(m["n"]) if groups.get("n") else 1
    return unit, count, count


def _ago(m: re.Match[str], c: Calendar) -> Found:
    unit, low, high = span_of(m)
    return Found(c.around(unit, -high, -low), unit)


def _ahead(m: re.Match[str], c: Calendar) -> Found:
    unit, low, high = span_of(m)
    return Found(c.around(unit, low, high), unit)


def _vague_ago(m: re.Match[str], c: Calendar) -> Found:
    """Refuse "over two years ago": it says only what it is not."""
    raise ValueError(m[0], c.now)


def _rolling(m: re.Match[str], c: Calendar) -> Found:
    unit, _, count = span_of(m)
    if unit in g.SUB_DAY:
        return Found((c.around(unit, -count, -count)[0] + g.SUB_DAY[unit] / 2, c.now), unit)
    if unit == "weekend":
        return Found((c.unit(unit, -count)[0], c.days(0)[1]), unit)
    if unit in {"day", "week"}:
        return Found((c.days(-count * (7 if unit == "week" else 1))[0], c.days(0)[1]), unit)
    months = count * {"month": 1, "quarter": 3, "year": 12}[unit]
    start = c.months(c.now.year, c.now.month - months)[0]
    last = c.months(start.year, start.month)[1] - DAY
    return Found((min(start + (c.now.day - 1) * DAY, last), c.days(0)[1]), unit)


def _week_of_month(m: re.Match[str], c: Calendar) -> Found:
    month, which = (g.MONTHS | g.SHORT_MONTHS)[m["m"].lower()], g.ORDINALS[m["k"].lower()]
    weekend = g.UNITS[m["u"].lower()] == "weekend"

    def in_year(year: int) -> Bounds:
        start, end = c.months(year, month)
        if weekend:
            start += (5 - start.weekday()) % 7 * DAY
            end -= ((end - DAY).weekday() - 5) % 7 * DAY - 6 * DAY
        first = start + 7 * (which - 1) * DAY if which > 0 else end - 7 * DAY
        return first, first + (2 if weekend else 7) * DAY

    return _yearly(c, m, in_year, "week")


def _quarter(m: re.Match[str], c: Calendar) -> Found:
    found = _yearly(c, m, lambda year: c.months(year, 3 * int(m["q"]) - 2, 3), "quarter")
    return Found(found.bounds, "quarter", needs_cue=m["y"] is None, in_year=found.in_year)


def _year(m: re.Match[str], c: Calendar) -> Found | None:
    if _COUNTED.search(m.string[: m.start()]):
        return None
    return Found(c.months(int(m["y"]), 1, 12), "year")


def _decade(m: re.Match[str], c: Calendar) -> Found:
    return Found(c.months(int(m["decade"] + "0"), 1, 120), "decade")


def _named_day(offset: int) -> Callable[[re.Match[str], Calendar], Found | None]:
    def resolve(m: re.Match[str], c: Calendar) -> Found | None:
        word, before = m[0].lower(), m.string[: m.start()]
        # "hier" is French for yesterday and German for here; "morgen" and "mañana" are
        # tomorrow and the morning; a capital inside a sentence makes a title.
        if word == "hier" and _GERMAN.search(m.string):
            return None
        if word in {"morgen", "mañana"} and _MORNING.search(before):
            return None
        if m[0][0].isupper() and re.search(r"[^\W_],?\s+$", before):
            return None
        return Found(c.days(offset), "day")

    return resolve


def _day_part(offset: int, first: int, last: int) -> Callable[[re.Match[str], Calendar], Found]:
    def resolve(_: re.Match[str], c: Calendar) -> Found:
        start = c.days(offset)[0]
        return Found((start + timedelta(hours=first), start + timedelta(hours=last)), "hour")

    return resolve


def _zh_date(m: re.Match[str], c: Calendar) -> Found:
    month = g.number(m["m"])

    def in_year(year: int) -> Bounds:
        if not m["d"]:
            return c.months(year, month)
        start = c.date(year, month, g.number(m["d"]))
        return start, start + DAY

    grain = "day" if m["d"] else "month"
    if m["rel"]:
        return Found(in_year(c.now.year + g.ZH_YEARS[m["rel"]]), grain)
    return _yearly(c, m, in_year, grain)


def _zh_year(m: re.Match[str], c: Calendar) -> Found:
    year = int(m["y"]) if m["y"] else c.now.year + g.ZH_YEARS[m["rel"]]
    if m["season"]:
        return Found(c.season(year, g.SEASONS[m["season"] + "天"]), "season")
    return Found(c.months(year, 1, 12), "year")


def _zh_unit(m: re.Match[str], c: Calendar) -> Found:
    shift = g.ZH_SHIFTS[m["shift"]]
    if m["day"] is None:
        unit = "month" if m["u"] == "月" else "week"
        return Found(c.unit(unit, shift), unit)
    if m["day"] == "末":
        return Found(c.unit("weekend", shift), "weekend")
    start = c.unit("week", shift)[0] + "一二三四五六日天".index(m["day"]) % 7 * DAY
    if m["day"] == "天":
        start = c.unit("week", shift)[1] - DAY
    return Found((start, start + DAY), "day")


def _zh_day(m: re.Match[str], c: Calendar) -> Found:
    return Found(c.days(g.ZH_DAYS[m["day"]]), "day")


# --- the rules ---------------------------------------------------------------------------

Resolver = Callable[[re.Match[str], Calendar], Found | None]
Rules = list[tuple[re.Pattern[str], Resolver]]

_TAIL = (
    r"(?:\s+(?:morning|afternoon|evening|night|früh|morgen|nachmittag|abend|nacht|matin|"
    r"après-midi|soir|por\s+la\s+(?:mañana|tarde|noche)))?"
)
_ALONE = r"(?!,?\s+(?:the\s+)?[0-9])"
# "I last sat there" and "the sun": these three are days only with a capital.
_SHORT_DAY = r"(?:mon|tues?|thu(?:rs?)?|fri|(?-i:Sat|Sun|Wed))"
_D, _M, _TH = g.DAY_NUMBER, rf"(?P<m>{g.ANY_MONTH})\.?", r"(?:st|nd|rd|th|er|\.|º)?"
_SHIFT, _IN = rf"(?P<shift>{g.SHIFT})", r"(?:(?:in|over|during|within|for)\s+)?"
_LAST = r"(?:last|past|letzten?|vergangenen?|derni[eè]re?s|últim[oa]s)"
_PARTS = {words: _day_part(*hours) for words, hours in g.DAY_PARTS.items()}

SPACED: list[tuple[str, Resolver]] = [
    (rf"(?P<y>[0-9]{{4}})[-/](?P<m>{_D})[-/](?P<d>{_D})(?:T[0-9:.Z+]{{2,20}})?", _iso),
    (rf"(?P<a>{_D})(?P<sep>[-./])(?P<b>{_D})(?P=sep)(?P<y>[0-9]{{4}})", _numeric),
    (
        (
            rf"(?:(?:the|le|el|am|den|{g.WEEKDAY},?)\s+)?(?P<d>{_D}){_TH}(?:{g.DASH}(?P<e>{_D}){_TH})?"
            rf"(?:\s+(?:of|de|del))?\s+{_M}(?:{g.OF_YEAR}|{g.ENDS}|(?-i:(?<!may)(?<!march)))"
        ),
        month_day,
    ),
    (
        (
            rf"(?:{g.WEEKDAY},?\s+)?{_M}\s+(?:the\s+)?(?P<d>{_D})(?:{g.DASH}(?P<e>{_D}))?"
            rf"(?:(?:st|nd|rd|th)?{g.OF_YEAR}|st|nd|rd|th|{g.ENDS})"
        ),
        month_day,
    ),
    (rf"{g.NOT_VERB}{g.PHASE}{_M},?\s+(?:(?:of|de|del)\s+)?{g.YEAR}", _month),
    (rf"{g.PHASE}(?P<m>{g.MONTH})(?P<y>(?!))?", _month),
    (rf"{g.NOT_VERB}{_SHIFT}\s+(?P<m>{g.MONTH})", _shifted_month),
    (rf"(?P<m>{g.MONTH})\s+{_SHIFT}", _shifted_month),
    (rf"(?:this\s+)?{_SHIFT}\s+(?P<day>{_SHORT_DAY}|{g.WEEKDAY})\b{_TAIL}{_ALONE}", _weekday),
    (rf"(?P<day>{g.WEEKDAY})(?:\s+{_SHIFT})?{_TAIL}{_ALONE}", _weekday),
    (rf"(?<!\bthe ){_SHIFT}\s+(?P<u>{g.LONG_UNIT})(?!\s+of\b)", _unit),
    (rf"(?P<u>{g.LONG_UNIT})\s+{_SHIFT}", _unit),
    (rf"(?:the\s+)?(?P<u>{g.LONG_UNIT})\s+before\s+last", _before_last),
    (rf"vorletzte[nrs]?\s+(?P<u>{g.LONG_UNIT})", _before_last),
    (rf"{g.COUNT}\s+(?:ago|back|atrás)", _ago),
    (rf"(?:vor|il\s+y\s+a|hace)\s+{g.COUNT}", _ago),
    (
        (
            rf"(?:over|under|half|(?:more|less|longer)\s+than|at\s+least|mehr\s+als)\s+{g.COUNT}"
            rf"\s+ago"
        ),
        _vague_ago,
    ),
    (rf"{g.COUNT}\s+from\s+(?:now|today)", _ahead),
    (rf"(?:dans|dentro\s+de)\s+{g.COUNT}", _ahead),
    (rf"{_IN}(?:(?:the|die|den|les|los|las)\s+)?{_LAST}\s+{g.COUNT}(?!\s+of\b)", _rolling),
    (
        rf"(?:les|los|las)\s+(?P<n>{_D}|{g.any_of(g.NUMBERS)})\s+{_LAST}\s+(?P<u>{g.UNIT})",
        _rolling,
    ),
    (
        rf"(?:{_IN}the\s+(?:last|past)|(?:this\s+)?past)\s+(?P<u>{g.LONG_UNIT})(?!\s+of\b)",
        _rolling,
    ),
    (
        (
            rf"(?:in\s+)?(?:the\s+)?(?P<k>{g.any_of(g.ORDINALS)})\s+(?P<u>week|weekend)\s+(?:of|in)"
            rf"\s+{_M}{g.OF_YEAR}?"
        ),
        _week_of_month,
    ),
    (rf"(?:{_SHIFT}\s+)(?P<season>{g.SEASON})(?P<y>(?!))?", _season),
    (rf"(?P<season>{g.SEASON})(?:\s+{_SHIFT}|{g.OF_YEAR})", _season),
    (rf"(?P<shift>(?!))?(?P<season>{g.SEASON})(?P<y>(?!))?{g.ENDS}", _season),
    (rf"Q(?P<q>[1-4])(?:(?:\s+|[-/])(?:of\s+)?{g.YEAR}|{g.ENDS})", _quarter),
    (rf"{g.YEAR}{g.ENDS}", _year),
    (r"(?:the\s+)?(?P<decade>(?:19|20)[0-9])0['\u2019]?s", _decade),
    *((f"(?:{words}){_TAIL}", _named_day(offset)) for offset, words in g.DAYS.items()),
    *((f"(?:{words})", part) for words, part in _PARTS.items()),
]
_REL = "(?P<rel>" + "|".join(g.ZH_YEARS) + ")"
UNSPACED: list[tuple[str, Resolver]] = [
    (
        rf"(?:{_REL}|(?P<y>[0-9]{{4}})年)?(?P<m>{g.ZH_N})月份?(?:(?P<d>{g.ZH_N})[日号號])?",
        _zh_date,
    ),
    (rf"(?:{_REL}|(?P<y>[0-9]{{4}})年)(?:(?P<season>[春夏秋冬])[天季])?", _zh_year),
    (
        (
            r"(?P<shift>上上|[上这這本下])[个個]?(?:周|週|星期|礼拜|禮拜)(?P<day>[一二三四五六日天末])?"
            r"(?P<u>)"
        ),
        _zh_unit,
    ),
    (r"(?P<shift>上上|[上这這本下])[个個]?(?P<u>月)(?P<day>(?!))?", _zh_unit),
    (rf"(?P<day>{'|'.join(g.ZH_DAYS)})[天日晚早]?", _zh_day),
    (rf"(?P<n>{g.ZH_N}){g.ZH_UNIT}[之以]?前", _ago),
    (rf"(?P<few>几|幾|好几){g.ZH_UNIT}[之以]?前", _ago),
    (rf"(?P<n>{g.ZH_N}){g.ZH_UNIT}[之以]?[后後]", _ahead),
    (rf"(?:最近|过去|過去|近)的?(?:(?P<n>{g.ZH_N})|(?P<few>几|幾))?{g.ZH_UNIT}", _rolling),
    *((f"(?:{words})", part) for words, part in _PARTS.items()),
]


@cache
def _rules() -> Rules:
    """Compile the rules when the first query needs them: it takes as long as an import."""
    digits = [(rf"(?<![0-9.])(?:{pattern})", resolve) for pattern, resolve in UNSPACED]
    return compiled(SPACED) + [
        (re.compile(pattern, re.IGNORECASE), resolve) for pattern, resolve in digits
    ]


def compiled(rules: list[tuple[str, Resolver]]) -> Rules:
    """Compile rules of languages that put spaces between words: each matches whole words."""
    return [
        (re.compile(rf"(?<![\w@#$€£/.-])(?:{pattern})(?!\w)(?!-\w)", re.IGNORECASE), resolve)
        for pattern, resolve in rules
    ]


def find_atoms(query: str, calendar: Calendar) -> list[Atom]:
    """Return the time expressions in ``query``, the longest first chosen, in order.

    Raises:
        ValueError: one of them is a time that cannot be known.
    """
    taken: list[Atom] = []
    for match, resolve in matches(query):
        begin, finish = match.span()
        if any(begin < atom.finish and atom.begin < finish for atom in taken):
            continue
        found = resolve(match, calendar)
        if found is not None:
            taken.append(Atom(begin, finish, found))
    return sorted(taken, key=lambda atom: atom.begin)


def matches(text: str, more: Rules | None = None) -> list[tuple[re.Match[str], Resolver]]:
    """Return what ``more`` rules, and those of all texts, match in ``text``, longest first."""
    rules = [*(more or ()), *_rules()]
    found = [(match, resolve) for pattern, resolve in rules for match in pattern.finditer(text)]
    return sorted(found, key=lambda one: (one[0].start() - one[0].end(), one[0].start()))

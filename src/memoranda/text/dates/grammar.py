"""The words and the calendar behind times in questions and statements.

Five languages share one grammar, so a table of words per idea is enough: a language is
added by adding words. Weeks begin on Monday; seasons are those of the northern
hemisphere, by whole months.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memoranda.model.times import require_aware

DAY = timedelta(days=1)
FEW_MEANS = (2, 5)
"""The least and the most that "a few" may be."""

SUB_DAY = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1)}

Bounds = tuple[datetime, datetime]
"""The first moment of a stretch of time and the first one after it."""


def words(lines: str) -> list[str]:
    """Return the words of a table."""
    return lines.split()


def _table(lines: str) -> dict[str, int]:
    """Number the lines from 1 and map every word of a line to its number."""
    rows = enumerate(lines.strip().splitlines(), start=1)
    return {word.replace("_", " "): number for number, row in rows for word in row.split()}


MONTHS = _table("""
    january januar jänner janvier enero
    february februar février fevrier febrero
    march märz maerz mars marzo
    april avril abril
    may mai mayo
    june juni juin junio
    july juli juillet julio
    august août aout agosto
    september septembre septiembre setiembre
    october oktober octobre octubre
    november novembre noviembre
    december dezember décembre decembre diciembre
""")
SHORT_MONTHS = _table("jan\nfeb\nmar\napr\nmay\njun\njul\naug\nsep sept\noct okt\nnov\ndec dez")
WEEKDAYS = _table("""
    monday montag lundi lunes
    tuesday dienstag mardi martes
    wednesday mittwoch mercredi miércoles miercoles
    thursday donnerstag jeudi jueves
    friday freitag vendredi viernes
    saturday samstag sonnabend samedi sábado sabado
    sunday sonntag dimanche domingo
""")
NUMBERS = _table("""
    a an one ein eine einem einer un une una 一
    two couple_of couple zwei deux dos 二 两 兩
    three drei trois tres 三
    four vier quatre cuatro 四
    five fünf cinq cinco 五
    six sechs seis 六
    seven sieben sept siete 七
    eight acht huit ocho 八
    nine neun neuf nueve 九
    ten zehn dix diez 十
    eleven elf onze once 十一
    twelve zwölf douze doce 十二
""")
NUMBERS.update({"a couple of": 2, "a couple": 2})
SEASONS = _table("""
    spring frühling frühjahr printemps primavera 春天 春季
    summer sommer été verano 夏天 夏季
    autumn fall herbst automne otoño 秋天 秋季
    winter hiver invierno 冬天 冬季
""")
UNITS = {
    word: name
    for name, words in {
        "day": "day days tag tage tagen jour jours día días dia dias 天 日",
        "week": "week weeks woche wochen semaine semaines semana semanas 周 週 星期 礼拜 禮拜",
        "weekend": "weekend weekends wochenende wochenenden week-end",
        "month": "month months monat monate monaten mois mes meses 月",
        "quarter": "quarter quarters quartal trimestre",
        "year": "year years jahr jahre jahren année années an ans año años 年",
        "hour": "hour hours stunde stunden heure heures hora horas 小时 小時",
        "minute": "minute minutes minuten minuto minutos 分钟 分鐘",
    }.items()
    for word in words.split()
}
UNITS["fin de semana"] = "weekend"
ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "last": -1,
    "1st": 1,
    "2nd": 2,
    "3rd": 3,
    "4th": 4,
}
SHIFTS = {
    word: shift
    for shift, words in {
        -1: "last past letzte letzten letzter letztes vorige vorigen voriges vergangene "
        "vergangenen dernier dernière derniere passé passée pasado pasada",
        0: "this diese diesen dieser dieses ce cet cette este esta",
        1: "next nächste nächsten nächster nächstes kommende kommenden prochain prochaine "
        "próximo próxima",
    }.items()
    for word in words.split()
}
DAYS = {
    -2: "the day before yesterday|day before yesterday|vorgestern|avant-hier|anteayer|antier",
    -1: "yesterday|gestern|hier|ayer",
    0: r"today|heute|aujourd['\u2019]hui|hoy",
    1: "tomorrow|morgen|demain|mañana",
    2: "the day after tomorrow|day after tomorrow|übermorgen|après-demain|pasado mañana",
}
DAY_PARTS = {
    "last night|gestern abend|gestern nacht|hier soir|anoche|昨晚": (-1, 17, 30),
    "this morning|heute morgen|heute früh|ce matin|esta mañana|今早|今天早上": (0, 0, 12),
    "this afternoon|heute nachmittag|cet après-midi|esta tarde|今天下午": (0, 12, 18),
    "tonight|this evening|heute abend|ce soir|esta noche|今晚": (0, 17, 30),
}
ZH_DAYS = {"大前天": -3, "前天": -2, "昨": -1, "今": 0, "明": 1, "后天": 2, "後天": 2}
ZH_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1}
ZH_SHIFTS = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1}


def number(text: str) -> int:
    """Return the number that a word or digits of any of the languages stand for."""
    word = re.sub(r"\s+", " ", text.lower())
    if word.isdecimal():
        return int(word)
    if word in NUMBERS:
        return NUMBERS[word]
    tens, _, ones = word.partition("十")
    return 10 * (NUMBERS[tens] if tens else 1) + (NUMBERS[ones] if ones else 0)


# --- patterns --------------------------------------------------------------------------


def any_of(words: dict[str, int] | dict[str, str]) -> str:
    """Return a group that matches any of the words, the longest first."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(word.replace(" ", r"\s+") for word in ordered) + ")"


FEW = r"(?:few|several|einigen|ein\s+paar|quelques|unos|unas|algunos|algunas)"
MONTH, ANY_MONTH, WEEKDAY = any_of(MONTHS), any_of(MONTHS | SHORT_MONTHS), any_of(WEEKDAYS)
UNIT, SEASON, SHIFT = any_of(UNITS), any_of(SEASONS), any_of(SHIFTS)
LONG_UNIT = any_of({word: name for word, name in UNITS.items() if name not in {"day", *SUB_DAY}})
COUNT = rf"(?:(?P<n>[0-9]{{1,3}}|{any_of(NUMBERS)})|(?:an?\s+)?(?P<few>{FEW}))\s+(?P<u>{UNIT})"
DAY_NUMBER = r"[0-9]{1,2}"
YEAR = r"(?P<y>(?:19|20)[0-9]{2})(?![\w%°])(?!\s?[-:/.,][0-9])"
OF_YEAR = rf"(?:,?\s+(?:(?:of|de|del)\s+)?{YEAR})"
DASH = r"\s*(?:-|\u2013|to|and|through|bis|und|au|et|al|y)\s*"
# What follows a number that counts nothing: "2000 steps" is no year, "may 5 people" no day.
ENDS = (
    r"(?=\s*(?:$|[?!.,;:~)\]]|[-\u2013\u2014]\s|(?-i:[A-Z])|[^\x00-\u024f]|(?:and|or|at|in|on|to|with|by|for|"
    r"from|was|is|were|are|did|do|does|has|had|have|what|who|where|when|how|which|we|i|he|she|"
    r"they|you|my|the|it|as|but|und|oder|bis|war|hat|habe|haben|bin|et|au|à|y|a|al|hasta|through|until|till)\b))"
)
PHASE = (
    r"(?:(?:the\s+|am\s+)?(?P<phase>early|mid|late|beginning\s+of|start\s+of|middle\s+of|end\s+of|"
    r"anfang|mitte|ende|début|mi|fin|principios\s+de|mediados\s+de|finales\s+de)[\s-]+)?"
)
NOT_VERB = rf"(?!this\s+(?-i:may)\b)(?!(?:this\s+)?(?-i:may|march)\b(?:\s+[0-9]{{4}})?(?!{ENDS}))"
ZH_N = r"[0-9]{1,3}|[一二两兩三四五六七八九十]{1,3}"
ZH_UNIT = r"(?:个|個)?(?P<u>天|日|周|週|星期|礼拜|禮拜|月|年|小时|小時|分钟|分鐘)"


# --- the calendar around the moment ----------------------------------------------------


def within_calendar(moment: datetime, name: str) -> bool:
    """Return whether ``moment`` has a UTC time; the calendar's first and last day may not.

    Raises:
        InvalidInput: it has no time zone.
    """
    if moment.utcoffset() is None:
        require_aware(moment, name)
    try:
        moment.astimezone(UTC)
    except OverflowError:
        return False
    return True


class Calendar:
    """Stretches of days around ``now``; all bounds are midnights in its zone."""

    def __init__(self, now: datetime) -> None:
        """Look at the calendar from ``now``."""
        self.now = now
        self.today = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)

    def date(self, year: int, month: int = 1, day: int = 1) -> datetime:
        """Return the midnight that begins a day."""
        return datetime(year, month, day, tzinfo=self.now.tzinfo)

    def days(self, offset: int, count: int = 1) -> Bounds:
        """Return ``count`` days, the first one ``offset`` days from today."""
        return self.today + offset * DAY, self.today + (offset + count) * DAY

    def months(self, year: int, month: int, count: int = 1) -> Bounds:
        """Return ``count`` months; a month below 1 or over 12 is one of another year."""
        start, end = 12 * year + month - 1, 12 * year + month - 1 + count
        return self.date(start // 12, start % 12 + 1), self.date(end // 12, end % 12 + 1)

    def season(self, year: int, season: int) -> Bounds:
        """Return a season: 1 is spring, 4 the winter that begins in ``year``."""
        return self.months(year, 3 * season, 3)

    def unit(self, unit: str, offset: int) -> Bounds:
        """Return the calendar unit that is ``offset`` units from the present one."""
        year, month = self.now.year, self.now.month
        if unit == "month":
            return self.months(year, month + offset)
        if unit == "quarter":
            return self.months(year, 3 * ((month - 1) // 3 + offset) + 1, 3)
        if unit == "year":
            return self.months(year + offset, 1, 12)
        if unit == "day":
            return self.days(offset)
        monday = 7 * offset - self.today.weekday()
        return self.days(monday + 5, 2) if unit == "weekend" else self.days(monday, 7)

    def around(self, unit: str, low: int, high: int) -> Bounds:
        """Return the time ``low`` to ``high`` units away, as exact as the unit is."""
        if unit in SUB_DAY:
            length, zone = SUB_DAY[unit], self.now.tzinfo
            moment = self.now.astimezone(UTC)
            start, end = moment + (low - 0.5) * length, moment + (high + 0.5) * length
            return start.astimezone(zone), end.astimezone(zone)
        if unit == "week":
            return self.days(7 * low - 3)[0], self.days(7 * high + 3)[1]
        return self.unit(unit, low)[0], self.unit(unit, high)[1]

    def latest(self, in_year: Callable[[int], Bounds]) -> Bounds:
        """Return the latest occurrence of a yearly stretch that has begun."""
        for year in range(self.now.year, self.now.year - 9, -1):
            try:
                bounds = in_year(year)
            except ValueError:  # The 29th of February of another year.
                continue
            if bounds[0] <= self.now:
                return bounds
        message = "no such day in any year"
        raise ValueError(message)

    def shifted(self, in_year: Callable[[int], Bounds], shift: int) -> Bounds:
        """Return the occurrence that is over (-1), of this year (0) or to come (1)."""
        year = self.now.year
        if shift == 0:
            return in_year(year)
        if shift < 0:
            return next(b for y in (year, year - 1, year - 2) if (b := in_year(y))[1] <= self.now)
        return next(b for y in (year, year + 1) if (b := in_year(y))[0] > self.now)

"""Whether the words around a time look back or ahead: "I went on Friday", "I go on Friday".

No grammar, only the nearest marker in the same clause: enough to choose between the last
Friday and the next one, and silent where it is not.
"""

from __future__ import annotations

import re
from functools import cache

from memoranda.text.dates import grammar as g

PAST, PRESENT, FUTURE, UNKNOWN = "past", "present", "future", ""

HABIT = re.compile(
    r"\b(?:always|usually|often|sometimes|normally|typically|regularly|every|each|most|annual|annually|yearly|"
    r"weekly|daily|monthly|jede[nrsm]?|immer|meistens|chaque|toujours|tous\s+les|toutes\s+les|cada|siempre|todos\s+los)\b"
    r"|每",
    re.IGNORECASE,
)
BIRTHDAY = re.compile(
    r"\b(?:birthday|anniversary|geburtstag|anniversaire|cumpleaños)\b|生日", re.IGNORECASE
)

BORN = re.compile(r"\b(?:born|geboren|née?|nacid[oa]|nací)\b|出生", re.IGNORECASE)

_NEAR = 80
# "It was pushed to June 8" tells of what was decided, about a day to come. What "had been moved"
# may be over as well.
MOVED = re.compile(
    r"(?<!had been )(?<!had )\b(?:pushed|postponed|moved|delayed|rescheduled|extended|shifted|"
    r"changed|deferred|bumped|slipped|brought|put|pulled)\b(?:\s+[\w'-]+){0,6}?"
    r"\s+(?<!prior )(?<!up )(?<!close )(?<!due )(?<!next )(?P<to>to|until|till|from)\s+(?:the\s+)?$"
    r"|\brescheduled\s+for\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_ONWARD = re.compile(r"\b(?:to|until|till)\b", re.IGNORECASE)
_BROUGHT = re.compile(r"^(?:brought|put|pulled)\b(?!.*\b(?:forward|off|back|in)\b)", re.IGNORECASE)
# "Mi boda es el 12 de septiembre": the verb and the day with nothing between them.
_COPULA = re.compile(
    r"\b(?:es|son|est|sont|ist|sind|is|are)\s+(?:(?:on|the|el|le|am|der|vom|prévue?|für|den)\s+)*$"
)
_VERB_LAST = re.compile(r"\s+(?:ist|sind|stattfindet|beginnt)\s*(?:$|[.,;:!?])")
_EXPIRES = re.compile(r"\b(?:expires|is\s+due)\s+(?:(?:on|in|at|the|end|of|by|early|late)\s+)*$")
# "I signed up for the marathon on 18 October": done by now, for a day to come.
_ARRANGED = re.compile(
    r"\b(?:signed\s+up|registered|enrolled|entered|invited|swapped|got\s+(?:a\s+)?tickets?)"
    r"(?:\s+[\w'-]+){0,3}?\s+(?:for|to|into)(?:\s+[\w'-]+){1,6}?\s+(?:on|in)\s+(?:the\s+)?$"
    r"|\b(?:booked|reserved|arranged|bought\s+tickets?|made\s+an?\s+\w+)(?:\s+[\w'-]+){0,6}?"
    r"\s+for\s+(?:the\s+)?$"
    # "We decided to fly on 3 May", "she promised to pay by June".
    r"|\b(?:decided|agreed|promised|chose|resolved|vowed|opted)\s+(?:not\s+)?to(?:\s+[\w'-]+){1,6}?"
    r"\s+(?:(?:on|in|by|at)\s+)?(?:the\s+)?$"
)
_PERFECT_GERMAN = re.compile(
    r"^[^.,;:!?]*\b(?!geplant|gebucht|eingeplant|vorgesehen|angesetzt|vorgemerkt|terminiert|verabredet|"
    r"vereinbart)(?:\w{0,5}ge\w{2,}(?:t|en)|(?:ver|be|er|ent|zer)\w{2,}(?:t|en)|\w{2,}iert)\s*(?:$|[.,;:!?])"
)

_PAST_FORMS = g.words("""
    was were wasn't weren't had did didn't went got made took saw met came said told gave
    found thought knew felt left kept began brought bought caught taught fought sought
    built sent spent lent meant heard held stood understood lost won ran sat slept spoke
    broke chose drove rode wrote flew drew grew threw blew wore tore swore ate fell forgot
    hid shook stole woke sold paid laid led fed bled sang rang swam drank sank began became
    overcame withdrew stuck struck dug hung swung spun shot sued dealt dreamt learnt burnt
    spoilt lit slid bit gone been done seen
""")
_NOT_PAST = g.words("""
    need feed speed breed bleed greed indeed exceed proceed succeed embed hundred sacred
    naked bed red wed shed seed weed deed agreed-upon unexpected supposed
""")
_FUTURE_FORMS = (
    r"will|won't|shall|\w+'ll|gonna|(?:am|is|are|\w+'m|\w+'s|\w+'re)\s+(?:not\s+)?going\s+to|planning|plans?\s+(?:to|on|for)|"
    r"(?:am|is|are|\w+'m|\w+'s|\w+'re)\s+(?:not\s+)?\w{2,}ing|wants?\s+to|wanna|hop(?:e|es|ing)\s+to|look(?:ing)?\s+forward|can't\s+wait|"
    r"upcoming|due|deadline|let's|should|must|needs?\s+to|ha(?:s|ve)\s+to|might|about\s+to|scheduled|"
    r"excited\s+(?:to|for|about)|see\s+you|don't\s+forget"
)
_PRESENT_FORMS = (
    r"am|is|are|isn't|aren't|\w+'(?:m|re|s|ve)|do|does|don't|doesn't|can|can't|cannot|has|have|ends|starts|"
    r"begins|leaves|arrives|opens|closes|flies|meets|comes|goes|takes|launches|ships|expires|"
    r"departs|runs|lasts|returns|moves|plays|happens|finishes|(?:i|we|they|you)\s+(?:\w+ly\s+)?[a-z]{2,}"
)
_ORDERS = (
    r"^\W*(?:please\s+|ok(?:ay)?,?\s+|hey,?\s+)*(?:call|meet|book|schedule|remind|remember|buy|bring|send|come|visit|let|pick|"
    r"submit|finish|check|email|pay|join|prepare|plan|set|arrange|put|add|make|cancel|move|reserve|order)\b"
)
_OTHER = {
    PAST: r"war|waren|hatte|hatten|habe|haben|hast|hat|wurde|wurden|ging|kam|machte|"
    r"étais|était|étions|étaient|avait|j'ai|(?:a|as|avons|avez|ont|suis|est|sommes|sont)\s+\w+"
    r"(?:é|ée|és|ées|i|is|u|us|t)|"
    r"fui|fue|fuimos|fueron|estuve|estuvo|hice|hizo|tuve|tuvo|era|había|"
    r"\w{2,}(?:é|ó|aron|ieron|imos)",
    FUTURE: r"werde|wirst|wird|werden|will|wollen|möchte|vais|va|allons|vont|"
    r"\w{3,}(?:rai|ras|rons|ront)|voy|vas|vamos|van|\w{3,}(?:ré|rás|rá|remos|rán)",
}
_ENGLISH = re.compile(
    r"\b(?:the|and|is|are|to|of|my|we|you|i|at|it|for|with|have|has|he|she|they|this)\b|n't\b"
)
_PARTICIPLE = re.compile(
    r"(?:\b(?:am|is|are|be|being|get|gets|getting|feel|feels|so|very|really|super|pretty|more|to|a|an|"
    r"the|my|your|our|their|his|her|its|i'm|it's|he's|she's|we're|you're|they're)|'m|'re)\s+"
    r"(?:(?:\w+ly|so|not|too|very|really|super|all)\s+)*$"
)
_PERFECT = re.compile(
    r"(?:\bhas|\bhave|'ve|'s|\bhad)\s+(?:\w+ly\s+|just\s+|already\s+|never\s+)?(?:been|[a-z]{2,}(?:ed|en)|gone|done|made|got|had|met|lost|won|found|left|bought|sent|built)\b"
)
_CLAUSE = re.compile(
    r"[;:!?]\s|[.](?=\s)|\s[-\u2013\u2014]+\s|,?\s+(?:but|because|so|while|although|whereas|aber|mais|pero)\s|"
    r",\s|,?\s+(?:and|then|und|et)\s|[\uff0c。\uff1b\uff01\uff1f]"
)
_HARD = re.compile(
    r"[;!?]\s|[.](?=\s)|\s[-\u2013\u2014]+\s|,?\s+(?:but|because|so|while|although|whereas|aber|mais|pero)\s|"
    r"[。\uff1b\uff01\uff1f]"
)
_LEAD = re.compile(
    r"(?:\b(?:and|then|so|but|on|in|at|by|for|since|until|the|this|only|just|also|well|hey|"
    r"am|im|und|le|el)\b|\W)*"
)


@cache
def _english() -> re.Pattern[str]:
    """Compile the pattern of English markers; a group names the direction of each."""
    past = "|".join(sorted(_PAST_FORMS, key=len, reverse=True))
    return re.compile(
        rf"(?P<future>\b(?:{_FUTURE_FORMS})\b)|(?P<past>\b(?:used\s+to|{past})\b)"
        rf"|(?P<regular>\b[a-z]{{2,}}ed\b)|(?P<present>\b(?:{_PRESENT_FORMS})\b)"
    )


@cache
def _other() -> re.Pattern[str]:
    """Compile the markers of the other languages; some of them are English words."""
    return re.compile(
        rf"(?P<future>\b(?:{_OTHER[FUTURE]})\b|[要将會会]|打算|計劃|计划)"
        rf"|(?P<past>\b(?:{_OTHER[PAST]})\b|[了过過])"
    )


def _foreign(text: str) -> bool:
    return _other().search(text) is not None


def _found(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Return the markers between two places: where each begins and ends, and its direction."""
    markers = []
    perfect = [match.span() for match in _PERFECT.finditer(text, start, end)]
    pattern = _english() if _ENGLISH.search(text) or not _foreign(text) else _other()
    for match in pattern.finditer(text, start, end):
        direction = match.lastgroup or UNKNOWN
        word = match[0]
        if any(since <= match.start() < until for since, until in perfect):
            direction = PAST
        elif direction == "regular":
            if word in _NOT_PAST or _PARTICIPLE.search(
                text, max(0, match.start() - 40), match.start()
            ):
                continue
            direction = PAST
        elif direction == PRESENT and " " in word and word.split()[-1] in _NOT_VERB:
            continue
        elif direction == PRESENT and " " in word:
            last = word.split()[-1]
            if last in _PAST_FORMS or (last.endswith("ed") and last not in _NOT_PAST):
                direction = PAST
        markers.append((match.start(), match.end(), direction))
    return markers


_NOT_VERB = g.words("""
    all both two three just also never ever and or in on at to of for with would could
""")


def moved(text: str, begin: int) -> bool:
    """Return whether the words before ``begin`` say that something was put to another time."""
    match = MOVED.search(text, max(0, begin - _NEAR), begin)
    if match is None or _BROUGHT.search(match[0]):
        return False
    return not _is_from(match) or _ONWARD.search(text, begin, begin + _NEAR) is not None


def moved_from(text: str, begin: int) -> bool:
    """Return whether ``begin`` opens "3 May to 8 May" after "moved from": two days, no stretch."""
    match = MOVED.search(text, max(0, begin - _NEAR), begin)
    return match is not None and _is_from(match) and moved(text, begin)


def _is_from(match: re.Match[str]) -> bool:
    return (match["to"] or "").lower() == "from"


def _nearest_word(text: str, begin: int, end: int) -> str:
    """Return what the words right before a time say, whatever stands around them."""
    if moved(text, begin):
        return FUTURE
    words = text[max(0, begin - _NEAR) : begin]
    if _EXPIRES.search(words) or _ARRANGED.search(words):
        return FUTURE
    if _VERB_LAST.match(text, end):
        return PRESENT
    verb = _COPULA.search(text, max(0, begin - _NEAR), begin)
    if verb is None:
        return UNKNOWN
    german = verb[0].startswith(("ist", "sind"))
    return PAST if german and _PERFECT_GERMAN.search(text[end:]) else PRESENT


def direction(text: str, begin: int, end: int) -> str:
    """Return which way the words around ``text[begin:end]`` look, ``""`` where they do not say.

    The nearest verb before the time in its clause decides; where the time opens the clause,
    the first one after it.
    """
    lowered = text.replace("\u2019", "'")
    lowered = lowered.lower() if len(lowered.lower()) == len(lowered) else lowered
    if near_word := _nearest_word(lowered, begin, end):
        return near_word
    hard = [match.end() for match in _HARD.finditer(lowered, 0, begin)]
    first = hard[-1] if hard else 0
    soft = [match.end() for match in _CLAUSE.finditer(lowered, first, begin)]
    near = soft[-1] if soft else first
    stop = _HARD.search(lowered, end)
    last = stop.start() if stop else len(lowered)
    before = _found(lowered, first, begin)
    after = _found(lowered, end, last)
    opens = _LEAD.fullmatch(lowered, near, begin) is not None
    for markers, place in ((after, 0), (before, -1)) if opens else ((before, -1), (after, 0)):
        if markers:
            return markers[place][2]
    return FUTURE if re.match(_ORDERS, lowered[first:begin]) else UNKNOWN

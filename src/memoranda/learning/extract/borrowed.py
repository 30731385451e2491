"""What stands in a turn and is not its speaker's own word: texts to work on, roles, reports.

After a request to work on a text, or to pretend, what follows is that text or that role; after
``Tom wrote:`` it is Tom's. It is broken off, so that no rule reads it.
"""

from __future__ import annotations

import re

_BREAK = "\n"
_FENCE = re.compile(
    r"<memoranda-memory\b.*?(?:</memoranda-memory\s{0,9}>|\Z)", re.DOTALL | re.IGNORECASE
)

_GREETING = (
    r"(?:(?:hey|hi|hello|ok|okay|so|and|but|now|then|also|first|next|great|thanks|well|alright)\b"
    r"[\s,!.]{0,4}){0,3}"
)
_OPENS = (
    rf"(?:^|[.!?;:]\s|\n)[^\S\n]{{0,9}}(?:[-*•]\s)?{_GREETING}"
    r"(?:(?:please|pls|kindly|just)\b,?\s{1,3}){0,2}"
)
_ASKS = (
    r"\b(?:please|pls|kindly|(?:can|could|would|will)\s(?:you|u)|help(?:\sme)?(?:\s(?:to|with))?|"
    r"let's|let\sus|(?:want|need|like|love|ask)\syou\sto|mind)\s{1,3}"
    r"(?:(?:please|quickly|also|just|kindly|help\sme(?:\s(?:to|with))?)\s{1,3}){0,2}"
)
_PAIRED = r"(?:(?:read|check|review|edit|correct)\s(?:and|&)\s)?"
_ALWAYS = (
    r"(?:proof-?read|translat(?:e|ing)|summari[sz](?:e|ing)|rewrit(?:e|ing)|rephras(?:e|ing)|"
    r"paraphras(?:e|ing)|reword(?:ing)?|proofreading|role-?\s?play(?:ing)?|pretend(?:ing)?|"
    r"(?:do|have|start|try)\s(?:a|some)\srole-?\s?play|act\s(?:as|like)|play\sthe\s(?:role|part)\sof|übersetze|traduce|traduis|corrige)\b"
)
_ALWAYS_ALONE = (
    r"(?:proof-?read|translate|summari[sz]e|make\sthis\s(?:sound|read|more|less)|"
    r"what's\swrong\swith\sthis\s(?:sentence|text|paragraph|letter|email)|rewrite|rephrase|paraphrase|reword|role-?\s?play|"
    r"pretend|act\s(?:as|like)|play\sthe\s(?:role|part)\sof|übersetze|traduce|traduis|corrige|"
    r"hypothetically|in\sthis\s(?:role-?\s?play|scenario|story)|imagine\s(?:that\s)?(?:you|i|we|an?|there|yourself|being|the\sfollowing))\b"
)
_TEXT = (
    r"(?:texts?|letters?|e-?mails?|essays?|paragraphs?|articles?|messages?|stor(?:y|ies)|poems?|"
    r"drafts?|cvs?|resumes?|résumés?|passages?|speech|bio|biography|posts?|novel|chapter|tale|"
    r"lyrics|songs?|dialogues?|monologues?|scene|reply|response|summary|translation|"
    r"transcript|excerpt|screenplay|diary|journal)\b"
)
_WORD = r"[\w'-]{1,30}\s{1,3}"
_MENDS = (
    r"(?:correct|check|review|edit|improve|polish|revise|critique|fix|shorten)(?:ing)?\s{1,3}"
    rf"(?:{_WORD}){{0,4}}?(?:{_TEXT}|(?:documents?|reports?|sentences?|grammar|spelling|wording)\b)"
)
_WRITES = (
    r"(?:(?:writ|continu|compos|generat|creat|giv|mak)(?:e|ing)|draft(?:ing)?|finish(?:ing)?|"
    rf"turn|tell|(?:reply|respond)(?:ing)?\sto)\s{{1,3}}(?:{_WORD}){{0,5}}?{_TEXT}"
)
_HERE = (
    r"(?:here\s(?:is|are)|here's|this\sis|below\sis|attached\sis)\s{1,3}"
    rf"(?:the|my|our|an?|some|his|her|their)\s{{1,3}}(?:{_WORD}){{0,2}}?{_TEXT}"
)
_REQUEST = re.compile(
    rf"{_OPENS}{_PAIRED}(?:{_ALWAYS_ALONE}|{_MENDS}|{_WRITES})|"
    rf"{_ASKS}{_PAIRED}(?:{_ALWAYS}|{_MENDS}|{_WRITES})|{_OPENS}{_HERE}",
    re.IGNORECASE,
)
_REST = re.compile(r"[^.!?:\n]{0,160}")
_CODE = re.compile(
    r"\b(?:code|codebase|functions?|class|methods?|scripts?|query|queries|sql|modules?|apis?|"
    r"programs?|tests?|regex|components?|schema|algorithm|config|configuration|dockerfile|"
    r"services?|servers?|app|endpoints?|backend|frontend|bugs?|parser|python|rust|java|"
    r"javascript|typescript|snippet|library|pipeline|commit)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"(?<!\bI )\b(?:said|says|told\s(?:me|us|him|her|them)|wrote|writes|asked|replied|answered|"
    r"texted|emailed|messaged|goes)(?:\s(?:me|us|this|that|to\sme))?,?\s?:",
    re.IGNORECASE,
)
_CITED = re.compile(
    r"(?:^|[.!?;:,\n]\s{0,4}|\b(?:but|and|so)\s)(?:as|like|in\sthe\swords\sof)\s(?!i\b|we\b|you\b|it\b|they\b)"
    r"(?:[\w'.-]{1,30}\s){1,5}?(?:(?:once|always|used\sto|often|famously|also)\s)?"
    r"(?:says?|said|puts?\sit|wrote|writes|sings?|sang|quotes?|goes)\b[^,.!?\n]{0,60},",
    re.IGNORECASE,
)
_CLOSING = {'"': '"', "“": "”", "«": "»", "'": "'"}
_ENDS = re.compile(r"[.!?](?=\s|$)|\n")
_BLANK = re.compile(r"\n[^\S\n]{0,9}\n")


def without_memory(text: str) -> str:
    """Return ``text`` with what was given back from memory broken off, to the end if unclosed."""
    return _FENCE.sub(lambda found: _BREAK * len(found[0]), text)


def without_reports(text: str) -> str:
    """Return ``text``, as long as it was, without what follows ``she said:``, ``As X says,``."""
    pieces: list[str] = []
    begin = 0
    marks = sorted([*_REPORTED.finditer(text), *_CITED.finditer(text)], key=re.Match.start)
    for found in marks:
        if found.start() < begin:
            continue
        end = _report_end(text, found.end())
        pieces += text[begin : found.start()], _BREAK * (end - found.start())
        begin = end
    return "".join(pieces) + text[begin:]


def without_texts(text: str) -> str:
    """Return ``text``, as long as it was, broken off at a request to work on a text."""
    for found in _REQUEST.finditer(text):
        rest = _REST.match(text, found.end())
        asked = found[0] + (rest[0] if rest else "")
        if _CODE.search(asked) is None:
            return text[: found.start()] + _BREAK * (len(text) - found.start())
    return text


def _report_end(text: str, start: int) -> int:
    """Return where the words that begin at ``start`` end: quote, paragraph or sentence."""
    begin = start
    while begin < len(text) and text[begin].isspace():
        begin += 1
    if text[begin : begin + 1] in _CLOSING and begin < len(text):
        closed = text.find(_CLOSING[text[begin]], begin + 1)
        return closed + 1 if closed >= 0 else len(text)
    if _BREAK in text[start:begin]:
        blank = _BLANK.search(text, begin)
        return blank.start() if blank else len(text)
    found = _ENDS.search(text, begin)
    return found.end() if found else len(text)

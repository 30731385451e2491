"""What a talk itself takes back or keeps private: told in confidence, retracted, or in a role.

A person may say of a turn that it is not to be kept, that it was not true, or that somebody else
speaks in it. That stands in another sentence or another turn than what it is about, so a talk is
looked at as a whole, before anything is read. What is withheld is broken off in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from memoranda.learning.claims import Turn
from memoranda.learning.extract import words as w
from memoranda.learning.extract.prose import TEXT_LIMIT, Sentence, sentences
from memoranda.learning.reading import stems


def _pattern(text: str) -> re.Pattern[str]:
    """Compile ``text``, in any case; blanks have a bound, so that time stays linear."""
    bounded = text.replace(r"\s*", r"\s{0,4}").replace(r"\s+", r"\s{1,4}")
    return re.compile(bounded, re.IGNORECASE)


_BREAK = "\n"
_MOST = 8
"""So many things one turn takes back: each is looked for in all that its speaker said."""
_CLAUSE = r"(?:^|[.!?,;:(\n\u2014\u2026-]|\b(?:and|but|so|please|pls|just|also)\b)\s*"
_LED = (
    r"(?:(?:please|pls|just|now|ok|okay|oh|so|and|but|actually|hey|no|wait|sorry|thanks|"
    r"(?:can|could|would|will)\s+you|i\s+(?:want|need)\s+you\s+to|i'd\s+like\s+you\s+to)\b"
    r"[\s,.!]*){0,4}"
)
_OPENS = rf"(?:^|[.!?;:\n\u2014]\s*|,\s+){_LED}"
_NOT = r"(?:don't|dont|do\s+not|never|(?:can|could|would)\s+you\s+not|must\s+not)"
_ENDS = r"(?=\s*(?:[.,;:!?)\u2014\u2026-]|$|but\b|and\b|or\b|in\s+(?:your|the)\b|please\b|ok\b))"
_CONFIDED = _pattern(
    rf"{_CLAUSE}{_NOT}\s+(?:ever\s+)?(?:remember|save|store|keep|record|note|log|memori[sz]e|repeat|"
    rf"write\s+down)\s+(?:(?:any|none)\s+of\s+)?(?:this|that|it|what\s+i(?:'m|\s+am|\s+just|\s+have)?"
    rf"\s+\w+(?:\s+you)?)(?:\s+(?:part|bit|down))?{_ENDS}"
    rf"|{_CLAUSE}{_NOT}\s+(?:ever\s+)?(?:tell|mention|share|repeat|say|pass)\b"
    r"[^.!?\n]{0,30}\b(?:any(?:one|body)|a\s+soul|everyone|everybody|others?|people)\b"
    rf"|{_CLAUSE}{_NOT}\s+(?:ever\s+)?tell\s+(?:my|our|him|her|them)\b"
    r"|\boff\s+the\s+record\b|\bnot\s+for\s+the\s+record\b|\b(?:strictly|in\s+strict)\s+confiden"
    r"|\bin\s+(?:strict(?:est)?\s+)?confidence\b(?!\s+(?:interval|level))"
    r"|(?:^|[.!?,;:(\n\u2014-]\s*|\b(?:just|strictly|stays?|keep\s+(?:this|that|it)|this\s+is|but|so)"
    r"\s+)between\s+(?:us|ourselves|you\s+and\s+(?:me|i))\b(?!\s+(?:and|is|are|was|were|two|three)\b)"
    r"|\bkeep\s+(?:this|that|it|what\s+i\s+\w+)\s+(?:a\s+secret|secret|private|confidential|quiet|"
    r"to\s+yourself|(?:off|out\s+of)\s+(?:the\s+|your\s+)?(?:record|memory|notes|history))\b"
    r"|\b(?:this|that|it)(?:'s|\s+is)\s+(?:strictly\s+|top\s+|just\s+|all\s+)?"
    rf"(?:confidential|(?:a\s+|top\s+)?secret){_ENDS}"
    r"|\bunter\s+uns(?:\s+gesagt)?\s*[,:]|\bmerk(?:e)?\s+dir\s+das\s+nicht\b|\berzähl(?:e)?\b[^.!?\n]{0,20}"
    r"\bniemandem\b|(?:^|[.!?,]\s*)entre\s+(?:nous|nosotr[oa]s|nós)\s*[,:]|\bno\s+se\s+lo\s+digas\s+a\s+nadie"
    r"\b|\bne\s+(?:le\s+)?(?:dis|dites|répète)\b[^.!?\n]{0,20}\bpersonne\b|\bnão\s+contes?\s+a\s+ninguém\b",
)
_UNSAID = _pattern(
    rf"{_OPENS}(?:forget|ignore|disregard|erase|delete|strike|never\s?mind)\s+(?:(?:everything|"
    r"anything|all|about)\s+)?(?:(?:that\s+)?i\s+(?:(?:just|ever|even)\s+)?(?:said|told|mentioned|"
    r"asked|wrote)|what\s+i(?:'ve|\s+have)?\s+(?:(?:just|ever|even)\s+)?(?:said|told|mentioned|wrote))\b"
    rf"|{_OPENS}(?:forget|erase|delete|strike)\s+(?:that|this|my\s+last\s+message|the\s+last\s+"
    r"(?:part|thing|message))(?:\s+(?:again|please|now|from\s+(?:your\s+)?memory))?\s*(?:[.!,;]|$)"
    rf"|{_OPENS}pretend\s+(?:that\s+)?i\s+(?:never|didn't|did\s+not)\s+(?:say|tell|said|told|mention)"
    r"|\bvergiss,?\s+was\s+ich\b|\bolvida\s+lo\s+que\s+(?:te\s+)?dije\b|\boublie\s+ce\s+que\s+j'ai\s+dit\b|"
    r"\besquece\s+o\s+que\s+(?:eu\s+)?disse\b",
)
_FORGET = _pattern(
    rf"\s*{_LED}(?:forget|stop\s+remembering|(?:don't|do\s+not)\s+remember)\s+(?:the\s+fact\s+)?"
    r"(?:that\s+(?=\S)|(?=(?:i|we)\b(?!\s+(?:said|told))|(?:i|we)'|my\b|our\b))",
)
_UNTRUE = _pattern(
    r"\b(?:i\s+(?:(?:just|only|totally)\s+)?(?:made\s+(?:that|it|this|all\s+of\s+(?:that|it))(?:\s+all)?\s+up|"
    r"lied)|i\s+(?:was|am)\s+(?:(?:just|only)\s+)?(?:kidding|joking|lying|teasing)|"
    r"i'm\s+(?:(?:just|only)\s+)?(?:kidding|joking)|(?:just|only)\s+(?:kidding|joking|teasing)|jk|"
    r"that\s+was\s+(?:(?:just|only|all)\s+)?(?:a\s+(?:joke|lie)|made\s+up)|"
    r"that(?:'s|\s+is|\s+was)\s+not\s+(?:really\s+|actually\s+)?true|"
    r"that\s+(?:wasn't|isn't)\s+(?:really\s+|actually\s+)?true)\b",
)
_NO_RETRACTION = _pattern(r"\b(?:not|never|no)\s*(?:just|only)?\s*(?:kidding|joking|lying)")
_DENIES = _pattern(
    r"\b(?:i|we)\s+(?:really\s+|actually\s+)?(?:don't|do\s+not|didn't|did\s+not|never|have\s+no|haven't|"
    r"am\s+not|are\s+not|aren't|was\s+not|wasn't|can't)\s+(?P<i>[^.!?,;\n]{1,200})"
    r"|\b(?:i'm|we're)\s+not\s+(?P<am>[^.!?,;\n]{1,200})",
)
_ROLE = _pattern(
    rf"{_OPENS}(?:let's|let\s+us|we\s+could)\s+(?:(?:do|start|try|play|have|continue)\s+)?(?:(?:a|an|some|the|"
    r"our|another)\s+)?(?:\w+\s+)?role-?\s?play"
    rf"|{_OPENS}(?:(?:for|in)\s+(?:the|this|our)\s+)?role-?\s?play(?:ing)?(?:\s+time)?\s*[:,\u2014-]"
    rf"|{_OPENS}(?:for|in)\s+(?:the|this|our)\s+role-?\s?play\b"
    rf"|{_OPENS}(?:imagine|pretend)\s+(?:that\s+)?(?:i'm|i\s+am|we're|we\s+are)\s+"
    r"(?!\d|five\b|six\b|ten\b|new\b)(?![^\n]{0,200}?(?:\b(?:explain|describe|tell\s+me|teach)\b|\?))",
)
_ROLE_ENDS = _pattern(
    rf"{_OPENS}(?:(?:let's|let\s+us)\s+)?(?:stop|end|quit|enough|that's\s+enough)\b"
    r"(?:\s+(?:of\s+)?(?:it|this|that|here|now|please|(?:the\s+|this\s+|our\s+)?(?:role-?\s?play\w*|game|scene|story)))*"
    r"\s*(?=[.!,;]|$)|\b(?:end|out)\s+of\s+(?:the\s+)?(?:role-?\s?play|game|scene|character)\b|"
    r"\bback\s+to\s+(?:reality|normal|real\s+life|the\s+real\s+world)\b|\bin\s+real\s+life\b",
)
_PLAYS = re.compile(r"role", re.IGNORECASE)
_STOP = re.compile(r"[.!?\n]")
_CONFIDES = (
    *("don't", "dont", "not", "never", "record", "confiden", "between", "secret", "keep", "unter"),
    *("merk", "erzähl", "entre", "nadie", "personne", "ningu"),
)
_UNSAYS = (
    *("forget", "ignore", "disregard", "erase", "delete", "strike", "mind", "pretend"),
    *("vergiss", "olvida", "oublie", "esquece"),
)
_PRETENDS = ("role", "imagine", "pretend")
"""One of these stands in whatever the pattern fits: looked for first, as most turns have none."""
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_IDLE = w.STOP | w.LIGHT | w.ADVERBS | w.PREPOSITIONS | w.AUXILIARIES | w.FILLERS | w.SECOND
_EMPTY = w.word_set("i i'm i've we we're anymore any really actually there that's")


def without_withheld(turns: Sequence[Turn]) -> list[Turn]:
    """Return ``turns`` with what must not be kept of them broken off, at the same positions.

    That is: a turn told in confidence, and what is answered to it; one that its speaker takes
    back in the next; a statement that is asked to be forgotten or turns out made up; and what is
    said in a role, until the role ends or the talk does.
    """
    texts = [turn.text for turn in turns]
    roles: set[str] = set()
    silent = False
    for at, turn in enumerate(turns):
        if not turn.person:
            if silent:
                texts[at] = _blank(texts[at])
            continue
        said = _plain(turn.text[:TEXT_LIMIT])
        unsaid = _fits(_UNSAID, _UNSAYS, said)
        if unsaid:
            _unsay(turns, texts, at)
        silent = unsaid or _fits(_CONFIDED, _CONFIDES, said)
        if silent:
            texts[at] = _blank(texts[at])
            continue
        _forget(turns, texts, at, said)
        _retract(turns, texts, at, said)
        _leave_role(turn, texts, at, roles, said)
    return [
        turn if turn.text == text else replace(turn, text=text)
        for turn, text in zip(turns, texts, strict=True)
    ]


def _plain(text: str) -> str:
    return text.replace("\u2019", "'").replace("\u2018", "'")


def _fits(pattern: re.Pattern[str], cues: Sequence[str], said: str) -> bool:
    low = said.lower()
    return any(cue in low for cue in cues) and pattern.search(said) is not None


def _blank(text: str) -> str:
    return _BREAK * len(text)


def _cut(text: str, start: int, end: int) -> str:
    return text[:start] + _BREAK * (end - start) + text[end:]


def _before(turns: Sequence[Turn], at: int) -> int | None:
    """Return the place of the turn that the speaker of ``at`` said before it."""
    speaker = turns[at].speaker
    return next((n for n in range(at - 1, -1, -1) if turns[n].speaker == speaker), None)


def _unsay(turns: Sequence[Turn], texts: list[str], at: int) -> None:
    """Withhold the turn before and what was answered to it."""
    before = _before(turns, at)
    if before is None:
        return
    texts[before] = _blank(texts[before])
    for place in range(before + 1, at):
        if not turns[place].person:
            texts[place] = _blank(texts[place])


def _forget(turns: Sequence[Turn], texts: list[str], at: int, said: str) -> None:
    """Withhold ``Please forget that I'm vegetarian`` and what it names."""
    if "forget" not in said.lower() and "remember" not in said.lower():
        return
    asked = ((each, _FORGET.match(each.shown)) for each in sentences(texts[at]))
    matched = [(each, found) for each, found in asked if found is not None]
    for sentence, _ in matched:
        texts[at] = _cut(texts[at], sentence.start, sentence.start + len(sentence.shown))
    for sentence, found in matched[:_MOST]:
        _withdraw(turns, texts, at, sentence.shown[found.end() :])


def _retract(turns: Sequence[Turn], texts: list[str], at: int, said: str) -> None:
    """Withhold what ``I just made that up, I don't work at Siemens`` is about."""
    mark = _UNTRUE.search(said)
    if mark is None or _NO_RETRACTION.search(said):
        return
    found = islice(_DENIES.finditer(said), _MOST)
    denied = [each["i"] or each["am"] for each in found]
    if sum(_withdraw(turns, texts, at, each) for each in denied):
        return
    here = list(sentences(texts[at]))
    ahead = [each for each in here if _end(each) <= mark.start()]
    if any(_key(each.shown)[1] for each in ahead):
        for each in ahead:
            texts[at] = _cut(texts[at], each.start, _end(each))
    elif (before := _before(turns, at)) is not None:
        texts[before] = _blank(texts[before])


def _end(sentence: Sentence) -> int:
    return sentence.start + len(sentence.shown)


def _withdraw(turns: Sequence[Turn], texts: list[str], at: int, denied: str) -> bool:
    """Withhold what the speaker said up to ``at`` that holds all that is denied."""
    names, key = _key(denied)
    wanted = names or key
    if not wanted:
        return False
    done = False
    for place in range(at + 1):
        if turns[place].speaker != turns[at].speaker:
            continue
        for start, end in list(_holding(texts[place], wanted)):
            texts[place] = _cut(texts[place], start, end)
            done = True
    return done


def _holding(text: str, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield where sentences stand that hold all the stems ``wanted`` and deny nothing."""
    for sentence in sentences(text):
        raw = text[sentence.start : _end(sentence)]
        denies = _DENIES.search(_plain(raw)) or _UNTRUE.search(_plain(raw))
        if not denies and wanted <= _key(raw)[1]:
            yield sentence.start, _end(sentence)


def _key(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the names in ``text``, and of all its words that tell anything."""
    words = [
        found[0] for found in _WORD.finditer(_plain(text)) if found[0].lower() not in _IDLE | _EMPTY
    ]
    stemmed = stems([word.lower().removesuffix("'s") for word in words])
    names = frozenset(stem for word, stem in zip(words, stemmed, strict=True) if word[0].isupper())
    return names, frozenset(stemmed)


def _leave_role(turn: Turn, texts: list[str], at: int, roles: set[str], said: str) -> None:
    """Withhold what is said in a role; a request to play one stays, up to where it begins."""
    place = 0
    if turn.speaker in roles:
        ended = _ROLE_ENDS.search(said)
        if ended is None:
            texts[at] = _blank(texts[at])
            return
        roles.discard(turn.speaker)
        place = ended.end()
        texts[at] = _cut(texts[at], 0, place)
    if not any(cue in said.lower() for cue in _PRETENDS):
        return
    begun = _ROLE.search(said, place)
    if begun is not None:
        roles.add(turn.speaker)
        role = _PLAYS.search(begun[0]) is None
        end = _STOP.search(said, begun.end()) if role else None
        start = (end.start() if end else len(said)) if role else begun.start()
        texts[at] = _cut(texts[at], start, len(texts[at]))

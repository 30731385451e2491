"""Reads what a sentence asks of memory: to keep something, or how to be answered from now on.

The forms stand in the table ``requests`` of each language's ``facts.toml``. Those of all languages
are one set of RE2, so that a text which asks for nothing costs one pass over it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any
from unicodedata import category

from memoranda.facts.forms import FormSet, group_spans
from memoranda.facts.language import PatternTable, bare_words, language_of, languages_in
from memoranda.facts.questions import relation_nouns
from memoranda.facts.reader import INSTRUCTION, FactStatement, read_facts
from memoranda.facts.stance import may_open
from memoranda.facts.values import stems, value_key
from memoranda.text.calendar import calendar_numbers
from memoranda.text.languages import rank_languages
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import compile_pattern, encodable, languages_with, load, words_of
from memoranda.text.sentences import sentence_texts
from memoranda.text.terms import TermAnalyzer

ANSWER_LANGUAGE, CALLED = "answer_language", "called"
# Attributes by which a person says how the assistant is to behave.
INSTRUCTIONS = (ANSWER_LANGUAGE, CALLED, INSTRUCTION)
_TIDY = " \t\n,;:.!?…–—-*_~\u3001\u3002\uff0c\uff01\uff1a\uff1b"
# Marks at the ends of a statement that are no part of it.
_BARE = compile_pattern(
    r"""^[^\w"'\u201c\u2018«(\[#@+$€£\u300c\u300e\uff08\ue000]+"""
    r"""|[^\w"'\u201d\u2019»)\]%°€$£\u300d\u300f\uff09+#\ue000]+$"""
)
# Share of the telling words of a revocation that an instruction has which it ends.
_MOSTLY = 0.66
# What may stand between an instruction and its reason.
_LOOSE = " ,;(\u2013\u2014-"
# Characters of a message that asks to forget or to correct something, and says nothing else.
_LONGEST_CHANGE = 240
_IN_LAW = compile_pattern(r" in law\b")
# First letters of what is counted, by which "dog" and "dogs" are the same.
_STEM = 3
_ANALYZER = TermAnalyzer()
# After a mark that ends a sentence, forms find a beginning.
_SENTENCE_END = compile_pattern(r"[.!?] |[\u3002\uff01\uff1f]")
_CLAUSE = compile_pattern(r"\s*[,;\u3001\uff0c\uff1b]\s*|[.!]\s+")


class RequestKind(StrEnum):
    """What is asked of memory."""

    REVOKED = "revoked"
    STANDING = "standing"
    REMEMBER = "remember"
    # An instruction that lasts only if it is all that a message says.
    STYLE = "style"
    # One that, besides, lasts only where no task was set before.
    MANNER = "manner"


# What lasts only where a message says nothing else.
WHERE_ALONE = frozenset({RequestKind.STYLE, RequestKind.MANNER})


@dataclass(frozen=True, slots=True)
class Request:
    """What a sentence asks of memory.

    Attributes:
        kind: what is to be done.
        language: whose forms it fits.
        lead: where the request begins.
        start, end: what it is about; empty where that stands in other sentences.
    """

    kind: RequestKind
    language: str
    lead: int
    start: int
    end: int


def asks_memory(text: str) -> bool:
    """Return whether a text may ask something of memory; false is sure."""
    return any((asks_to_keep(text), find_withheld(text), find_memory_change(text)))


def asks_to_keep(text: str) -> bool:
    """Return whether a text may ask to keep something, or how to be answered from now on."""
    text = encodable(text[:MOST_READ].replace("'", "\u2019"))
    text = _SENTENCE_END.sub(lambda found: f"{found[0]}\n", text)
    codes = {code for line in text.split("\n") for code in languages_in(line)}
    forms = ((code, _forms(code, *RequestKind)) for code in sorted(codes))
    return any(each.fits(language_of(code).fold(text)) for code, each in forms)


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What a person asks to be forgotten, or to be another value.

    Attributes:
        about: words of what it is about; empty where that is what was told or said last.
        new: the value that is right; empty where that is not told, and ``None`` where something
            is to be forgotten.
        old: the value that was wrong; empty where the message does not tell it.
        denies: whether it says in so many words that what was told is wrong.
        beside: what the message says in other sentences.
    """

    about: str
    new: str | None = None
    old: str = ""
    denies: bool = False
    beside: str = ""


@lru_cache(maxsize=256)
def find_memory_change(text: str, *, alone: bool = True) -> MemoryChange | None:
    """Return what a text asks to forget, or corrects at its beginning.

    Args:
        text: a message, or a sentence of one.
        alone: whether it is all that a message says.
    """
    if len(text) > _LONGEST_CHANGE:
        return None
    plain = encodable(" ".join(text.split())).replace("'", "\u2019")
    plain = _IN_LAW.sub("-in-law", plain)
    for code in languages_with("facts"):
        for _, form in _forms(code, "forgotten", *["dropped"] * alone, "corrected").find(plain):
            if (found := form.search(plain)) is None:
                continue
            groups = found.groupdict()
            # A reason may follow: "about my job, I'd rather it was nowhere".
            about = _CLAUSE.split((groups.get("what") or "").strip(_TIDY))[0]
            new, old = ((groups.get(name) or "").strip(_TIDY) for name in ("new", "old"))
            denies = bool(groups.get("wrong"))
            if about or new or "what" not in groups:
                old = old or (find_value_like(new, about) if about and new else "")
                return MemoryChange(about, new if denies else new or None, old, denies)
    sentences = sentence_texts(text)
    for place, each in enumerate(sentences if len(sentences) > 1 else ()):
        change = find_memory_change(each, alone=False)
        if change and (change.about if change.new is None else change.new and not place):
            return replace(change, beside=" ".join((*sentences[:place], *sentences[place + 1 :])))
    return None


def find_value_like(new: str, said: str) -> str:
    """Return the one value in a text that is of the same kind as another; empty if it is not one.

    Numbers stand at the same places, with the same letters: "the 10th" is no time of day, but it
    is like the day in "11 December".
    """
    new = new.removeprefix("the ")
    words, kinds = said.split(), [_unit(each) for each in new.split()]
    if not any(each is not None for each in kinds):
        return _find_relative(new, said)
    phrases = (words[end - len(kinds) : end] for end in range(len(kinds), len(words) + 1))
    wanted = [*map(_kind, new.split())]
    like = {" ".join(each).strip(_TIDY) for each in phrases if [*map(_kind, each)] == wanted}
    bare = {each.strip(_TIDY) for each in words if "th" in kinds and _unit(each) == ""}
    found = like or bare
    return found.pop() if len(found) == 1 else ""


def _find_relative(new: str, said: str) -> str:
    """Return the one relative that a text tells of, where another one is meant: "my cousin"."""
    meant, told = [*relation_nouns(new)], [*relation_nouns(said)]
    right = meant == bare_words(new)[-1:] and len(told) == 1 and told != meant
    return told[0] if right else ""


def _kind(word: str) -> str:
    """Return the unit of a value, or how another word begins: what is counted is the same."""
    unit = _unit(word)
    return word.casefold().strip(_TIDY)[:_STEM] if unit is None else unit


def _unit(word: str) -> str | None:
    """Return the letters or signs at a number: ``am``; the same for every ordinal and weekday.

    ``None`` for any other word.
    """
    if not any(map(str.isdigit, word)):
        plain, days = word.casefold().strip(_TIDY), calendar_numbers("weekdays")
        if plain in {"am", "pm"}:
            return "half of a day"
        return "weekday" if plain in days or plain.removesuffix("s") in days else None
    letters = "".join(each for each in word if each.isalpha() or category(each) == "Sc").casefold()
    return "th" if letters in {"st", "nd", "rd"} else letters


def find_requests(sentence: str, *, question: bool = False) -> list[Request]:
    """Return what a sentence asks of memory, in the order of its words.

    Several instructions may follow each other; a request to remember goes to the end.

    Args:
        sentence: one sentence, masked where no rule may read.
        question: whether it ends as a question.
    """
    sentence = sentence.replace("'", "\u2019")
    found: list[tuple[Request, int]] = []
    for code in languages_in(sentence):
        plain, requests = language_of(code).fold(sentence), language_of(code).requests
        kinds = [kind for kind in RequestKind for _ in requests[kind]]
        # In the likeliest language that reads a request.
        for place, form in _forms(code, *RequestKind).find(plain) if not found else ():
            found += _match_requests(form, kinds[place], code, plain, question=question)
    order = list(RequestKind)
    found.sort(key=lambda each: (each[0].lead, order.index(each[0].kind)))
    chosen: list[Request] = []
    read = 0
    for request, stop in found:
        if request.lead < read:
            continue
        if chosen and chosen[-1].end > request.lead:
            chosen[-1] = replace(chosen[-1], end=request.lead)
        chosen.append(request)
        read = len(sentence) if request.kind is RequestKind.REMEMBER else stop
    return chosen


def split_statements(request: Request, sentence: str) -> list[tuple[int, int]]:
    """Return where each of the statements begins and ends that a request is about."""
    language = language_of(request.language)
    what = sentence[request.start : request.end].replace("'", "\u2019")
    cuts = []
    if not language.requests.fits("conditional", what):
        separators = _shared().patterns("separator") + language.requests.patterns("separator")
        found = (each for between in separators for each in between.finditer(what))
        spans = [group_spans(each)["sep"] for each in found]
        cuts = [span for span in spans if not _is_only_subject(what[: span[0]], request.language)]
    pieces = _between(what, cuts)
    return [(request.start + start, request.start + end) for start, end in pieces]


def _is_only_subject(text: str, language: str) -> bool:
    """Return whether words only lead in what follows: ``Yusuf`` (and Leila are …), ``in July``."""
    first = bare_words(text)[:1]
    leads = not language_of(language).words["prepositions"].isdisjoint(first)
    return leads or len(text.split()) == 1 or only_names(text, language)


def tidy(text: str, language: str) -> str:
    """Return a statement in its own words as a sentence, without what only leads or hangs on."""
    text = _BARE.sub("", " ".join(text.split()))
    while found := language_of(language).requests.search("filler", text):
        text = _BARE.sub("", text[: found.start()] + text[found.end() :])
    if not any(char.isalnum() for char in text):
        return ""
    end = "。" if language_of(language).unspaced else "."
    return text[0].upper() + text[1:] + end


def shows(sign: str, text: str, language: str) -> bool:
    """Return whether a sentence beside a request fits a pattern of the table ``requests``."""
    return language_of(language).requests.fits(sign, text)


def only_names(text: str, language: str) -> bool:
    """Return whether what is asked to be kept is a name without a value: ``my locker number``."""
    return shows("only_named", text, language) and not shows("stated", text, language)


def find_withheld(text: str) -> tuple[int, int] | None:
    """Return where a text asks that something be kept out of memory; ``None`` if nowhere."""
    text = encodable(text).replace("'", "\u2019")
    spans = (
        form.search(plain)
        for code in languages_with("stance")
        for plain in [language_of(code).fold(text)]
        for _, form in _forms(code, "withheld").find(plain)
    )
    return min((found.span(0) for found in spans if found), default=None)


def is_aside(text: str, language: str) -> bool:
    """Return whether a sentence beside an instruction sets no task: thanks, or a reason."""
    idle = language_of(language).words["openings"].issuperset(bare_words(text))
    return idle or shows("aside", text, language)


def is_for_once(text: str, language: str) -> bool:
    """Return whether an instruction is for this time only."""
    requests = language_of(language).requests
    lasting, plain = requests.pattern("lasting"), text.replace("'", "\u2019")
    return requests.fits("once", plain if lasting is None else lasting.sub(" ", plain))


def read_instruction(text: str, said: str, language: str) -> FactStatement:
    """Return a lasting instruction with its attribute.

    Args:
        text: its words.
        said: the sentence that is written down.
        language: whose forms it fits.
    """
    named = next((each for each in read_facts(text) if each.attribute == CALLED), None)
    if named is not None:
        return replace(named, content=said)
    conditional = _shared().fits("conditional", text)
    tongue = None if conditional else _answer_language(text, language)
    kind = ANSWER_LANGUAGE if tongue else INSTRUCTION
    return FactStatement("user", kind, tongue or said, said, 0, len(text), language)


def read_revocation(about: str, said: str, language: str) -> FactStatement:
    """Return that an instruction is taken back: the one that ``about`` tells of.

    Its content is ``said`` where that is an instruction of its own if there was none to revoke:
    ``Stop using emojis``.
    """
    own = said if about.strip(_TIDY) and shows("stopping", said, language) else ""
    return FactStatement("user", INSTRUCTION, None, own, 0, len(said), language, about)


def topic(text: str) -> str | None:
    """Return of which topic there is one instruction at a time, such as ``emoji``, if of any."""
    if _shared().fits("conditional", text) and not _shared().fits("of_answers", text):
        return None
    return next((name for name in _topics() if _topics().fits(name, text)), None)


def _of_one_topic(one: str, other: str) -> bool:
    about = topic(one)
    return about is not None and about == topic(other)


def is_about(revoked: str, instruction: str) -> bool:
    """Return whether what was revoked is this instruction."""
    alike = share_words(revoked, instruction) >= _MOSTLY
    return alike or _shared().fits("everything", revoked) or _of_one_topic(revoked, instruction)


def share_words(one: str, other: str) -> float:
    """Return the share (0 to 1) of the telling words of a text that another has, too."""
    told = _telling(one)
    return len(told & _telling(other)) / len(told) if told else 0.0


def replaces(new: str, old: str) -> bool:
    """Return whether an instruction takes the place of an older one.

    It does where both are of one topic, or all that tells it from others stands in the older:
    "no more jokes" ends "always end with a joke".
    """
    conditional = any(_shared().fits("conditional", each) for each in (new, old))
    return _of_one_topic(new, old) or (not conditional and share_words(new, old) == 1)


def points_back(revoked: str) -> bool:
    """Return whether a revocation names no instruction, and so means the one given last."""
    named = any(_shared().fits(each, revoked) for each in ("everything", "speaking"))
    return not named and not _telling(revoked)


# Forms and words


@cache
def _forms(code: str, *names: str) -> FormSet:
    """Return the forms of a language under some names, in any line of a text."""
    language = language_of(code)
    forms = (form for name in names for form in language.requests[name] or language.words[name])
    return FormSet(forms, language.fragments, "(?m)")


def _match_requests(
    form: Any, kind: RequestKind, code: str, sentence: str, *, question: bool
) -> Iterator[tuple[Request, int]]:
    """Yield the requests that a sentence makes by one form, and where each form ends."""
    language = language_of(code)
    requests = language.requests
    told = kind in {RequestKind.REMEMBER, RequestKind.REVOKED}
    for found in form.finditer(sentence):
        lead, stop = found.span()
        if not may_open(language, sentence, lead):
            # "… but call me Max": a joining word at its beginning parts it from what is before.
            first, _, rest = found.group(0).partition(" ")
            if first.casefold() not in language.words["joining"] or not rest:
                continue
            lead += len(first) + 1
        if requests.fits("reported", sentence[:lead]):
            continue
        if requests.fits("not_asked" if told else "not_instructed", sentence[lead:]):
            continue
        if question and not told and not requests.fits("polite", sentence[lead:]):
            continue
        start, end = lead, _end_of_instruction(requests, sentence, lead, stop)
        if told:
            start, end = group_spans(found).get("what", (stop, stop))
            word = requests.search("subordinate", sentence[:start]) if end > start else None
            start = word.start() if word else start
        if kind is RequestKind.REVOKED:
            # Behind a comma stands what is to be instead.
            end = stop = start + len(_CLAUSE.split(sentence[start:end])[0])
        yield Request(kind, code, lead, start, end), stop


def _end_of_instruction(requests: PatternTable, sentence: str, start: int, end: int) -> int:
    """Return where an instruction ends: before the reason that is given for it.

    Args:
        requests: the patterns of its language.
        sentence: where it stands.
        start: where it begins.
        end: where its form ends, which may be with the sentence.
    """
    end = len(sentence[:end].rstrip(_LOOSE))
    for name, begin in (("own_reason", start), ("reason", end)):
        found = requests.search(name, sentence[begin:])
        if found is not None:
            return begin + int(found.start())
    return len(sentence)


def _answer_language(text: str, code: str) -> str | None:
    """Return the language in which an instruction asks to be answered, if it does."""
    plain = text.replace("'", "\u2019")
    found = (form.search(plain) for form in language_of(code).requests.patterns("answer_language"))
    return next((str(each["value"]) for each in found if each is not None), None)


# The same statements are compared again and again.
@lru_cache(maxsize=2_048)
def _telling(text: str) -> frozenset[str]:
    """Return the stems of the words of an instruction that tell it from others."""
    plain = text.replace("\u2019", "'").replace("-", " ")
    plain = _shared().pattern("untold_unspaced").sub(" ", plain)
    words = stems(sorted(value_key(plain) - _untold()), rank_languages(text)[0])
    return frozenset(_ANALYZER.terms(" ".join(words)))


@cache
def _untold() -> frozenset[str]:
    """Return the words that tell no instruction from another."""
    return words_of("function_words").union(load("mul", "requests")["untold"])


@cache
def _shared() -> PatternTable:
    """Return the patterns of ``mul/requests.toml``, for all languages."""
    return PatternTable(load("mul", "requests"))


@cache
def _topics() -> PatternTable:
    return PatternTable(load("mul", "requests")["topics"])


def _between(text: str, cuts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces of a text that are left between cuts."""
    pieces, begin = [], 0
    for start, end in sorted(cuts):
        if start >= begin:
            pieces.append((begin, start))
            begin = end
    pieces.append((begin, len(text)))
    return [each for each in pieces if text[slice(*each)].strip(_TIDY)]

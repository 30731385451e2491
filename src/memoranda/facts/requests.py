"""Reads what a sentence asks of memory: to keep something, or how to be answered from now on.

The forms stand in the table ``requests`` of each language's ``facts.toml``. Those of all languages
are one set of RE2, so that a text which asks for nothing costs one pass over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from memoranda.facts.forms import FormSet, compile_form
from memoranda.facts.reader import (
    INSTRUCTION,
    MASK,
    FactStatement,
    LanguageReader,
    known_words,
    language_reader,
    mask_halves,
    possible_languages,
    read_facts,
)
from memoranda.facts.values import value_key
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import compile_pattern, expand, languages_with, load, words_of

ANSWER_LANGUAGE, CALLED = "answer_language", "called"
# Attributes by which a person says how the assistant is to behave.
INSTRUCTIONS = (ANSWER_LANGUAGE, CALLED, INSTRUCTION)
_TIDY = " \t\n,;:.!?…–—-*_~\u3001\u3002\uff0c\uff01\uff1a\uff1b"
_CLOSES = "\"'\u201d\u2019»)]%°€$£\u300d\u300f\uff09"
_OPENS = "\"'\u201c\u2018«([#@+$€£\u300c\u300e\uff08"
# Words that an item of a list has at least where nobody says that it is a list.
_ITEM = 3
_LEAST_ITEMS = 3
# Letters by which a word is known in another of its forms.
_STEM = 4
# Letters of a word that is the whole stem of another, and of the ending of that: "ask", "asking".
_LEAST_STEM, _ENDING = 3, 3
# Share of the telling words of a revocation that an instruction has which it ends.
_MOSTLY = 0.66
# What may stand between an instruction and its reason.
_LOOSE = " ,;(\u2013\u2014-"
# Words of an instruction that says nothing but in which language to answer.
_SHORT = 10
_SHORT_UNSPACED = 24
# Characters of a message that asks to forget or to correct something, and says nothing else.
_LONGEST_CHANGE = 240
_UNSPACED = compile_pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = compile_pattern(r"[\u3040-\u309f]")
_CLAUSE = compile_pattern(r"\s*[,;\u3001\uff0c\uff1b]\s*")


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
        listed: whether it says that several things follow.
        ahead: whether what it is about comes after it: ``remember two things for me``.
    """

    kind: RequestKind
    language: str
    lead: int
    start: int
    end: int
    listed: bool = False
    ahead: bool = False


def asks_memory(text: str) -> bool:
    """Return whether a text may ask something of memory; false is sure, and quickly said."""
    return asks_to_keep(text) or find_memory_change(text) is not None


def asks_to_keep(text: str) -> bool:
    """Return whether a text may ask to keep something, or how to be answered from now on."""
    text = text[:MOST_READ]
    for mark, broken in _BREAKS:
        text = text.replace(mark, broken)
    text = mask_halves(text)
    codes = {code for line in text.split("\n") for code in possible_languages(line)}
    return any(
        _forms(code).anywhere.fits(each)
        for code in sorted(codes)
        for each in _ways_to_read(text, code)
    )


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """What a person asks to be forgotten, or to be another value.

    Attributes:
        about: words of what it is about; empty where that is what was said last.
        new: the value that is right; ``None`` where something is to be forgotten.
        old: the value that was wrong; empty where the message does not tell it.
    """

    about: str
    new: str | None = None
    old: str = ""


def find_memory_change(text: str) -> MemoryChange | None:
    """Return what a text asks to forget or to correct, if that is all it says."""
    if len(text) > _LONGEST_CHANGE:
        return None
    plain = mask_halves(" ".join(text.split())).replace("'", "\u2019")
    for code in languages_with("facts"):
        for _, form in _change_forms(code).find(plain):
            found = form.search(plain)
            groups = found.groupdict() if found else {}
            # A reason may follow: "about my job, I'd rather it was nowhere".
            about = _CLAUSE.split((groups.get("what") or "").strip(_TIDY), maxsplit=1)[0]
            new, old = ((groups.get(name) or "").strip(_TIDY) for name in ("new", "old"))
            if about or new:
                old = old or (find_value_like(new, about) if about and new else "")
                return MemoryChange(about, new or None, old)
    return None


def find_value_like(new: str, said: str) -> str:
    """Return the last words of a text that are a value of the same kind as another, if any are."""
    words = said.split()
    numbers = [each for each in words if any(map(str.isdigit, each))]
    if any(map(str.isdigit, new)):
        # "The 10th" is no time of day: "on the 9th at 8am".
        like = [each for each in numbers if _unit(each) == _unit(new.rsplit(maxsplit=1)[-1])]
        return next(reversed(like or numbers), "")
    return "" if numbers else " ".join(words[-len(new.split()) :])


def _unit(number: str) -> str:
    """Return the letters at a number: ``am``; the same for every ordinal."""
    letters = "".join(filter(str.isalpha, number)).casefold()
    return "th" if letters in {"st", "nd", "rd"} else letters


def find_request(sentence: str, *, question: bool = False) -> Request | None:
    """Return what a sentence asks of memory first, if anything; see :func:`find_requests`."""
    return next(iter(find_requests(sentence, question=question)), None)


def find_requests(sentence: str, *, question: bool = False) -> list[Request]:
    """Return what a sentence asks of memory, in the order of its words.

    Several instructions may follow each other; a request to remember goes to the end.

    Args:
        sentence: one sentence, masked where no rule may read.
        question: whether it ends as a question.
    """
    sentence = sentence.replace("'", "\u2019")
    found: list[_RequestMatch] = []
    for code in possible_languages(sentence):
        forms, kinds = _forms(code)
        for way in _ways_to_read(sentence, code):
            for place, form in forms.find(way):
                found += _match_requests(form, kinds[place], code, way, question=question)
    if len({each.request.language for each in found}) > 1:
        words = frozenset(sentence.casefold().split())
        codes = (each.request.language for each in found)
        best = max(codes, key=lambda code: known_words(code, words))
        found = [each for each in found if each.request.language == best]
    order = list(RequestKind)
    found.sort(key=lambda each: (each.request.lead, order.index(each.request.kind)))
    chosen: list[Request] = []
    read = 0
    for request, stop in found:
        if chosen and (request.lead < read or request.kind is RequestKind.REMEMBER):
            continue
        if chosen and request.kind in WHERE_ALONE and not _parts(sentence[: request.lead], request):
            continue
        if chosen and chosen[-1].end > request.lead:
            chosen[-1] = replace(chosen[-1], end=request.lead)
        chosen.append(request)
        read = len(sentence) if request.kind is RequestKind.REMEMBER else stop
    return chosen


def _parts(before: str, request: Request) -> bool:
    """Return whether another instruction may begin here: after a mark, or a joining word."""
    before = before.rstrip()
    last = before.rsplit(None, 1)[-1].casefold()
    return not before[-1:].isalnum() or last in _joining(request.language)


def _joining(language: str) -> Sequence[str]:
    """Return the words that join a clause to the one before it: "and", "but"."""
    words: Sequence[str] = load(language, "facts")["words"].get("joining", ())
    return words


def split_statements(request: Request, sentence: str) -> list[tuple[int, int]]:
    """Return where each of the statements begins and ends that a request is about."""
    what = sentence[request.start : request.end].replace("'", "\u2019")
    cuts = [(found.start(), found.end()) for found in _own("semicolon").finditer(what)]
    numbers = [found.span() for found in _own("numbered").finditer(what)]
    if len(numbers) > 1 and not what[: numbers[0][0]].strip():
        cuts += numbers
    if not _fits(request.language, "conditional", what):
        for between in _patterns(request.language, "separator"):
            cuts += [
                span
                for found in between.finditer(what)
                if (span := _span(found, "sep"))
                and not _fits(request.language, "commenting", what[span[1] :])
                and not _is_only_subject(what[: span[0]], request.language)
            ]
    items = _between(what, [found.span() for found in _own("list_comma").finditer(what)])
    unspaced = language_reader(request.language).unspaced
    least = 1 if request.listed else _ITEM
    long = all(unspaced or len(what[slice(*each)].split()) > least - 1 for each in items)
    colon = sentence[: request.start].rstrip()[-1:] in {":", "\uff1a"}
    many = len(items) >= (2 if request.listed else _LEAST_ITEMS)
    if many and long and (request.listed or colon):
        cuts += [found.span() for found in _own("list_comma").finditer(what)]
    pieces = _between(what, cuts)
    return [(request.start + start, request.start + end) for start, end in pieces]


def _is_only_subject(text: str, language: str) -> bool:
    """Return whether words only begin the subject of what follows: ``Yusuf`` (and Leila are …)."""
    return len(text.split()) == 1 or only_names(text, language)


def tidy(text: str, language: str) -> str:
    """Return a statement in its own words as a sentence, without what only leads or hangs on."""
    text = " ".join(text.split())
    filler = _pattern(language, "filler")
    while True:
        text = _bare(text)
        found = filler and filler.search(text.replace("'", "\u2019"))
        if not found:
            break
        text = text[: found.start()] + text[found.end() :]
    if not text or not any(char.isalnum() for char in text):
        return ""
    end = "。" if language_reader(language).unspaced else "."
    return text[0].upper() + text[1:] + end


def is_hypothetical(text: str, language: str) -> bool:
    """Return whether a statement only supposes something."""
    return _fits(language, "hypothetical", text)


def continues(text: str, language: str) -> bool:
    """Return whether a sentence goes on with what the sentence before it asked for."""
    return _fits(language, "continues", text)


def tells_more(text: str, language: str) -> bool:
    """Return whether a sentence goes on with what the statement before it told."""
    return _fits(language, "telling_more", text)


def only_names(text: str, language: str) -> bool:
    """Return whether what is asked to be kept is a name without a value: ``my locker number``."""
    if _fits(language, "only_theirs", text):
        return True
    return _fits(language, "only_named", text) and not _fits(language, "stated", text)


def value_after(text: str, language: str) -> str | None:
    """Return the value that a sentence gives of what was named before: ``It's 778-204``."""
    forms = (_pattern(language, name) for name in ("named_by", "named_bare"))
    searched = (form.search(text.replace("'", "\u2019")) for form in forms if form is not None)
    found = next(filter(None, searched), None)
    span = found and _span(found, "value")
    return text[slice(*span)] if span else None


def find_withheld(text: str) -> tuple[int, int] | None:
    """Return where a text asks that something be kept out of memory; ``None`` if nowhere."""
    text = mask_halves(text).replace("'", "\u2019")
    spans = (
        form.search(language_reader(code).fold(text))
        for code in languages_with("stance")
        for _, form in _withheld_forms(code).find(language_reader(code).fold(text))
    )
    return min((found.span(0) for found in spans if found), default=None)


def is_pointing(text: str, language: str) -> bool:
    """Return whether a statement needs the one before it to be understood."""
    return _fits(language, "pointing", text)


def leans_back(text: str, language: str) -> bool:
    """Return whether an instruction needs the words before it: ``never put it in a recipe``."""
    return _fits(language, "leaning", text)


def is_aside(text: str, language: str) -> bool:
    """Return whether a sentence beside an instruction sets no task: thanks, or a reason."""
    opening = [word.strip(_TIDY) for word in text.casefold().split()]
    known = language_reader(language).openings
    return all(not word or word in known for word in opening) or _fits(language, "aside", text)


def is_for_once(text: str, language: str) -> bool:
    """Return whether an instruction is for this time only."""
    lasting = _pattern(language, "lasting")
    if lasting is not None:
        text = lasting.sub(" ", text.replace("'", "\u2019"))
    return _fits(language, "once", text)


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
    conditional = _own("conditional").search(text) is not None
    tongue = None if conditional else _answer_language(text, language)
    return FactStatement(
        subject="user",
        attribute=ANSWER_LANGUAGE if tongue else INSTRUCTION,
        value=tongue or said,
        content=said,
        start=0,
        end=len(text),
        language=language,
    )


def read_revocation(about: str, said: str, language: str) -> FactStatement:
    """Return that an instruction is taken back: the one that ``about`` tells of.

    Its content is ``said`` where that is an instruction of its own if there was none to revoke:
    ``Stop using emojis``.
    """
    own = said if about.strip(_TIDY) and _fits(language, "stopping", said) else ""
    return FactStatement("user", INSTRUCTION, None, own, 0, len(said), language, about)


def topic(text: str) -> str | None:
    """Return of which topic there is one instruction at a time, such as ``emoji``, if of any."""
    text = text.replace("'", "\u2019")
    if _own("conditional").search(text) and not _own("of_answers").search(text):
        return None
    return next((name for name, form in _topics().items() if form.search(text)), None)


@cache
def _topics() -> dict[str, Any]:
    names: Mapping[str, str] = load("mul", "requests")["topics"]
    return {name: compile_form(expand(form, names)) for name, form in names.items()}


def _of_one_topic(one: str, other: str) -> bool:
    about = topic(one)
    return about is not None and about == topic(other)


def is_about(revoked: str, instruction: str) -> bool:
    """Return whether what was revoked is this instruction."""
    if _own("everything").search(revoked):
        return True
    if share_words(revoked, instruction) >= _MOSTLY:
        return True
    language = _own("languages")
    if language.search(revoked) and language.search(instruction):
        return True
    return _of_one_topic(revoked, instruction)


def share_words(one: str, other: str) -> float:
    """Return the share (0 to 1) of the telling words of a text that another has, too."""
    told, there = _telling(one), _telling(other)
    shared = sum(any(_same_word(each, word) for word in there) for each in told)
    return shared / len(told) if told else 0.0


def replaces(new: str, old: str) -> bool:
    """Return whether an instruction takes the place of an older one.

    It does where both are of one topic, or all that tells it from others stands in the older:
    "no more jokes" ends "always end with a joke".
    """
    if _of_one_topic(new, old):
        return True
    conditional = _own("conditional")
    if conditional.search(new.replace("'", "\u2019")) or conditional.search(
        old.replace("'", "\u2019")
    ):
        return False
    one, other = _telling(new), _telling(old)
    return bool(one) and all(any(_same_word(each, word) for word in other) for each in one)


def points_back(revoked: str) -> bool:
    """Return whether a revocation names no instruction, and so means the one given last."""
    return not _telling(revoked) and not _own("everything").search(revoked)


# Forms and words


class _RequestFormSet(NamedTuple):
    anywhere: FormSet
    kinds: list[RequestKind]


# After a mark that ends a sentence, forms find a beginning.
_BREAKS = (
    ("'", "\u2019"),
    (". ", ".\n"),
    ("! ", "!\n"),
    ("? ", "?\n"),
    ("\u3002", "\u3002\n"),
    ("\uff01", "\uff01\n"),
)


@cache
def _forms(code: str) -> _RequestFormSet:
    """Return the forms of a language for what is asked of memory."""
    rows = [(kind, form) for kind in RequestKind for form in _sources(kind.value, code)]
    forms = FormSet((form for _, form in rows), language_reader(code).fragments, "(?m)")
    return _RequestFormSet(forms, [kind for kind, _ in rows])


@cache
def _withheld_forms(code: str) -> FormSet:
    return FormSet(load(code, "stance")["withheld"], language_reader(code).fragments)


@cache
def _change_forms(code: str) -> FormSet:
    forms = [*_sources("forgotten", code), *_sources("corrected", code)]
    return FormSet(forms, language_reader(code).fragments)


def _sources(name: str, code: str) -> Sequence[str]:
    """Return the forms of a name that a language gives under ``requests``."""
    sources: Sequence[str] = load(code, "facts").get("requests", {}).get(name, ())
    return sources


def _ways_to_read(text: str, code: str) -> tuple[str, ...]:
    """Return a text as it is, and as a language reads it in which some accents do not count."""
    folded = text if text.isascii() else language_reader(code).fold(text)
    return (text,) if folded == text else (text, folded)


class _RequestMatch(NamedTuple):
    """A request, and where the form that it fits ends."""

    request: Request
    stop: int


def _match_requests(
    form: Any, kind: RequestKind, language: str, sentence: str, *, question: bool
) -> Iterator[_RequestMatch]:
    """Yield the requests that a sentence makes by one form."""
    reader: LanguageReader = language_reader(language)
    told = kind in {RequestKind.REMEMBER, RequestKind.REVOKED}
    for found in form.finditer(sentence):
        lead, stop = found.span()
        if not reader.may_open(sentence, lead):
            # "… but call me Max": a joining word at its beginning parts it from what is before.
            first, _, rest = found.group(0).partition(" ")
            if first.casefold() not in _joining(language) or not rest:
                continue
            lead += len(first) + 1
        if _fits(language, "reported", sentence[:lead]):
            continue
        if _fits(language, "not_asked" if told else "not_instructed", sentence[lead:]):
            continue
        if question and not told and not _fits(language, "polite", sentence[lead:]):
            continue
        start, end = lead, _end_of_instruction(language, sentence, lead, stop)
        listed = ahead = False
        if told:
            start, end = _span(found, "what") or (stop, stop)
            listed = _fits(language, "plural", sentence[lead:start])
            ahead = end == start and _fits(language, "ahead", sentence[lead:stop])
            kept = _pattern(language, "subordinate")
            word = kept and end > start and kept.search(sentence[:start])
            start = word.start() if word else start
        if kind is RequestKind.REVOKED:
            # Behind a comma stands what is to be instead.
            end = stop = start + len(_CLAUSE.split(sentence[start:end], maxsplit=1)[0])
        request = Request(kind, language, lead, start, end, listed, ahead)
        yield _RequestMatch(request, stop)


def _span(found: Any, name: str) -> tuple[int, int] | None:
    """Return where the group of that name is, if the form has one and it was read."""
    number = found.re.groupindex.get(name)
    start, end = (-1, -1) if number is None else found.span(number)
    return (start, end) if start >= 0 else None


def _end_of_instruction(language: str, sentence: str, start: int, end: int) -> int:
    """Return where an instruction ends: before the reason that is given for it.

    Args:
        language: whose form it fits.
        sentence: where it stands.
        start: where it begins.
        end: where its form ends, which may be with the sentence.
    """
    own, reason = (_pattern(language, name) for name in ("own_reason", "reason"))
    told = None if own is None else own.search(sentence[start:])
    if told is not None and not _fits(language, "conditional_lead", sentence[start:]):
        return start + int(told.start())
    end = len(sentence[:end].rstrip(_LOOSE))
    found = None if reason is None else reason.search(sentence[end:])
    return len(sentence) if found is None else end + int(found.start())


def _answer_language(text: str, language: str) -> str | None:
    forms = load(language, "facts")["requests"].get("answer_language")
    text = text.replace("'", "\u2019")
    if forms:
        reader = language_reader(language)
        for form in forms:
            found = compile_form(expand(form, reader)).search(text)
            if found is not None:
                return str(found["value"])
        return None
    unspaced = language_reader(language).unspaced
    short = len(text) <= _SHORT_UNSPACED if unspaced else len(text.split()) <= _SHORT
    found = _own("languages").search(text) if short else None
    return None if found is None else str(found[0])


def _telling(text: str) -> frozenset[str]:
    """Return the words of an instruction that tell it from others."""
    words = frozenset(value_key(text.replace("\u2019", "'"))) - _untold()
    small = _own("untold_unspaced")
    told: set[str] = set()
    for word in words:
        if _UNSPACED.search(word):
            rest = [each for each in small.split(word) if each]
            told.update(rest or ([word] if _KANA.search(word) else ()))
        else:
            told.add(word)
    return frozenset(told)


@cache
def _untold() -> frozenset[str]:
    words = {each.casefold() for each in load("mul", "requests")["untold"]}
    for code in languages_with("facts"):
        if code in languages_with("function_words"):
            words |= words_of("function_words", code)
    return frozenset(words)


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    if _UNSPACED.search(one + other):
        shared = any(one[at : at + 2] in other for at in range(len(one) - 1))
        return shared or one in other or other in one
    short, long = sorted((one, other), key=len)
    if len(short) >= _LEAST_STEM and long.startswith(short) and len(long) <= len(short) + _ENDING:
        return True
    length = max(_STEM, min(len(one), len(other)) - 2)
    return len(one) >= _STEM <= len(other) and one[:length] == other[:length]


@cache
def _own(name: str) -> Any:
    """Return a pattern of ``mul/requests.toml``."""
    table: Mapping[str, Any] = load("mul", "requests")
    return compile_form(expand(table[name], table))


def _fits(language: str, name: str, text: str) -> bool:
    pattern = _pattern(language, name)
    return pattern is not None and pattern.search(text.replace("'", "\u2019")) is not None


@cache
def _pattern(language: str, name: str) -> Any:
    """Return a pattern of a language's table ``requests``, if it has that; several are one."""
    source = load(language, "facts")["requests"].get(name)
    if source is None:
        return None
    text = source if isinstance(source, str) else "(?:" + "|".join(source) + ")"
    return compile_form(expand(text, language_reader(language)))


def _patterns(language: str, name: str) -> Iterator[Any]:
    """Yield the patterns of an entry of that table, each by itself."""
    source = load(language, "facts")["requests"].get(name, ())
    for text in (source,) if isinstance(source, str) else source:
        yield compile_form(expand(text, language_reader(language)))


def _between(text: str, cuts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pieces of a text that are left between cuts."""
    pieces, begin = [], 0
    for start, end in sorted(cuts):
        if start >= begin:
            pieces.append((begin, start))
            begin = end
    pieces.append((begin, len(text)))
    return [each for each in pieces if text[slice(*each)].strip(_TIDY)]


def _bare(text: str) -> str:
    """Return a text without signs at its ends that are no part of a statement."""
    start, end = 0, len(text)
    while start < end and not (text[start].isalnum() or text[start] in _OPENS + MASK):
        start += 1
    while end > start and not (text[end - 1].isalnum() or text[end - 1] in _CLOSES + MASK):
        end -= 1
    return text[start:end]

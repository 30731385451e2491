"""Regular expressions whose time is linear in the text, whatever the text.

A pattern is written as for :mod:`re` and means the same, but RE2 runs it, which never backtracks.
RE2 has no lookaround, and knows word boundaries among ASCII letters only. So a text is written
anew for each pattern before RE2 reads it:

- each character as the byte of its class (:class:`Alphabet`): RE2 then needs no automata for
  letters beyond ASCII, and a class of word characters is an ASCII letter or digit, so that RE2's
  word boundaries are right in every script;
- if the pattern looks around, with marks: where each of its assertions holds is found first, and
  marked by a byte before the character that stands there. The pattern then asks for the mark.
  This is done only for a text that the pattern would fit if all assertions held.

Not supported are backreferences, conditions, and groups captured inside an assertion. Atomic
groups and possessive repeats are read as plain ones, and a repeat of up to more than 1,000 times
as one without limit. After an empty match the next begins a character later. An assertion sees
at least the next 500 characters, and at most 1,000; of those at one place four are read.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

import re2

# The characters that a pattern takes, and the classes of those that it cannot tell apart

_ASCII: Final = 0x80
# The flags that change what an element takes, as an integer: enumerations are slow.
_CHANGING: Final = int(re.IGNORECASE | re.ASCII | re.DOTALL)
_CASES_LISTED: Final = 512
_MOST_KNOWN: Final = 4_096
# Letters that lower() and upper() do not lead to, and :mod:`re` reads as these.
_MORE_CASES: Final = {"i": "\u0130\u0131", "s": "\u017f", "k": "\u212a"}
_WORD_BYTES: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
# What a character can be: digit, another word character, space, something else.
_KINDS: Final = "dwso"
_CATEGORIES: Final = {
    c.CATEGORY_DIGIT: "d",
    c.CATEGORY_WORD: "dw",
    c.CATEGORY_SPACE: "s",
    c.CATEGORY_NOT_DIGIT: "wso",
    c.CATEGORY_NOT_WORD: "so",
    c.CATEGORY_NOT_SPACE: "dwo",
}


class LookaroundError(RuntimeError):
    """A pattern that cannot be run in linear time."""


@dataclass(frozen=True, slots=True, eq=False)
class CharacterSet:
    """Characters that an element of a pattern takes: ASCII as bits, others by range and kind.

    Compared by identity, which is fast: one that is made twice divides nothing more.
    """

    ascii: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    kinds: frozenset[str] = frozenset()
    negated: bool = False

    def taken(self, starts: Sequence[int]) -> Iterator[str]:
        """Yield for each range beyond ASCII 1 or 0 for each kind of its characters.

        Args:
            starts: where the ranges begin; none is cut in two by a range of the set.
        """
        inside = bytearray(len(starts))
        for low, high in self.ranges:
            for place in range(bisect_left(starts, low), bisect_right(starts, high)):
                inside[place] = 1
        all_kinds = "01"[not self.negated] * len(_KINDS)
        kinds = "".join("01"[(kind in self.kinds) != self.negated] for kind in _KINDS)
        return (all_kinds if each else kinds for each in inside)

    def __invert__(self) -> CharacterSet:
        """Return the characters that are not in the set."""
        outside = (1 << _ASCII) - 1 & ~self.ascii
        return CharacterSet(outside, self.ranges, self.kinds, not self.negated)


def read_characters(operation: Any, value: Any, flags: int) -> CharacterSet:
    """Return the characters that an element of a parsed pattern takes.

    Args:
        operation: ``ANY``, ``LITERAL``, ``NOT_LITERAL`` or ``IN`` of :mod:`re`.
        value: what belongs to it.
        flags: as :func:`re.compile` takes them.
    """
    key = tuple(value) if operation is c.IN else value
    return _read_set(operation, key, flags & _CHANGING)


@lru_cache(maxsize=4096)
def _read_set(operation: Any, value: Any, flags: int) -> CharacterSet:
    if operation is c.ANY:
        return ~(CharacterSet() if flags & re.DOTALL else NEWLINE)
    items = value if operation is c.IN else [(c.LITERAL, value)]
    negated = operation is c.NOT_LITERAL or items[0][0] is c.NEGATE
    found = [_read_item(item, what, flags) for item, what in items if item is not c.NEGATE]
    mask = 0
    for each in found:
        mask |= each.ascii
    ranges = tuple(sorted({span for each in found for span in each.ranges}))
    joined = CharacterSet(mask, ranges, frozenset().union(*(each.kinds for each in found)))
    return ~joined if negated else joined


def _read_item(item: Any, what: Any, flags: int) -> CharacterSet:
    """Return the characters of one item of a set in a pattern."""
    if item is c.CATEGORY:
        return _category(what, flags)
    low, high = (what, what) if item is c.LITERAL else what
    return _range(low, high, flags)


def _range(low: int, high: int, flags: int) -> CharacterSet:
    """Return the characters of a range, and their other case where the pattern ignores case."""
    codes: set[int] = set()
    if flags & re.IGNORECASE and high - low < _CASES_LISTED:
        for character in map(chr, range(low, high + 1)):
            cases = (character.lower(), character.upper(), *_MORE_CASES.get(character.lower(), ""))
            codes.update(ord(each) for each in cases if character in _folded(each))
    mask = sum(1 << code for code in codes if code < _ASCII)
    if low < _ASCII:
        mask |= (1 << min(high + 1, _ASCII)) - (1 << low)
    ranges = {(code, code) for code in codes if code >= _ASCII and not low <= code <= high}
    if high >= _ASCII:
        ranges.add((max(low, _ASCII), high))
    return CharacterSet(mask, tuple(sorted(ranges)))


def _folded(case: str) -> tuple[str, ...]:
    """Return the characters as which :mod:`re` reads one without regard to case."""
    lower = case.lower()[:1]
    return (lower, lower.upper()) if len(case) == 1 else ()


@lru_cache(maxsize=32)
def _category(category: Any, flags: int) -> CharacterSet:
    """Return the characters of a category such as digits."""
    kinds = _CATEGORIES[category]
    mask = sum(1 << code for code in range(_ASCII) if _kind(chr(code)) in kinds)
    if flags & re.ASCII:
        return CharacterSet(mask, kinds=frozenset(_KINDS if "o" in kinds else ""))
    return CharacterSet(mask, kinds=frozenset(kinds))


def _kind(character: str) -> str:
    """Return what a character is: digit, another word character, space, something else."""
    if character.isdecimal():
        return "d"
    if character.isalnum() or character == "_":
        return "w"
    return "s" if character.isspace() else "o"


_SPACES: Final = _category(c.CATEGORY_SPACE, 0).ascii
NEWLINE: Final = CharacterSet(1 << ord("\n"))
WORDS: Final = _category(c.CATEGORY_WORD, 0)

# For each set 1 if it takes a class, and 0 if not.
_Taken = tuple[str, ...]


class Alphabet(dict[int, int]):
    """The classes of characters that the sets of a pattern tell apart, each with its byte.

    As a dictionary it holds the bytes of the characters that were met beyond texts of ASCII.
    """

    def __init__(self, sets: set[CharacterSet]) -> None:
        """Divide all characters into classes.

        Args:
            sets: what the elements of the pattern take.

        Raises:
            LookaroundError: there are more classes than bytes.
        """
        super().__init__()
        told = [*sets, WORDS, NEWLINE]
        cuts = {end for each in told for low, high in each.ranges for end in (low, high + 1)}
        self._starts = sorted({_ASCII, *cuts})
        # First the characters of ASCII; then of each range those of each kind. The members of a
        # class are in the same sets.
        members = [*_members(told, self._starts)]
        classes: dict[_Taken, list[int]] = {}
        for member, taken in enumerate(members):
            classes.setdefault(taken, []).append(member)
        codes = self._assign(classes, told.index(WORDS))
        self._codes = bytes(codes[taken] for taken in members)
        self._of_ascii = self._codes[:_ASCII] + bytes(_ASCII)
        self._of_set = {
            each: bytes(sorted(code for taken, code in codes.items() if taken[place] == "1"))
            for place, each in enumerate(told)
        }

    def _assign(self, classes: dict[_Taken, list[int]], word: int) -> dict[_Taken, int]:
        """Return the byte of each class, and note which are left."""
        codes: dict[_Taken, int] = {}
        words, others = [*_WORD_BYTES], [*range(_ASCII, 2 * _ASCII)]
        for taken, members in classes.items():
            # A letter for itself, where it can be: so RE2 finds words fast.
            own = [each for each in members if each < _ASCII]
            if own:
                codes[taken] = max(own, key=lambda code: (chr(code).islower(), code))
        words = [code for code in words if code not in codes.values()]
        #: Whether all word characters are word characters to RE2, too.
        self.knows_words = True
        for taken in classes.keys() - codes.keys():
            is_word = taken[word] == "1" and bool(words)
            self.knows_words &= is_word or taken[word] == "0"
            if not (words if is_word else others):
                raise LookaroundError("a pattern tells more than 256 classes of characters apart")
            codes[taken] = (words if is_word else others).pop(0)
        #: The bytes that no class has.
        self.free = bytes(others)
        return codes

    def encode(self, text: str) -> bytes:
        """Return a text with the byte of its class for each character."""
        if text.isascii():
            return text.encode("ascii").translate(self._of_ascii)
        return text.translate(self).encode("latin-1")

    def __missing__(self, code: int) -> int:
        """Return the byte of a character's code, as :meth:`str.translate` asks for it."""
        member = code
        if code >= _ASCII:
            place = bisect_right(self._starts, code) - 1
            member = _ASCII + place * len(_KINDS) + _KINDS.index(_kind(chr(code)))
        found = self._codes[member]
        if len(self) < _MOST_KNOWN:
            self[code] = found
        return found

    def bytes_of(self, characters: CharacterSet) -> bytes:
        """Return the bytes of the classes in one of the sets."""
        return self._of_set[characters]


def _members(sets: Sequence[CharacterSet], starts: Sequence[int]) -> Iterator[_Taken]:
    """Yield of what no set divides by which of the sets it is taken."""
    columns = zip(*(f"{each.ascii:0{_ASCII}b}" for each in sets), strict=True)
    yield from reversed([*columns])
    for taken in zip(*(each.taken(starts) for each in sets), strict=True):
        yield from zip(*taken, strict=True)


# Patterns

#: The methods that a pattern has in common with :class:`re.Pattern`.
METHODS: Final = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")
# The characters after a place that an assertion sees, and of a text that is read once for a loop.
_FARTHEST: Final = 1_000
# Bytes that RE2 may take for one pattern.
_MOST_MEMORY: Final = 4 << 20
_MOST_REPEATS: Final = 1_000
_MOST_AT_ONCE: Final = 4
_LONGEST_ROW: Final = 8
# Where a match must begin and end, and what says that there is none.
_Anchor = re2._re2.RE2.Anchor  # noqa: SLF001 - it has no other name
_ANYWHERE, _HERE, _WHOLE = _Anchor.UNANCHORED, _Anchor.ANCHOR_START, _Anchor.ANCHOR_BOTH
_NOWHERE: Final = (-1, -1)
_REFERENCE: Final = re.compile(r"\\(?:([1-9]\d?)|g<(\w+)>|(.))")
_REPEATS: Final = frozenset({c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT})
_LISTING: Final = frozenset({c.LITERAL, c.RANGE})
_FEW_LISTED: Final = 40
# Characters of a word that most texts have none of.
_LONG_WORD: Final = 8
# A group of plain words in a pattern, and the first of the characters, none of which is in a text,
# that stand for such groups while it is parsed: patterns of dates are mostly long lists of names.
_WORD_LIST: Final = re.compile(r"(?<!\\)\(\?:((?:[\w'’-]|\\s\+|\|)+)\)")
_FIRST_LIST: Final = 0xD800
# What re takes for an i, and no other rule of case does.
_LIKE_I: Final = {0x130: "i", 0x131: "i"}
_ELEMENTS: Final = frozenset({c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN})


class LookaroundMatch:
    """What a pattern found: the same face as a match of :mod:`re`."""

    __slots__ = ("_spans", "re", "string")

    def __init__(
        self, pattern: LookaroundPattern, text: str, spans: Sequence[tuple[int, int]]
    ) -> None:
        """Keep where the match and its groups stand."""
        self.re = pattern
        self.string = text
        self._spans = spans

    def moved(self, text: str, by: int) -> LookaroundMatch:
        """Return the same match in a longer text, so many characters later."""
        spans = [(a + by, b + by) if a >= 0 else (a, b) for a, b in self._spans]
        return LookaroundMatch(self.re, text, spans)

    def span(self, group: int | str = 0) -> tuple[int, int]:
        """Return where a group begins and ends; ``(-1, -1)`` if it took no part."""
        if isinstance(group, str):
            try:
                group = self.re.groupindex[group]
            except KeyError:
                raise IndexError(f"no group is named {group!r}") from None
        return self._spans[group]

    def start(self, group: int | str = 0) -> int:
        """Return where a group begins."""
        return self.span(group)[0]

    def end(self, group: int | str = 0) -> int:
        """Return where a group ends."""
        return self.span(group)[1]

    def __getitem__(self, group: int | str) -> Any:
        """Return the text of a group, or None."""
        begin, end = self.span(group)
        return None if begin < 0 else self.string[begin:end]

    def group(self, *groups: int | str) -> Any:
        """Return the text of one group, or of several as a tuple."""
        if len(groups) > 1:
            return tuple(self[each] for each in groups)
        return self[groups[0] if groups else 0]

    def groups(self, default: Any = None) -> tuple[Any, ...]:
        """Return the texts of all groups."""
        found = (self[each] for each in range(1, len(self._spans)))
        return tuple(default if each is None else each for each in found)

    def groupdict(self, default: Any = None) -> dict[str, Any]:
        """Return the texts of the named groups."""
        found = {name: self[number] for name, number in self.re.groupindex.items()}
        return {name: default if each is None else each for name, each in found.items()}

    @property
    def lastindex(self) -> int | None:
        """The number of the group that was closed last, if any was."""
        ends = [end for _, end in self._spans[1:]]
        return ends.index(max(ends)) + 1 if ends and max(ends) >= 0 else None

    @property
    def lastgroup(self) -> str | None:
        """The name of the group that was closed last, if it has one."""
        return self.re.group_names.get(self.lastindex or 0)

    def expand(self, template: str) -> str:
        r"""Return a template with the groups that it names: ``\1``, ``\g<name>``."""
        if "\\" not in template:
            return template

        def fill(reference: re.Match[str]) -> str:
            number, name, sign = reference.groups()
            if sign is not None:
                return {"n": "\n", "t": "\t"}.get(sign, sign)
            named = int(name) if name and name.isdigit() else name
            return self[int(number) if number else named] or ""

        return _REFERENCE.sub(fill, template)


@dataclass(frozen=True, slots=True)
class _Assertion:
    """What must hold at a place: a boundary, an end, or that an expression fits there or not."""

    name: str
    #: Of lookaround, what tells one from another.
    key: str = ""
    behind: bool = field(default=False, compare=False)
    negative: bool = field(default=False, compare=False)
    #: What must fit: a row of characters, or an expression.
    row: tuple[CharacterSet, ...] = field(default=(), compare=False)
    expression: LookaroundPattern | None = field(default=None, compare=False)
    #: The characters of what stands before the place.
    width: int = field(default=0, compare=False)


# What RE2 takes for an assertion in a text without marks. Lookaround is left out: what remains
# fits wherever the pattern does.
_UNMARKED: Final = {
    "boundary": rb"\b",
    "no boundary": rb"\B",
    "start": rb"\A",
    "line start": rb"(?m:^)",
    "line end": rb"(?m:$)",
    "end": rb"\z",
    "last line": rb"\z",
    "around": b"(?:)",
}
_BOUNDARIES: Final = frozenset({"boundary", "no boundary"})
_Part = bytes | CharacterSet | _Assertion
_Spans = Sequence[tuple[int, int]]
# Takes an anchor, the data, and from where to where it is to look.
_Finder = Callable[[Any, bytes, int, int], _Spans]


@dataclass(frozen=True, slots=True)
class _EncodedText:
    """A text as RE2 sees it: its bytes, and where each character stands if marks are between."""

    data: bytes
    offsets: Sequence[int] | None = None

    def offset(self, place: int) -> int:
        """Return where a character stands in the data, with the marks before it."""
        return place if self.offsets is None else self.offsets[place]

    def place(self, offset: int) -> int:
        """Return which character stands at an offset."""
        if self.offsets is None or offset < 0:
            return offset
        return bisect_right(self.offsets, offset) - 1


class _MarkedCharacters(dict[tuple[int, ...], bytes]):
    """The bytes of a character with the marks before it, by which assertions hold and its byte.

    The end of a text is a character of -1, without bytes.
    """

    def __init__(self, marks: Iterable[int], times: int) -> None:
        """Write each of the marks of a place, and all of them so many times."""
        super().__init__()
        self._marks = tuple(marks)
        self._times = times

    def __missing__(self, key: tuple[int, ...]) -> bytes:
        """Return the bytes of what was not met before, and keep them."""
        *holding, code = key
        cluster = bytes(mark for mark, holds in zip(self._marks, holding, strict=True) if holds)
        marked = cluster * self._times + (bytes([code]) if code >= 0 else b"")
        if len(self) < _MOST_KNOWN:
            self[key] = marked
        return marked


# What a text must hold that an expression can fit: one of some texts without regard to case, so
# many characters without white space between them, or all that one of some branches needs.
_Need = frozenset[str] | int | tuple[Sequence[Any], ...]


class Prefilter:
    """Rules out texts that a regular expression cannot match, by what a match would have to hold.

    Most texts lack that of most expressions, and learning it takes a fifth of the time of
    compiling the expression.
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        """Read an expression.

        Raises:
            re.error: it is no regular expression.
        """
        lists: list[frozenset[str]] = []

        def shorten(group: re.Match[str]) -> str:
            lists.append(_fold_words(group[1]))
            return chr(_FIRST_LIST + len(lists) - 1)

        self._needs = _needs(_parser.parse(_WORD_LIST.sub(shorten, pattern), flags), lists)

    def may_match(self, text: str) -> bool:
        """Return whether a text holds all that the expression needs to match anywhere in it."""
        return _holds(_fold(text), self._needs)


@lru_cache(maxsize=16)
def _fold(text: str) -> str:
    """Return a text without regard to case, as :mod:`re` sees it."""
    return text.translate(_LIKE_I).casefold()


@lru_cache(maxsize=256)
def _fold_words(alternatives: str) -> frozenset[str]:
    """Return of each of some alternatives in a pattern its longest word, folded."""
    return frozenset(_fold(max(words.split(r"\s+"), key=len)) for words in alternatives.split("|"))


def _holds(folded: str, needs: Sequence[_Need]) -> bool:
    """Return whether a folded text holds all that is needed."""
    for need in needs:
        if type(need) is frozenset:
            for part in need:
                if part in folded:
                    break
            else:
                return False
        elif not _holds_one(folded, need):
            return False
    return True


def _holds_one(folded: str, need: Any) -> bool:
    if isinstance(need, int):
        return max(map(len, folded.split()), default=0) >= need
    return any(_holds(folded, branch) for branch in need)


def _needs(tree: Any, lists: Sequence[frozenset[str]]) -> list[_Need]:
    """Return what a text must hold that a parsed expression can fit."""
    needs: list[_Need] = []
    letters = ""
    for operation, value in [*tree, (None, None)]:
        if operation is c.LITERAL and not _is_list(value, lists):
            letters += chr(value)
            continue
        if letters:
            needs.append(frozenset({_fold(letters)}))
            letters = ""
        if operation is c.LITERAL:
            needs.append(_texts_of(value, lists))
        elif operation is c.IN:
            listed = _listed_texts(value, lists)
            needs += [listed] * bool(listed)
        elif operation is c.BRANCH:
            needs += _needs_of_branches(tuple(_needs(branch, lists) for branch in value[1]))
        elif operation in {c.SUBPATTERN, c.ATOMIC_GROUP}:
            needs += _needs(value[-1] if operation is c.SUBPATTERN else value, lists)
        elif operation in _REPEATS and value[0]:
            needs += _needs_of_repeat(value[0], value[2], lists)
    # What is looked for fastest comes first.
    return sorted(needs, key=lambda need: len(need) if isinstance(need, frozenset) else _FEW_LISTED)


def _needs_of_branches(branches: tuple[list[_Need], ...]) -> list[_Need]:
    parts = [need for each in branches for need in each if isinstance(need, frozenset)]
    if len(parts) == len(branches) == sum(map(len, branches)) and all(branches):
        return [frozenset().union(*parts)]
    return [branches] * all(branches)


def _needs_of_repeat(least: int, inside: Any, lists: Sequence[frozenset[str]]) -> list[_Need]:
    """Return what is needed that a parsed expression can fit so many times at least."""
    element, value = inside[0]
    if least < _LONG_WORD or len(inside) > 1 or element is not c.IN:
        return _needs(inside, lists)
    plain = read_characters(element, value, 0)
    spaced = plain.ascii & _SPACES or "s" in plain.kinds or plain.ranges or plain.negated
    return [] if spaced else [least]


def _is_list(code: int, lists: Sequence[frozenset[str]]) -> bool:
    """Return whether a character stands for a list of words."""
    return 0 <= code - _FIRST_LIST < len(lists)


def _texts_of(code: int, lists: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the list of words that a character stands for, or the character itself, folded."""
    return lists[code - _FIRST_LIST] if _is_list(code, lists) else frozenset({_fold(chr(code))})


def _listed_texts(
    items: Sequence[tuple[Any, Any]], lists: Sequence[frozenset[str]]
) -> frozenset[str]:
    """Return the characters of a set in a pattern if they are few, else nothing.

    A set of what stands for lists of words was a choice between these.
    """
    spans = [(w, w) if item is c.LITERAL else w for item, w in items if item in _LISTING]
    few = len(spans) == len(items) and sum(b - a + 1 for a, b in spans) <= _FEW_LISTED
    codes = [code for a, b in spans * few for code in range(a, b + 1)]
    return frozenset().union(*(_texts_of(code, lists) for code in codes))


class LookaroundPattern:
    """A regular expression with the methods of :class:`re.Pattern`, run in linear time."""

    def __init__(self, pattern: str, flags: int = 0, tree: Any = None) -> None:
        """Compile a pattern.

        Args:
            pattern: the expression, as :mod:`re` takes it.
            flags: as :func:`re.compile` takes them.
            tree: the expression as :mod:`re` parses it, if that was done.

        Raises:
            re.error: it is no regular expression.
            LookaroundError: it asks for what is not supported.
        """
        self.pattern = pattern
        self.groupindex: Mapping[str, int] = {}
        if tree is None:
            tree = _parser.parse(pattern, flags)
            flags = int(tree.state.flags)
            self.groupindex = dict(tree.state.groupdict)
            if _is_run(tree):
                # Never goes back, and is found by :mod:`re` many times faster.
                for method in METHODS:
                    setattr(self, method, getattr(re.compile(pattern, flags), method))
        self.flags = flags = int(flags)
        self.group_names = {number: name for name, number in self.groupindex.items()}
        self.parts: list[_Part] = []
        _read(tree, flags, self.parts)
        self._assertions = [*dict.fromkeys(e for e in self.parts if isinstance(e, _Assertion))]
        sets = {each for each in self.parts if isinstance(each, CharacterSet)}
        sets.update(each for assertion in self._assertions for each in assertion.row)
        self._alphabet = Alphabet(sets)
        names = {each.name for each in self._assertions}
        # Whether RE2 cannot tell where words begin and end in a text beyond ASCII.
        self._blind = not self._alphabet.knows_words and not names.isdisjoint(_BOUNDARIES)
        # The pattern may ask for so many at one place, in any order.
        asked = sum(isinstance(each, _Assertion) for each in self.parts)
        self._most_at_once = min(asked, _MOST_AT_ONCE)
        self._looks_around = "around" in names
        self._has_end = "last line" in names
        # What fits wherever the pattern does, and of what is not marked, only there.
        self._loose = self._compile()

    def search(self, text: str, pos: int = 0, endpos: int | None = None) -> LookaroundMatch | None:
        """Return the first match at or after ``pos``."""
        return self._find(_ANYWHERE, text, pos, endpos)

    def match(self, text: str, pos: int = 0, endpos: int | None = None) -> LookaroundMatch | None:
        """Return the match that begins at ``pos``."""
        return self._find(_HERE, text, pos, endpos)

    def fullmatch(
        self, text: str, pos: int = 0, endpos: int | None = None
    ) -> LookaroundMatch | None:
        """Return the match that takes all of the text from ``pos`` on."""
        return self._find(_WHOLE, text, pos, endpos)

    def finditer(
        self, text: str, pos: int = 0, endpos: int | None = None
    ) -> Iterator[LookaroundMatch]:
        """Yield the matches, none of which overlap."""
        if endpos is not None:
            text = text[:endpos]
        finder, view = self._prepare(text, _ANYWHERE, pos)
        while finder is not None and pos <= len(text):
            found = finder(_ANYWHERE, view.data, view.offset(pos), len(view.data))
            if found[0] == _NOWHERE:
                return
            match = self._match(found, text, view)
            yield match
            begin, end = match.span()
            pos = end if end > begin else end + 1

    def findall(self, text: str) -> list[Any]:
        """Return the texts of all matches, or of their groups."""
        found: list[Any] = []
        for match in self.finditer(text):
            groups = match.groups("")
            found.append(match[0] if not groups else groups[0] if len(groups) == 1 else groups)
        return found

    def split(self, text: str, maxsplit: int = 0) -> list[Any]:
        """Return what stands between the matches, and their groups."""
        parts: list[Any] = []
        begin = 0
        for number, match in enumerate(self.finditer(text), 1):
            parts += [text[begin : match.start()], *match.groups()]
            begin = match.end()
            if number == maxsplit:
                break
        return [*parts, text[begin:]]

    def sub(self, repl: str | Callable[[LookaroundMatch], str], text: str, count: int = 0) -> str:
        """Return a text with ``repl`` for each match."""
        return self.subn(repl, text, count)[0]

    def subn(
        self, repl: str | Callable[[LookaroundMatch], str], text: str, count: int = 0
    ) -> tuple[str, int]:
        """Return the same, and how many matches there were."""
        parts: list[str] = []
        begin = number = 0
        for number, match in enumerate(self.finditer(text), 1):
            new = match.expand(repl) if isinstance(repl, str) else repl(match)
            parts += (text[begin : match.start()], new)
            begin = match.end()
            if number == count:
                break
        return "".join([*parts, text[begin:]]), number

    def places(self, text: str, width: int) -> bytes:
        """Return for each place, and the end of a text, 1 if a match begins there, and 0 if not.

        Args:
            text: the text.
            width: the characters of each match, if the places are wanted at which they end.
        """
        holding = bytearray(len(text) + 1)
        finder, view = self._prepare(text, _ANYWHERE, 0)
        pos = 0
        while finder is not None and pos <= len(text):
            # Without a limit, each search could read all the rest.
            last = min(pos + _FARTHEST, len(text))
            end = len(view.data) if last == len(text) else view.offset(last)
            begin, _ = finder(_ANYWHERE, view.data, view.offset(pos), end)[0]
            if begin >= 0:
                pos = view.place(begin)
                holding[min(pos + width, len(text))] = 1
                pos += 1
            elif last < len(text):
                pos = last - _FARTHEST // 2
            else:
                break
        return bytes(holding)

    def mark(self, text: str) -> _EncodedText:
        """Return a text with a mark wherever one of the assertions holds."""
        data = self._encode(text)
        held = [self._holding(each, text, data) for each in self._assertions]
        marked = [*map(self._marked.__getitem__, zip(*held, [*data, -1], strict=True))]
        offsets = [0, *accumulate(map(len, marked))]
        offsets.pop()
        return _EncodedText(b"".join(marked), offsets)

    def _find(self, anchor: Any, text: str, pos: int, endpos: int | None) -> LookaroundMatch | None:
        if endpos is not None and pos > _FARTHEST:
            # Whoever goes through a long text by its parts need not read all of it for each.
            begin = pos - _FARTHEST
            match = self._find(anchor, text[begin:endpos], _FARTHEST, None)
            return None if match is None else match.moved(text, begin)
        if endpos is not None:
            text = text[:endpos]
        finder, view = self._prepare(text, anchor, pos)
        if finder is None or pos > len(text):
            return None
        found = finder(anchor, view.data, view.offset(pos), len(view.data))
        return None if found[0] == _NOWHERE else self._match(found, text, view)

    def _prepare(self, text: str, anchor: Any, pos: int) -> tuple[_Finder | None, _EncodedText]:
        """Return what finds the pattern, and what it is to read; nothing, if it cannot fit."""
        view = _EncodedText(self._encode(text))
        # An end before the last newline is known only by a mark.
        needs_mark = self._has_end and text.endswith("\n")
        blind = self._blind and not text.isascii()
        if not self._looks_around and not needs_mark and not blind:
            return self._loose, view
        loose = None if needs_mark else self._boundless if blind else self._loose
        if loose and loose(anchor, view.data, pos, len(text))[0] == _NOWHERE:
            return None, view
        return self._exact, _mark(self, text)

    def _encode(self, text: str) -> bytes:
        return self._alphabet.encode(text) if len(text) < _FARTHEST else _encode(self, text)

    def encode_anew(self, text: str) -> bytes:
        """Return a text with the byte of its class for each character."""
        return self._alphabet.encode(text)

    def _match(self, found: _Spans, text: str, view: _EncodedText) -> LookaroundMatch:
        if view.offsets is not None:
            found = [(view.place(begin), view.place(end)) for begin, end in found]
        return LookaroundMatch(self, text, found)

    @cached_property
    def _boundless(self) -> _Finder:
        """What fits wherever the pattern does, and where only the ends of its words do not."""
        return self._compile(without=_BOUNDARIES)

    @cached_property
    def _exact(self) -> _Finder:
        """What finds the pattern in a text with marks."""
        # As few as can be: what comes later may ask for those that are left.
        return self._compile(_listed(bytes(self._marks.values())) + b"*?")

    @cached_property
    def _marked(self) -> _MarkedCharacters:
        """The bytes of each character that was met, with the marks before it."""
        return _MarkedCharacters(self._marks.values(), self._most_at_once)

    @cached_property
    def _marks(self) -> Mapping[_Assertion, int]:
        """The byte of each assertion's mark."""
        free = self._alphabet.free
        if len(free) < len(self._assertions):
            raise LookaroundError(f"{self.pattern!r} has more assertions than there are marks")
        return dict(zip(self._assertions, free, strict=False))

    def _compile(
        self, marks: bytes | None = None, without: frozenset[str] = frozenset()
    ) -> _Finder:
        """Return what finds the pattern.

        Args:
            marks: what fits the marks that may stand before a character; None for a text
                without any.
            without: the assertions that are taken to hold everywhere.
        """
        written: dict[_Part, bytes] = {}
        for part in self.parts:
            if part in written:
                continue
            if isinstance(part, bytes):
                written[part] = part
                continue
            if isinstance(part, CharacterSet):
                element = _listed(self._alphabet.bytes_of(part))
            elif part.name in without:
                element = b"(?:)"
            else:
                element = _UNMARKED[part.name] if marks is None else b"\\x%02x" % self._marks[part]
            written[part] = element if marks is None else b"(?:%b%b)" % (marks, element)
        source = b"".join([*(written[part] for part in self.parts), marks or b""])
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        options.max_mem = _MOST_MEMORY
        try:
            compiled = re2.compile(source, options)
        except re2.error as error:
            raise LookaroundError(f"RE2 cannot run {self.pattern!r}: {error}") from error
        # Its own methods take twice as long for what they put a match into.
        finder: _Finder = compiled._regexp.Match  # noqa: SLF001
        return finder

    def _holding(self, assertion: _Assertion, text: str, data: bytes) -> bytes:
        """Return for each place, and the end, 1 if an assertion holds there, and 0 if not."""
        nowhere = bytes(len(text))
        match assertion.name:
            case "boundary" | "no boundary":
                words = _in(data, self._alphabet.bytes_of(WORDS))
                differ = int.from_bytes(b"\0" + words) ^ int.from_bytes(words + b"\0")
                holding = differ.to_bytes(len(text) + 1)
                holding = holding if assertion.name == "boundary" else _inverted(holding)
            case "start":
                holding = b"\1" + nowhere
            case "end":
                holding = nowhere + b"\1"
            case "last line":
                holding = nowhere[1:] + b"\1\1" if text.endswith("\n") else nowhere + b"\1"
            case "line start":
                holding = b"\1" + _in(data, self._alphabet.bytes_of(NEWLINE))
            case "line end":
                holding = _in(data, self._alphabet.bytes_of(NEWLINE)) + b"\1"
            case _ if assertion.row:
                holding = self._holding_row(assertion, data)
            case _ if assertion.expression is not None:
                holding = assertion.expression.places(text, assertion.width)
        return _inverted(holding) if assertion.negative else holding

    def _holding_row(self, assertion: _Assertion, data: bytes) -> bytes:
        """Return for each place, and the end, 1 if a row of characters stands there."""
        row, size = assertion.row, len(data) + 1
        held = -1
        for place, each in enumerate(row):
            taken = _in(data, self._alphabet.bytes_of(each))
            held &= int.from_bytes(taken, "little") >> 8 * place
        if assertion.behind:
            held <<= 8 * len(row)
        return held.to_bytes(size + len(row), "little")[:size]


# Those who go through a long text call with the same text again and again.
@lru_cache(maxsize=16)
def _mark(pattern: LookaroundPattern, text: str) -> _EncodedText:
    return pattern.mark(text)


@lru_cache(maxsize=16)
def _encode(pattern: LookaroundPattern, text: str) -> bytes:
    return pattern.encode_anew(text)


def _read(tree: Any, flags: int, parts: list[_Part]) -> None:
    """Add the parts of a parsed pattern: elements, assertions, and what RE2 writes alike."""
    for operation, value in tree:
        if operation in _ELEMENTS:
            parts.append(read_characters(operation, value, flags))
        elif operation is c.AT:
            parts.append(_Assertion(_place(value, flags)))
        elif operation in {c.ASSERT, c.ASSERT_NOT}:
            direction, inside = value
            parts.append(_read_lookaround(operation, direction, inside, flags))
        elif operation is c.FAILURE:
            parts.append(CharacterSet())
        else:
            _read_group(operation, value, flags, parts)


def _read_group(operation: Any, value: Any, flags: int, parts: list[_Part]) -> None:
    """Add the parts of an operation that holds other expressions."""
    opening, repeat, branches = b"(?:", b"", []
    match operation:
        case c.BRANCH:
            branches = value[1]
        case c.SUBPATTERN:
            group, added, removed, inside = value
            opening = b"(?:" if group is None else b"("
            branches, flags = [inside], (flags | added) & ~removed
        case c.ATOMIC_GROUP:
            branches = [value]
        case _ if operation in _REPEATS:
            least, most, inside = value
            repeat = _repeat(least, most) + b"?" * (operation is c.MIN_REPEAT)
            branches = [inside]
        case _:
            raise LookaroundError(f"{str(operation).lower()} cannot be run in linear time")
    for number, branch in enumerate(branches):
        parts.append(b"|" if number else opening)
        _read(branch, flags, parts)
    parts.append(b")" + repeat)


def _read_lookaround(operation: Any, direction: int, inside: Any, flags: int) -> _Assertion:
    """Return the assertion that an expression fits, or not, after a place or before it."""
    behind, negative = direction < 0, operation is c.ASSERT_NOT
    key = f"{negative} {behind} {flags} {inside!r}"
    row = _read_row(inside, flags)
    if row:
        return _Assertion("around", key, behind, negative, row=row)
    expression = LookaroundPattern(repr(inside), flags, inside)
    if b"(" in expression.parts:
        raise LookaroundError("a group is captured inside an assertion")
    width = int(inside.getwidth()[1]) if behind else 0
    return _Assertion("around", key, behind, negative, expression=expression, width=width)


def _read_row(inside: Any, flags: int) -> tuple[CharacterSet, ...]:
    """Return the characters of an expression of a few single ones; none if it is another."""
    row: list[CharacterSet] = []
    for operation, value in inside:
        times = 1
        if operation is c.MAX_REPEAT and value[0] == value[1] and len(value[2]) == 1:
            times, _, ((operation, value),) = value  # noqa: PLW2901 - the element inside
        if operation not in _ELEMENTS or len(row) + times > _LONGEST_ROW:
            return ()
        row += [read_characters(operation, value, flags)] * times
    return tuple(row)


def _is_run(tree: Any) -> bool:
    """Return whether an expression is one character of a set, or as many as there are."""
    if len(tree) != 1:
        return False
    operation, value = tree[0]
    if operation is c.MAX_REPEAT and value[0] == 1 and len(value[2]) == 1:
        operation = value[2][0][0]
    return operation in _ELEMENTS


def _repeat(least: int, most: Any) -> bytes:
    """Return how often an expression is repeated, as RE2 writes it."""
    if most is c.MAXREPEAT or most > _MOST_REPEATS:
        return {0: b"*", 1: b"+"}.get(least, b"{%d,}" % least)
    return b"?" if (least, most) == (0, 1) else b"{%d,%d}" % (least, most)


def _place(at: Any, flags: int) -> str:
    """Return the name of a place: an end, or a boundary of words."""
    lines = flags & re.MULTILINE
    return {
        c.AT_BEGINNING: "line start" if lines else "start",
        c.AT_BEGINNING_STRING: "start",
        c.AT_BOUNDARY: "boundary",
        c.AT_NON_BOUNDARY: "no boundary",
        c.AT_END: "line end" if lines else "last line",
        c.AT_END_STRING: "end",
    }[at]


def _listed(codes: bytes) -> bytes:
    """Return what matches any of some bytes, as RE2 writes it."""
    if not codes:
        return rb"[^\x00-\xff]"
    if len(codes) == 1:
        return codes if codes.isalnum() else b"\\x%02x" % codes[0]
    return b"[%b]" % b"".join(b"\\x%02x" % code for code in codes)


def _in(data: bytes, codes: bytes) -> bytes:
    """Return for each byte of the data 1 if it is one of some codes, and 0 if not."""
    return data.translate(_membership(codes))


@lru_cache(maxsize=1024)
def _membership(codes: bytes) -> bytes:
    return bytes(code in codes for code in range(256))


def _inverted(flags: bytes) -> bytes:
    """Return 0 for 1 and 1 for 0."""
    return flags.translate(b"\1\0" + bytes(254))

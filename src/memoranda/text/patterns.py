r"""Patterns and word lists: what reads plain text is compiled, and its language data read, here.

Everything that reads what people, models or files have written asks here for its patterns, which
run in linear time. A pattern is compiled when it is first used: a process pays only for those that
it meets.

What the product knows of each language stands in ``memoranda/languages/<code>/<topic>.toml`` and
is read when it is first needed; the README there says how to add a language.

The engine is RE2, with the methods of `re`. A pattern does not look around: what stands beside a
match is checked after it. RE2 knows words, digits and white space of ASCII alone, and is small and
fast only with these. So

- a pattern without regard to case reads a text in small letters, where a Latin letter with an
  accent is a capital one (é is ``E``, ñ is ``N``): ``\w`` and ``\b`` hold for all of them;
- ``\w`` takes the letters of other scripts by their ranges; a ``\b`` knows none of these;
- a pattern that tells cases apart, anywhere, has ``\b`` for ASCII alone.

A repeat has a limit of at most 1,000, or none. ``$`` is the end of the text.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, cast

import re2

_MOST_KNOWN: Final = 4_096
# The letters and digits of ASCII, of Latin beyond it, and of all other scripts.
_ASCII: Final = "A-Za-z0-9"
_LATIN: Final = r"\x{aa}\x{b5}\x{ba}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{24f}"
_OTHERS: Final = (
    r"\x{370}-\x{60b}\x{60d}-\x{61a}\x{620}-\x{669}\x{66e}-\x{963}\x{966}-\x{1fff}\x{2c00}-\x{2dff}"
    r"\x{3005}-\x{3007}\x{3031}-\x{30fa}\x{30fc}-\x{d7ff}\x{f900}-\x{fdff}\x{ff10}-\x{ff19}"
    r"\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{ff66}-\x{ffdc}\x{20000}-\x{3ffff}"
)
_SPACES: Final = (
    r"\t-\r\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)
_KEPT_SPACES: Final = frozenset("\t\n\f\r ")
# Latin letters that are no other letter with an accent.
_OWN_LETTERS: Final = dict(zip("ßøłđðıħæœþŋ", "SOLDDIHAOTN", strict=True))
_LATIN_END: Final = 0x250
_TOKEN: Final = re.compile(
    r"\\(?:u(?P<code>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8}))|\\(?P<escape>.)|\[(?P<set>\^?\]?(?:\\.|[^\]\\])*)\]"
    r"|\(\?P<\w+>|\(\?(?P<flags>[a-z-]+)[:)]|[^\\\[(]+|.",
    re.DOTALL,
)
_TELLS_CASES: Final = re.compile(r"\(\?\w*-\w*i")
_HALF: Final = re.compile("[\ud800-\udfff]")


# A pattern that RE2 cannot run.
PatternError: Final = re2.error


class _LowercaseTable(dict[int, int | str]):
    """The small letter of each character; a capital one stands for one with an accent."""

    def __missing__(self, code: int) -> int | str:
        """Return what stands for a character, as :meth:`str.translate` asks for it."""
        found = _small_letter(chr(code))
        if len(self) < _MOST_KNOWN:
            self[code] = found
        return found


def _small_letter(sign: str) -> str:
    if sign.isspace():
        return sign if sign in _KEPT_SPACES else " "
    if sign.isdecimal():
        return str(unicodedata.decimal(sign))
    if "\ud800" <= sign <= "\udfff":
        return "\ufffd"
    low = sign.lower()[0]
    bare = unicodedata.normalize("NFD", low)[0]
    if low.isascii() or not low.isalpha():
        return low
    if bare.isascii():
        return bare.upper()
    return _OWN_LETTERS.get(low, "X" if ord(low) < _LATIN_END else low)


_LOWERCASE: Final = _LowercaseTable()


# Many patterns read the same text, one after the other.
@lru_cache(maxsize=16)
def _small(text: str) -> str:
    """Return a text in small letters, as long as it was, as patterns without case read it."""
    return text.translate(_LOWERCASE)


def encodable(text: str) -> str:
    """Return a text with a sign for each half of a character, which cannot be written as UTF-8."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def join_surrogates(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates, which UTF-8 cannot hold.

    Two surrogates that belong together become the character they mean.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class LinearMatch:
    """What a pattern found: the same face as a match of :mod:`re`."""

    __slots__ = ("_spans", "re", "string")

    def __init__(self, pattern: LinearPattern, text: str, spans: Sequence[tuple[int, int]]) -> None:
        """Keep where the match and its groups stand."""
        self.re = pattern
        self.string = text
        self._spans = spans

    def span(self, group: int | str = 0) -> tuple[int, int]:
        """Return where a group begins and ends; ``(-1, -1)`` if it took no part."""
        return self._spans[self.re.groupindex[group] if isinstance(group, str) else group]

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

    def get(self, name: str) -> str | None:
        """Return the text of a named group; None, if the pattern has no such group."""
        return self[name] if name in self.re.groupindex else None

    def within(self, name: str) -> LinearMatch:
        """Return the same match of which only a named group is the whole."""
        return LinearMatch(self.re, self.string, [self.span(name), *self._spans[1:]])

    @property
    def lastindex(self) -> int:
        """The number of the group that was closed last."""
        ends = [end for _, end in self._spans[1:]]
        return ends.index(max(ends)) + 1

    @property
    def lastgroup(self) -> str:
        """The name of the group that was closed last."""
        last = self.lastindex
        return next(name for name, number in self.re.groupindex.items() if number == last)


class LinearPattern:
    """A regular expression with the methods of :class:`re.Pattern`, compiled when first used."""

    def __init__(self, source: str | Callable[[], str], flags: int = 0) -> None:
        """Stand for an expression.

        Args:
            source: the expression, or what returns it when it is first needed.
            flags: of :mod:`re`: ``IGNORECASE``, ``MULTILINE``, ``DOTALL``.
        """
        self._source = source
        self.flags = flags

    @cached_property
    def pattern(self) -> str:
        """The expression as it was written."""
        return self._source() if callable(self._source) else self._source

    @cached_property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of the named groups."""
        found: Mapping[str, int] = self._compiled.groupindex
        return found

    @cached_property
    def _compiled(self) -> Any:
        named = {"i": re.IGNORECASE * (not self._is_small), "m": re.MULTILINE, "s": re.DOTALL}
        marks = [mark for mark, flag in named.items() if self.flags & flag]
        flags = f"(?{''.join(marks)})" if marks else ""
        source = flags + _translate(self.pattern, small=self._is_small)
        return re2.compile(source, engine_options())

    @cached_property
    def _is_small(self) -> bool:
        """Whether the expression reads texts in small letters: no part of it tells cases apart."""
        return bool(self.flags & re.IGNORECASE) and _TELLS_CASES.search(self.pattern) is None

    def _shown(self, text: str, endpos: int | None) -> str | bytes:
        """Return what the expression reads of a text; bytes where each is a character."""
        shown = text if endpos is None else text[:endpos]
        if shown.isascii():
            return (shown.lower() if self._is_small else shown).encode()
        return _small(shown) if self._is_small else encodable(shown)

    def _match(self, found: Any, text: str) -> LinearMatch | None:
        """Return what RE2 found, if anything, as a match in the text as it was given."""
        if found is None:
            return None
        groups = range(self._compiled.groups + 1)
        return LinearMatch(self, text, [found.span(group) for group in groups])

    def search(self, text: str, pos: int = 0, endpos: int | None = None) -> LinearMatch | None:
        """Return the first match at or after ``pos``."""
        return self._match(self._compiled.search(self._shown(text, endpos), pos), text)

    def match(self, text: str, pos: int = 0, endpos: int | None = None) -> LinearMatch | None:
        """Return the match that begins at ``pos``."""
        return self._match(self._compiled.match(self._shown(text, endpos), pos), text)

    def fullmatch(self, text: str, pos: int = 0, endpos: int | None = None) -> LinearMatch | None:
        """Return the match that takes all of the text from ``pos`` on."""
        return self._match(self._compiled.fullmatch(self._shown(text, endpos), pos), text)

    def finditer(self, text: str, pos: int = 0, endpos: int | None = None) -> Iterator[LinearMatch]:
        """Yield the matches, none of which overlap."""
        found = self._compiled.finditer(self._shown(text, endpos), pos)
        yield from filter(None, (self._match(each, text) for each in found))

    def findall(self, text: str) -> list[Any]:
        """Return the texts of all matches, whatever groups the expression has."""
        found = self._compiled.finditer(self._shown(text, None))
        return [text[slice(*match.span())] for match in found]

    def split(self, text: str) -> list[str]:
        """Return what stands between the matches."""
        parts, begin = [], 0
        for match in self.finditer(text):
            parts.append(text[begin : match.start()])
            begin = match.end()
        return [*parts, text[begin:]]

    def sub(self, repl: str | Callable[[LinearMatch], str], text: str) -> str:
        """Return a text with ``repl``, or what it returns, for each match."""
        parts: list[str] = []
        begin = 0
        for match in self.finditer(text):
            new = repl if isinstance(repl, str) else repl(match)
            parts += (text[begin : match.start()], new)
            begin = match.end()
        return "".join([*parts, text[begin:]])


@cache
def engine_options(most_memory: int = 4 << 20, *, cased: bool = True) -> Any:
    """Return how RE2 is to read a pattern, and the bytes that it may take for it."""
    options = re2.Options()
    options.case_sensitive = cased
    options.log_errors = False
    options.max_mem = most_memory
    return options


def _translate(source: str, *, small: bool) -> str:
    """Return an expression as RE2 takes it.

    Args:
        source: the expression.
        small: whether it reads texts in small letters.
    """
    latin = "" if small else _LATIN
    letters = {"w": f"{_ASCII}_{latin}{_OTHERS}", "d": "0-9", "s": _SPACES}

    def element(token: re.Match[str]) -> str:
        if (inside := token["set"]) is not None:
            return _translate_set(inside, letters, latin, small=small)
        if (escape := token["escape"]) is not None:
            if escape.lower() in letters:
                return f"[{'^' * escape.isupper()}{letters[escape.lower()]}]"
            return r"\z" if escape == "Z" else token[0]
        if (flags := token["flags"]) is not None:
            kept = flags.replace("i", "") if small else flags
            return f"(?{kept}{token[0][-1]}" if kept or token[0][-1] == ":" else ""
        return _literal(token, small=small)

    return _TOKEN.sub(element, source)


def _literal(token: re.Match[str], *, small: bool) -> str:
    """Return the character that an element of an expression stands for."""
    if token[0].startswith("(?P<"):
        return token[0]
    code = token["code"] or token["long"]
    sign = chr(int(code, 16)) if code else token[0]
    return sign.translate(_LOWERCASE) if small else sign


def _translate_set(inside: str, letters: Mapping[str, str], latin: str, *, small: bool) -> str:
    r"""Return a set of characters as RE2 takes it; ``[^\W_]`` and its like by their letters."""
    negated, bare = inside.startswith("^"), inside.removeprefix("^")
    if bare.startswith(r"\W"):
        if bare.strip(r"\Wd_"):
            raise PatternError(f"[{inside}] takes letters from letters")
        ascii_ = "A-Za-z" + "0-9" * (r"\d" not in bare) + "_" * ("_" not in bare)
        return f"[{'^' * (not negated)}{ascii_}{latin}{_OTHERS}]"

    def element(token: re.Match[str]) -> str:
        if (escape := token["escape"]) is not None:
            return letters.get(escape, token[0])
        return _literal(token, small=small)

    return f"[{_TOKEN.sub(element, inside)}]"


_FRAGMENT = re.compile(r"\{([a-z\u3040-\u9fff]\w*)\}")

# One character of a set, or as many as there are.
_RUN = re.compile(r"(?:\\[wWdDsS]|\[(?:\\.|[^\]\\])+\])\+?")


class Fragments(Protocol):
    """What the names in a pattern of a data file stand for."""

    def __getitem__(self, name: str, /) -> str:
        """Return the pattern of that name."""
        ...


def compile_pattern(pattern: str | Callable[[], str], flags: int = 0) -> LinearPattern:
    """Return ``pattern`` ready to use; a mistake in it shows at the first use.

    Args:
        pattern: the regular expression, or what returns it when it is first needed.
        flags: as :func:`re.compile` takes them.
    """
    if isinstance(pattern, str) and _RUN.fullmatch(pattern):
        # Never goes back, and is found by :mod:`re` many times faster.
        return cast("LinearPattern", re.compile(pattern, flags))
    return LinearPattern(pattern, flags)


# Makes a pattern that reads a text word by word, for :mod:`re`, which is faster at that. Only for
# patterns that do not backtrack on any text: what they repeat is possessive, or can be followed by
# nothing that it takes itself, and they look around for a fixed length only.
compile_scanner = re.compile


def is_word(sign: str) -> bool:
    """Return whether a character is a letter, a digit or an underscore."""
    return sign.isalnum() or sign == "_"


def stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether no word goes on before or after what stands between two places."""
    return not (start and is_word(text[start - 1])) and not is_word(text[end : end + 1])


def expand(pattern: str, fragments: Fragments) -> str:
    """Return a pattern of a data file as the engine takes it.

    ``{name}`` stands for a fragment; ends of lines, and indentation, for nothing.
    """
    if "\n" in pattern:
        pattern = "".join(line.lstrip() for line in pattern.splitlines())
    return _FRAGMENT.sub(lambda name: fragments[name[1]], pattern)


def any_of(words: Iterable[str]) -> str:
    r"""Return a group that matches any of the words, the longest first; a space is any ``\s+``."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(word.replace(" ", r"\s+") for word in ordered) + ")"


_FOLDER = Path(__file__).parent.parent / "languages"


@cache
def load(code: str, topic: str) -> Mapping[str, Any]:
    """Return the tables of one language on one topic; arrays come as tuples.

    Args:
        code: the language by its ISO 639-1 code, such as ``"en"``.
        topic: the name of the file without its ending, such as ``"dates"``.

    Raises:
        FileNotFoundError: the language has no such file.
    """
    frozen: Mapping[str, Any] = _frozen(tomllib.loads(read_text(code, f"{topic}.toml")))
    return frozen


@cache
def languages_with(topic: str) -> tuple[str, ...]:
    """Return the codes of the languages that have data on a topic, in order."""
    return tuple(sorted(file.parent.name for file in _FOLDER.glob(f"*/{topic}.*")))


def read_text(code: str, name: str) -> str:
    """Return a file of a language as it is."""
    return (_FOLDER / code / name).read_text("utf-8")


@cache
def words_of(topic: str, *codes: str) -> frozenset[str]:
    """Return the words of the plain lists ``<topic>.txt`` of some languages, or of all.

    One without such a list has none. What follows a ``#`` is a comment; an underscore stands for
    the space inside a name.
    """
    found: set[str] = set()
    known = languages_with(topic)
    for code in set(codes or known).intersection(known):
        lines = read_text(code, f"{topic}.txt").splitlines()
        found.update(word for line in lines for word in line.partition("#")[0].split())
    return frozenset(word.replace("_", " ") for word in found)


@cache
def word_list(topic: str, name: str, *codes: str) -> frozenset[str]:
    """Return the words of the arrays of a name in ``<topic>.toml`` of some languages, or of all."""
    files = (load(code, topic) for code in codes or languages_with(topic))
    return frozenset(word for file in files for word in file.get(name, ()))


class LanguageData:
    """The word lists and patterns of one language on one topic, each read when first used.

    In its file, an array is a list of words, a string is a pattern, which may go over several
    lines, and a table maps words to words. ``{name}`` stands for another entry of the file.
    Each pattern is an attribute, ready to use: ``ENGLISH.moved.search(text)``.
    """

    def __init__(
        self,
        code: str,
        topic: str,
        more: Mapping[str, Callable[[], str | Iterable[str]]] | None = None,
        flags: int = re.IGNORECASE,
    ) -> None:
        """Stand for ``languages/<code>/<topic>.toml``, which is not read yet.

        Args:
            code: the language.
            topic: the name of the file.
            more: patterns, or lists of words, from elsewhere that patterns of the file may name.
            flags: how its patterns are read; without regard to case, if not given.
        """
        self._code = code
        self._topic = topic
        self._more = more or {}
        self._flags = flags
        self._sources: dict[str, str] = {}

    def words(self, name: str) -> frozenset[str]:
        """Return the words of a list as a set."""
        return word_list(self._topic, name, self._code)

    def source(self, name: str) -> str:
        """Return a pattern as text; of a list of words, what matches any of them."""
        if name not in self._sources:
            more = self._more.get(name)
            value = load(self._code, self._topic)[name] if more is None else more()
            text = expand(value, self) if isinstance(value, str) else any_of(value)
            self._sources[name] = text
        return self._sources[name]

    __getitem__ = source

    def __getattr__(self, name: str) -> LinearPattern:
        """Return the pattern of that name, which is compiled at its first use, and keep it."""
        if name.startswith("_"):
            raise AttributeError(name)
        found = compile_pattern(lambda: self.source(name), self._flags)
        setattr(self, name, found)
        return found


def _frozen(value: Any) -> Any:
    """Return a value of a file so that nobody who shares it can change it."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(each) for key, each in value.items()})
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    return value

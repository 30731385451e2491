"""What of a text says what was erased, and how it is cut out (law 7).

Texts are compared by their words alone: without case, accents, punctuation, markup and line ends.
What is erased is known by the whole text and by each of its sentences, from five words on: fewer
are said again by chance.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from memoranda.model.models import Image, Message, ToolCall
from memoranda.text.patterns import compile_pattern, compile_scanner
from memoranda.text.recalled import LINE, is_line_of
from memoranda.text.terms import cut_sentences, fold, normalize

# What stands in the place of erased text.
ERASED = "[erased]"
LEAST_WORDS = 5
# Scripts without spaces between words: a sign counts as half a word.
_SIGNS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
UNSPACED = compile_pattern(f"[{_SIGNS}]")
WORD = compile_scanner(f"(?:[^\\W{_SIGNS}]|[\u0300-\u036f])++|\\w")
RECORD_ID = compile_pattern(r"\b(?:fact|ep|ctx|ref|item)_[0-9A-Z]{26}\b")

Words = tuple[str, ...]


class FoldedWord(NamedTuple):
    """A word of a text as it is compared, and where it stands."""

    folded: str
    start: int
    end: int


class ErasedPassage(NamedTuple):
    """A piece of a text that says what was erased.

    Attributes:
        piece: the words of the text itself.
        sources: ids of the records whose text, or a sentence of it, it is.
        recalled: whether memory itself put it there: a line of recall.
        short: whether it has so few words that it may well be said on its own.
    """

    piece: str
    sources: frozenset[str]
    recalled: bool = False
    short: bool = False


def split_words(text: str) -> list[FoldedWord]:
    """Return the words of a text; of a script without spaces, its signs."""
    return [FoldedWord(_folded(word[0]), *word.span()) for word in WORD.finditer(text)]


def _words_of(text: str) -> Words:
    return tuple(word.folded for word in split_words(text))


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else _folded_sign(word)


@lru_cache(maxsize=8192)
def _folded_sign(word: str) -> str:
    """Fold a word beyond ASCII; remembered, because signs come again and again."""
    return fold(normalize(word))


def is_long(words: Iterable[str]) -> bool:
    """Return whether so many words are hardly said twice by chance."""
    length = 0.0
    for word in words:
        length += 0.5 if not word.isascii() and UNSPACED.match(word) else 1
        if length >= LEAST_WORDS:
            return True
    return False


def long_phrases(text: str) -> dict[str, Words]:
    """Return a text and its sentences, as far as they have five words, with these.

    Without what stands before the first word and behind the last.
    """
    found: dict[str, Words] = {}
    for part in dict.fromkeys((text, *cut_sentences(text))):
        words = split_words(part)
        folded = tuple(word.folded for word in words)
        if is_long(folded):
            found[part[words[0].start : words[-1].end]] = folded
    return found


class ErasedTexts:
    """The texts that are erased, by which their copies are found.

    Args:
        contents: id of a record → what it says.
        quoting: those of them whose sentences are of others: they are known by the whole text.
    """

    def __init__(self, contents: Mapping[str, str], *, quoting: Collection[str] = ()) -> None:
        """Look at the words of each text and of its sentences."""
        self._contents, self._quoting = contents, frozenset(quoting)
        self._phrases: dict[str, set[str]] = {}
        self._sources: dict[Words, set[str]] = {}
        for id_, text in contents.items():
            phrases = long_phrases(text) if id_ not in quoting else {}
            self._phrases[id_] = {text, *phrases}
            # The first one is the text itself, as no sentence is longer.
            whole = next(iter(phrases.values()), None) or _words_of(text)
            for words in filter(None, (whole, *phrases.values())):
                self._sources.setdefault(words, set()).add(id_)
        # How long the phrases are that begin with some words, the longest first.
        lengths: defaultdict[Words, set[int]] = defaultdict(set)
        for words in self._sources:
            lengths[words[:LEAST_WORDS]].add(len(words))
        self._lengths = {words: sorted(found)[::-1] for words, found in lengths.items()}
        self._sizes = sorted({len(each) for each in lengths}, reverse=True)

    def phrases(self) -> list[str]:
        """Return the texts, and their sentences from five words on."""
        return list({each for phrases in self._phrases.values() for each in phrases})

    def own_contents(self) -> list[str]:
        """Return the texts, but for those whose sentences are of others."""
        return [text for id_, text in self._contents.items() if id_ not in self._quoting]

    def is_whole(self, text: str) -> bool:
        """Return whether a text says just what one of these does, however short."""
        return _words_of(text) in self._sources

    def is_in(self, text: str) -> bool:
        """Return whether a text holds the words of one of these, however few they are."""
        words = _words_of(text)
        return any(
            words[at : at + len(phrase)] == phrase
            for phrase in self._sources
            for at in range(len(words) - len(phrase) + 1)
        )

    def find(self, text: str) -> list[ErasedPassage]:
        """Return the pieces of a text that say what was erased, in order, none overlapping.

        Lines of recall go whole. Of fewer than five words a piece counts only in a text that
        names the record by its id, as the results of memory's tools do, or says nothing else.
        """
        lines = dict(self._recalled_lines(text))
        named = set(RECORD_ID.findall(text)).intersection(self._contents) if "_" in text else set()
        words = [
            word
            for word in split_words(text)
            if not any(start <= word.start < end for start, end in lines)
        ]
        folded = [word.folded for word in words]
        found: list[ErasedPassage] = []
        at = 0
        while at < len(words):
            phrase = self._phrase_at(folded, at, named)
            if phrase is None:
                at += 1
                continue
            last = at + len(phrase) - 1
            piece = text[words[at].start : words[last].end]
            found.append(ErasedPassage(piece, frozenset(self._sources[phrase])))
            at = last + 1
        if not found and not lines and tuple(folded) in self._sources:
            found.append(ErasedPassage(text, frozenset(self._sources[tuple(folded)]), short=True))
        return [*lines.values(), *found]

    def _phrase_at(self, words: Sequence[str], at: int, named: set[str]) -> Words | None:
        for size in self._sizes:
            for length in self._lengths.get(tuple(words[at : at + size]), ()):
                phrase = tuple(words[at : at + length])
                sources = self._sources.get(phrase)
                if sources and (is_long(phrase) or not named.isdisjoint(sources)):
                    return phrase
        return None

    def _recalled_lines(self, text: str) -> Iterator[tuple[tuple[int, int], ErasedPassage]]:
        if "- [" not in text:
            return
        for line in LINE.finditer(text):
            said = line[1].strip()
            sources = [each for each, told in self._contents.items() if is_line_of(said, told)]
            if sources:
                yield line.span(), ErasedPassage(line[0].strip(), frozenset(sources), recalled=True)


def cut_out(text: str, pieces: Iterable[str]) -> str:
    """Return ``text`` with a mark in the place of each of the pieces, as far as they are words."""
    for piece in sorted(set(pieces), key=len, reverse=True):
        start, kept = 0, []
        while (at := text.find(piece, start)) >= 0:
            end = at + len(piece)
            parts_word = (piece[:1].isalnum() and text[at - 1 : at].isalnum() and at > 0) or (
                piece[-1:].isalnum() and text[end : end + 1].isalnum()
            )
            apart = not parts_word or UNSPACED.match(piece) is not None
            kept += [text[start:at], ERASED if apart else piece]
            start = end
        text = "".join([*kept, text[start:]])
    return text


def says_nothing(text: str) -> bool:
    """Return whether nothing but marks of erased text is left of a text."""
    return not WORD.search(text.replace(ERASED, ""))


def texts_of(message: Message) -> Iterator[str]:
    """Yield every text in a message: also of its calls and of what a provider gave."""
    yield message.content
    if message.task:
        yield message.task
    for call in message.tool_calls:
        yield from _strings(_parsed(call.arguments))
    for image in message.images:
        yield image.url
    if message.raw is not None:
        yield from _strings(message.raw)


def cut_message(message: Message, pieces: Sequence[str]) -> Message:
    """Return a message without the pieces, wherever they stand in it.

    Reasoning that a provider signed goes whole: changed, it would be refused.
    """

    def cut(text: str) -> str:
        return cut_out(text, pieces)

    calls = (replace(each, arguments=_cut_json(each, cut)) for each in message.tool_calls)
    images = (Image(cut(each.url), each.detail) for each in message.images)
    return replace(
        message,
        content=cut(message.content),
        task=message.task and cut(message.task),
        tool_calls=tuple(calls),
        images=tuple(images),
        raw=None if message.raw is None else map_texts(message.raw, cut),
    )


def _cut_json(call: ToolCall, cut: Callable[[str], str]) -> str:
    value = _parsed(call.arguments)
    changed = map_texts(value, cut)
    if changed == value:
        return call.arguments
    return changed if isinstance(value, str) else json.dumps(changed, ensure_ascii=False)


def _parsed(arguments: str) -> Any:
    """Return the value that JSON tells; the text itself, where it is none."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
            if value[:1] in "{[" and not isinstance(parsed := _parsed(value), str):
                yield from _strings(parsed)  # Arguments of a call, as a provider sends them.
        case Mapping():
            for name, each in value.items():
                yield str(name)
                yield from _strings(each)
        case list() | tuple():
            for each in value:
                yield from _strings(each)


def map_texts(value: Any, cut: Callable[[str], str]) -> Any:
    """Return a JSON value with each of its texts cut; signed reasoning that changes goes whole."""
    match value:
        case str():
            parsed = _parsed(value) if value[:1] in "{[" else value
            if isinstance(parsed, str):
                return cut(value)
            changed = map_texts(parsed, cut)
            return value if changed == parsed else json.dumps(changed, ensure_ascii=False)
        case Mapping():
            return {cut(str(name)): map_texts(each, cut) for name, each in value.items()}
        case list() | tuple():
            changed = [(each, map_texts(each, cut)) for each in value]
            return [new for old, new in changed if new == old or not _is_signed(old)]
    return value


def _is_signed(part: Any) -> bool:
    return isinstance(part, Mapping) and bool(part.get("signature"))

"""Small talk: sentences that greet, thank, agree, wish or ask, and state nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from memoranda.text.patterns import compile_pattern, word_list
from memoranda.text.sentences import split_sentences

_SAID = partial(word_list, "small_talk")
_WORD = compile_pattern(r"[^\W_]+(?:['’-][^\W_]+)*")
_ASKS = ("?", "\uff1f", "\u061f")
_EXCLAIMS = ("!", "\uff01")
# Between clauses, one of which may state something.
_CLAUSES = compile_pattern("[,;:\u2013\u2014\u3001\uff0c]")
# Around a sentence.
_EDGE = " \t\n\"'”’»)]*_"
# Characters of a text that can be small talk alone; what is longer is about something.
LONGEST = 200
# Words of an exclamation that states nothing, whatever they are: "It's choir night!"
FEW = 3
# Words of an exclamation that begins as small talk does: "Happy birthday to the two of you!"
MOST = 12


def is_small_talk(text: str) -> bool:
    """Return whether a text only greets, thanks or agrees: memory has nothing to say to it."""
    return _is_empty_talk(_words(text))


@lru_cache(maxsize=4_096)  # A search looks at the same turns again and again.
def states_nothing(text: str) -> bool:
    """Return whether a text is made of questions and small talk alone."""
    if len(text) > LONGEST:
        return False
    sentences = (text[each.start : each.end].strip(_EDGE) for each in split_sentences(text))
    return bool(text.strip()) and all(map(_is_empty, filter(None, sentences)))


def _is_empty_talk(words: Sequence[str]) -> bool:
    return bool(words) and _SAID("words").issuperset(words)


def _is_empty(sentence: str) -> bool:
    words = _words(sentence)
    if _is_empty_talk(words):
        return True
    if sentence.endswith(_ASKS):
        return not (words and _CLAUSES.search(sentence)) or words[0] in _SAID("asking")
    if not sentence.endswith(_EXCLAIMS) or any(map(str.isdigit, sentence)):
        return False
    plain = sentence.casefold().replace("'", "’")
    return len(words) <= FEW or (len(words) <= MOST and plain.startswith(tuple(_SAID("openers"))))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("'", "’"))

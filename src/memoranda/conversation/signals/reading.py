"""What the words of a message say: the cues in it, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.conversation.signals.lexicon import Cue, Lexicon
from memoranda.conversation.signals.phrasebook import lexicons
from memoranda.conversation.signals.wording import END, prose, sentences

# As plain numbers: these are asked for at every word.
_LEAD, _CASUAL, _REFERENCE = Cue.LEAD.value, Cue.CASUAL.value, Cue.REFERENCE.value
_ERROR, _COMPLETION, _OPENING = Cue.ERROR.value, Cue.COMPLETION.value, Cue.OPENING.value
_REQUEST, _UNASKED = Cue.REQUEST.value, Cue.RULE.value | Cue.IMPERATIVE.value
_HAPPENED = _ERROR | _COMPLETION
_COVERED = Cue.CASUAL.value | Cue.FILLER.value
_WHOLE = _COVERED | _REFERENCE | _COMPLETION  # nothing is looked for inside these alone
_OPEN = _REQUEST | _UNASKED | _ERROR | Cue.CORRECTION.value | _OPENING
_BEFORE_SENTENCE = _LEAD | _CASUAL | _COMPLETION | _OPENING
_IF, _EITHER = Cue.IF.value, Cue.IF.value | Cue.WHEN.value


@dataclass(slots=True)
class Words:
    """What was found in the words of a message.

    Attributes:
        cues: all cues in it, as the sum of their values.
        references: how often it refers to what was said before.
        substance: how many words belong neither to small talk nor to what may go with it.
    """

    cues: int = 0
    references: int = 0
    substance: int = 0


def read(text: str, role: str) -> Words:
    """Return the cues in what ``role`` (``user`` or ``assistant``) said."""
    book = lexicons()[role]
    doubts = _IF if role == "user" else _EITHER
    found = Words()
    for words, asks in sentences(prose(text)):
        cues = _sentence(words, book, doubts, found)
        if asks:
            cues &= ~(_COMPLETION if cues & _REQUEST else _COMPLETION | _UNASKED)
        found.cues |= cues
    return found


def _sentence(words: Sequence[str], book: Lexicon, doubts: int, found: Words) -> int:
    """Return the cues of a sentence. ``doubts`` are those after which an error did not happen."""
    at, cues, last, first, before, opened = 0, 0, 0, True, found.substance, 0
    while at < len(words) - 1:
        end, here = book.match(words, at, first=first)
        if not here:
            if words[at] == ",":
                first = first or found.substance == before or at in {opened - 1, opened}
            else:
                found.substance += not (last & _CASUAL and _is_name(words, at))
                first = False
            last, at = 0, max(end, at + 1)
            continue
        if here & _HAPPENED:
            here &= ~(_ERROR if cues & doubts else 0) & ~(_COMPLETION if cues & _EITHER else 0)
        found.references += bool(here & _REFERENCE)
        found.substance += not here & _COVERED
        cues |= here
        if here & _OPENING:
            opened = end
        last, at = here, end if here & _WHOLE and not here & _OPEN else at + 1
        first = bool(
            (first and here & _BEFORE_SENTENCE) or (here & _REFERENCE and words[at] == ",")
        )
    return cues


def _is_name(words: Sequence[str], at: int) -> bool:
    """Return whether a word can be the name of who is greeted or thanked: "Hi Ana", "thanks Bo"."""
    return words[at].isalpha() and words[at + 1] in {",", END}

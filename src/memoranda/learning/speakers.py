"""Who speaks in a message: by the label of a chat bridge, "Bob: …" or "[Bob] …", or its owner.

What was pasted is nobody's: minutes, logs and exports of chats, quoted e-mails. A label that is
not known to be a name is believed where the conversation repeats it, or a bridge's brackets stand
around it; else what it says is nobody's, too. Everyday words are no names: "Note: …", "Update: …".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from memoranda.entities.marks import names
from memoranda.entities.rules import is_given_name, is_no_name
from memoranda.facts.requests import asks_to_keep
from memoranda.learning.claims import Turn
from memoranda.text.patterns import LanguageData, LinearMatch

_FORMS = LanguageData("mul", "speakers", flags=0)
_CODE = LanguageData("mul", "prose", flags=0).code_block
_MAYBE, _SURE = 1, 2
USER = "user"


def name_speakers(
    turns: Sequence[Turn], is_owner: Callable[[str], bool] = lambda _: False
) -> list[Turn]:
    """Return turns with who speaks in them, and without labels and what is pasted.

    Args:
        turns: of one conversation; those of the role ``user`` are looked at.
        is_owner: tells the names of the user.
    """
    labels = SpeakerLabels(each.text for each in turns if each.speaker == USER)
    named = []
    for turn in turns:
        split = labels.split(turn.text) if turn.speaker == USER else (None, turn.text)
        speaker = split[0] or turn.speaker
        named.append(replace(turn, speaker=USER if is_owner(speaker) else speaker, text=split[1]))
    return named


class SpeakerLabels:
    """The labels before the messages of a conversation."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Count the labels with which the messages ``texts`` begin."""
        begun = (_FORMS.labelled.match(text) for text in texts)
        self._count = Counter(_label(found).casefold() for found in begun if found)

    def split(self, text: str) -> tuple[str | None, str]:
        """Return who speaks in a message, if it says so, and their words without the label.

        What is pasted, and all that follows it, is no one's words and left out.
        """
        shown = _CODE.sub(lambda found: "\n" * len(found[0]), text)
        found = {
            name: list(getattr(_FORMS, name).finditer(shown))
            for name in ("labelled", "headed", "mail")
        }
        labels = [each for each in found["labelled"] + found["headed"] if self._weigh(each)]
        pasted = labels + found["mail"]
        if not pasted:
            return None, text
        first = min(pasted, key=LinearMatch.start)
        said = text[first.end() :]
        if pasted == labels[:1] and first.start() == 0 and not first["stamp"]:
            if self._weigh(first) == _SURE:
                return _label(first), said
            if asks_to_keep(text) and not asks_to_keep(said):
                return None, text  # "Recuerda: …" is a request.
        # What asks something below what is pasted is the user's own again.
        *_, last = text.rstrip().splitlines()
        asks = "?" in last and all(each.start() < len(text) - len(last) for each in pasted)
        return None, text[: first.start()] + ("\n" + last if asks else "")

    def _weigh(self, found: LinearMatch) -> int:
        """Return how sure it is that a label is the name of somebody who speaks; 0 if it is not."""
        label = _label(found)
        words, bracketed = label.split(), found["plain"] is None
        roles = _FORMS.words("roles") | names("person_before")
        if all(word.casefold() in roles or word.isdigit() for word in words):
            return _MAYBE
        if is_given_name(words[0]) and not any(map(str.islower, words[1:])):
            return _SURE
        titled = words[0].lower().rstrip(".") in names("titles")
        if not titled and any(map(is_no_name, words)):
            return 0
        if self._count[label.casefold()] > 1 or (bracketed and label[0].isupper()):
            return _SURE
        written = all(word[0].isupper() or word[0].isdigit() for word in words)
        return _MAYBE if written or (bracketed and found.start() == 0) else 0


def _label(found: LinearMatch) -> str:
    return str(next(filter(None, map(found.get, ("plain", "square", "angle")))))

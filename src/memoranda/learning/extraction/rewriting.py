"""Rewrites first-person statements in the third person: ``I'm`` to ``Ana is``.

A speaker is called by name, or ``the user``. After the first mention their own things are
``their``; only relatives are always said to be whose they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from memoranda.learning.extraction.sentences import MASK
from memoranda.learning.verbs import expand_negation, is_participle, third_person
from memoranda.text.patterns import LanguageData, compile_pattern

_SPACES = compile_pattern(r"\s+")
_SPACE_BEFORE_SIGN = compile_pattern(r"\s+([,.;:!?%)])")
_EN = LanguageData("en", "extraction")


TOKEN = compile_pattern(rf"{MASK}+|[^\W_]+(?:['’_-][^\W_]+)*|[^\w\s]|_")
_NEAR = 3


class ClauseToken(NamedTuple):
    """A word or mark of a clause: as written, in lower case, and where it stands in the clause."""

    text: str
    low: str
    start: int
    end: int


def split_tokens(shown: str) -> list[ClauseToken]:
    """Return the words and marks of ``shown``; what is masked is one word."""
    return [
        ClauseToken(found[0], found[0].lower(), found.start(), found.end())
        for found in TOKEN.finditer(shown)
    ]


@dataclass(frozen=True, slots=True)
class Person:
    """How rewritten sentences name the speaker, and whom ``you`` means.

    Attributes:
        name: ``Caroline``, or ``the user``.
        hearer: whom ``you`` means, where only one can be meant; empty otherwise.
    """

    name: str
    hearer: str = ""

    @property
    def possessive(self) -> str:
        """``Caroline's``, ``the user's``."""
        return f"{self.name}'s"


def rewrite(text: str, shown: str, person: Person, prefix: str = "") -> str:
    """Return the statement ``text`` of ``person`` in the third person: one sentence, not yet dated.

    Args:
        text: a clause as it is written.
        shown: the same, masked.
        person: who says it.
        prefix: what it leaves out: ``I`` or ``I am``.
    """
    if prefix:
        lowered = text[0].lower()
        text, shown = f"{prefix} {lowered}{text[1:]}", f"{prefix} {lowered}{shown[1:]}"
    sentence = _ThirdPersonRewriter(text, split_tokens(shown), person).run()
    return finish_sentence(sentence, keep=not prefix)


def finish_sentence(sentence: str, *, keep: bool = True) -> str:
    """Return ``sentence`` with a capital, single spaces and a full stop."""
    sentence = _SPACES.sub(" ", sentence)
    sentence = _SPACE_BEFORE_SIGN.sub(r"\1", sentence).strip(" ,;:.!-–—…*")
    if sentence.count("(") > sentence.count(")"):
        sentence = sentence[: sentence.rindex("(")].rstrip(" ,;:")
    if not sentence:
        return ""
    first = sentence[0].upper() if keep or sentence[0].islower() else sentence[0]
    return f"{first}{sentence[1:]}."


def lower_first_word(name: str) -> str:
    """Return ``name`` as it stands inside a sentence: ``The deadline`` gets a small letter."""
    word = name.partition(" ")[0]
    return name[:1].lower() + name[1:] if word.lower() in _EN.words("uncapitalized") else name


class _ThirdPersonRewriter:
    """One pass over the words of a clause, with what was seen so far."""

    def __init__(self, text: str, words: list[ClauseToken], person: Person) -> None:
        self.text = text
        self.words = words
        self.low = [word.low for word in words]
        self.person = person
        self.named = False
        self.plural = False
        self.past = _EN.words("frequency").isdisjoint(self.low)
        # Whether the next verb is the speaker's, and must agree.
        self.pending = False
        # Whether the last such verb was in the present and may be followed by ``and …``.
        self.present = False

    def run(self) -> str:
        """Return the clause with every word put into the third person."""
        out: list[str] = []
        end = 0
        for place, word in enumerate(self.words):
            made = self._word(place, word)
            if made:
                out += self.text[end : word.start], made
            elif not out or not out[-1].endswith(" "):
                out.append(" ")
            end = word.end
        return "".join(out) + self.text[end:]

    def _word(self, place: int, word: ClauseToken) -> str:
        head, mark, tail = word.low.partition("'")
        if head in {"i", "we"} and (word.low == head or mark):
            return self._subject(place, head, tail)
        if self.pending:
            return self._verb(word)
        if head in _EN.words("own_pronouns") and (word.low == head or mark):
            return self._own(place, head) + (" is" if tail == "s" else "")
        if self.person.hearer and head in _EN.words("hearer_pronouns"):
            if head in {"your", "yours"}:
                return f"{self.person.hearer}'s"
            verb = {"re": " is", "ve": " has", "ll": " will", "d": " would"}.get(tail, "")
            return f"{self.person.hearer}{verb}"
        return self._other(place, word)

    def _subject(self, place: int, head: str, tail: str) -> str:
        name = self.person.name
        self.named = True
        spoken = any(each.partition("'")[0] in {"i", "we"} for each in self.low[:place])
        self.plural = place > 0 and self.low[place - 1] == "and" and head == "i" and not spoken
        verb = _EN.mapping("joined_verbs").get(tail, "")
        if tail == "d":
            near = self.low[place + 1 : place + 1 + _NEAR]
            after = next((each for each in near if each not in _EN.words("adverbs")), "")
            verb = "had" if is_participle(after) else "would"
        if tail == "s":
            return f"{name}'s"
        self.pending = self.pending or not verb
        return f"{name} {self._agree(verb)}" if verb else name

    def _agree(self, verb: str) -> str:
        if self.plural:
            return {"am": "are"}.get(verb, verb)
        if verb in _EN.words("modals") or verb in {"had", "did"}:
            return verb
        return third_person(verb, past=self.past)

    def _verb(self, word: ClauseToken) -> str:
        """Return a word between the speaker and the verb, or the verb, which then agrees."""
        low, written = word.low, self.text[word.start : word.end]
        if not word.text[0].isalpha():
            self.pending = low in {",", "(", ")"}
            return written
        if low in _EN.words("fillers"):
            return ""
        made = expand_negation(low, third=not self.plural)
        if (low in _EN.words("adverbs") and made is None) or low in {"no", "longer", "last"}:
            return written
        self.pending = False
        if made is None and low not in _EN.mapping("slang_third"):
            made = self._agree(low)
            changed = made != low and not self.plural
            self.present = changed and low not in _EN.words("auxiliaries")
        made = made or _EN.mapping("slang_third")[low]
        return written if made == low else made

    def _own(self, place: int, low: str) -> str:
        """Return a pronoun of the speaker: at the first mention the name, ``their`` after it."""
        if low in {"myself", "ourselves"}:
            return "themselves"
        if low in {"mine", "ours"}:
            return "theirs" if self.named else self.person.possessive
        named, self.named = self.named, True
        if low not in {"my", "our"}:
            return self.person.name
        following = self.low[place + 1 : place + 1 + _NEAR]
        their = named and _EN.words("relatives").isdisjoint(following)
        return "their" if their else self.person.possessive

    def _other(self, place: int, word: ClauseToken) -> str:
        """Return a word that does not speak of the speaker; verbs joined by ``and`` agree."""
        low = word.low
        if self.present and self._continues(place, low):
            return third_person(low, past=False)
        if low in {"to", "can", "will", "by"} or low.endswith("ing"):
            self.present = False
        following = self.low[place + 1] if place + 1 < len(self.low) else ""
        # A mere "a": "this cute pup".
        if low == "this" and following in _EN.words("evaluative"):
            return "an" if following[0] in "aeiou" else "a"
        # "Blue's my favourite", "my sister's in Rome".
        following_own = following in {"my", "our"} and place < _NEAR and low != "it's"
        led = 0 < place < _NEAR + 1 and self.low[0] in {"my", "our"}
        if low.endswith("'s") and (led or following_own):
            written = self.text[word.start : word.end - 2]
            if following in {"had", "been", "got", "gone", "become"}:
                return f"{written} has"
            after = self.low[place + 2] if place + 2 < len(self.low) else ""
            tells = following in _EN.words("articles", "prepositions", "traits", "adverbs")
            if tells or following_own or after in {"about", "into", "on"}:
                return f"{written} is"
        expanded = expand_negation(low, third=False)
        return expanded or _EN.mapping("spoken_forms").get(low, self.text[word.start : word.end])

    def _continues(self, place: int, low: str) -> bool:
        before = self.low[place - 1] if place else ""
        if before in _EN.words("adverbs") and place > 1:
            before = self.low[place - 2]
        verb = low in _EN.words("habits", "likes") and low not in _EN.words("ambiguous_verbs")
        return before in {"and", "or", "but", ","} and verb

"""Reads facts with an attribute in sentences, by the patterns of each language.

A language's file ``facts.toml`` gives for each attribute the forms by which it ``is``, has
``ended`` or is ``denied``, and the sentence in which a fact of it is written down. All forms of a
language are tried in one pass with RE2, in time linear in the text; its README explains how
they are written. Which language a sentence has is decided by whose forms it fits.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import re2

from memoranda.facts.forms import FormFragments, FormSet, compile_form
from memoranda.facts.values import same_value, value_key
from memoranda.text.limits import LONGEST_SENTENCE
from memoranda.text.linear_patterns import encodable
from memoranda.text.patterns import compile_pattern, expand, languages_with, load, words_of

# What stands in a masked sentence for each character of a quotation, an address or code.
MASK = "\ue000"
# Marks of all languages that end a clause, and those that may stand around a value.
_INVERTED = "\u00a1\u00bf"
_ENDS = (
    _INVERTED
    + ",;:.!?~\u2026\u3001\u3002\uff0c\uff01\uff1f\uff1a\uff1b\uff5e\u2013\u2014-()[]\uff08\uff09"
)
_EDGE = _ENDS + " \t\n\"'`*_\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u300c\u300d\u300e\u300f"
_OPENS = frozenset(_EDGE) - {" ", "\t", "'", "_", "\u2019"}
_BREAKS = frozenset(_EDGE) - {"'", "_", "\u2019"}
# Marks that part a sentence before a clause.
# Words of a clause beyond which it need not open with its speaker.
_CLAUSE_WORDS = 2
_MARKS = r"[,;:.!?()\[\]\x{2013}\x{2014}\x{2026}]+|\s-+\s"
# Where a sentence may go on behind a frame.
_AFTER_FRAME = compile_pattern(
    r"(?P<mark>[,;:\u2013\u2014]\s*(?:but |and )?|\s(?:that|dass|que|che|dat)\s)|(?P<space>\s)I\b"
)
_PICTURE = compile_pattern("[\u2600-\u27bf\U0001f1e6-\U0001faff]")
_LAST_LETTER = compile_pattern(r"([^\W\d_])(?:[\W_]|$)")
_ORDINAL = compile_pattern(r"(\d)\. ")
_GROUP = compile_pattern(r"\\(\d)")
# What becomes the attribute of the word for a person, and of what was spoken of last.
RELATION, SAME, INSTRUCTION, NAME = "relation", "same", "instruction", "name"
# That something is over, which is only named: "I quit Lupo", of whatever is known of it.
OVER = "over"
# Letters that stand behind an apostrophe in English: "they're".
_ELIDED = 2
# Places of a sentence without spaces in which one form is tried.
_MOST_MATCHES = 30
# Characters of a value; what is longer is a sentence.
LONGEST = 80
# Words of an answer that leaves out what was asked.
_LONGEST_ANSWER = 9
# Words of an answer that has no verb.
_LONGEST_BARE = 7
# Function words by which one language knows a sentence better than another.
_PLAINLY = 2
IS, WAS, ENDED, DENIED = "is", "was", "ended", "denied"


class Speaker(NamedTuple):
    """How facts name whoever speaks.

    Attributes:
        name: ``Caroline``; empty for the user, whom each language names in its own words.
    """

    name: str = ""


@dataclass(frozen=True, slots=True)
class FactStatement:
    """What a part of a sentence says of an attribute.

    Attributes:
        subject: whom or what it is about: ``user``, ``sister`` (the user's), or a name.
        attribute: its name in the ontology.
        value: the value; ``None`` where only something ended, or is denied.
        ended: the value that ended or is denied; empty for whatever was so.
        content: the sentence in which it is written down.
        start, end: where it was read in the sentence.
        language: whose forms it fits.
        aliases: other names of the subject that the sentence gives: ``wife`` of ``Dana``.
        needs_known: whether it counts only where it ends something that is known: "we lost Rex".
        points: the words by which its subject is only pointed at: ``his lesson``, ``she``. It
            counts where one thing or person alone is known that they can mean.
    """

    subject: str
    attribute: str
    value: str | None
    content: str
    start: int
    end: int
    language: str
    ended: str | None = None
    aliases: tuple[str, ...] = ()
    needs_known: bool = False
    points: str = ""

    @property
    def takes_back(self) -> bool:
        """Whether it says that an instruction holds no more."""
        return self.attribute == INSTRUCTION and self.value is None

    def correct(self, known: FactStatement) -> FactStatement | None:
        """Return this correction as a value of the attribute that ``known`` was about.

        ``None`` where it can be no such value, as one is a number and the other is none.
        """
        content = replace_value(known.content, known.value, self.value)
        if content is None or (self.ended and not same_value(self.ended, known.value or "")):
            return None
        return replace(
            self,
            subject=known.subject,
            attribute=known.attribute,
            aliases=known.aliases,
            content=content,
            ended=None,
        )


def as_over(fact: FactStatement, who: str) -> FactStatement | None:
    """Return what ended as something that is only named, whatever it was; ``None`` if unnamed.

    Args:
        fact: that it ended.
        who: whose it was, as facts call them.
    """
    says = load(fact.language, "facts")["attributes"].get(OVER, {}).get("ends")
    if not says or not fact.ended or fact.attribute == OVER:
        return None
    content = says.format(who=who, value=fact.ended)
    return replace(fact, attribute=OVER, content=content[:1].upper() + content[1:])


def read_instead(sentence: str) -> str:
    """Return a sentence that corrects itself as it should have been: "My boss is Tim"."""
    for code in possible_languages(sentence):
        rows = load(code, "stance").get("instead", {}) if code in languages_with("stance") else {}
        for source, becomes in rows.items():
            found = compile_form(source).search(sentence.replace("'", "\u2019"))
            if found is not None:
                return _fill_groups(becomes, found)
    return sentence


def name_last(sentence: str, known: FactStatement) -> tuple[str, int] | None:
    """Return how a sentence begins that names what a fact told of, and where the rest of it does.

    "I have a cat. The name is Momo." goes on as "My cat's name is Momo" would.
    """
    words = load(known.language, "facts")["words"]
    noun = (known.value or "").rpartition(" ")[2]
    told = noun in language_reader(known.language).relations and known.subject == "user"
    for source, becomes in words.get("naming_last", {}).items() if told else ():
        found = compile_form(source).search(sentence)
        if found is not None:
            return becomes.format(noun=noun), found.end()
    return None


def complete_answer(question: str, answer: str) -> tuple[str, int] | None:
    """Return how an answer begins that leaves out what was asked, and where the rest of it does.

    To "Any allergies?", "Yes, sesame" says what "I'm allergic to sesame" would.
    """
    question, answer = (each.replace("'", "\u2019") for each in (question, answer))
    if len(answer.split()) > _LONGEST_ANSWER:
        return None
    for code in languages_with("facts"):
        words = load(code, "facts")["words"]
        asked = words.get("answers", {}).items()
        lead = next((lead for form, lead in asked if compile_form(form).search(question)), None)
        if lead is not None and not compile_form(words["answers_nothing"]).search(answer):
            opening = compile_form(words["answer_opening"]).search(answer)
            return lead, opening.end() if opening is not None else 0
    return None


def answer_in_full(question: str, answer: str) -> str:
    """Return an answer that names what it was asked of: for "It's clay", "My soil is clay".

    In languages that give ``answers_of``; the answer as it is, where it names that, or nothing.
    """
    question, plain = (each.replace("'", "\u2019") for each in (question, answer))
    if not question or complete_answer(question, answer) is not None:
        return answer
    for code in languages_with("facts"):
        words = load(code, "facts")["words"]
        for form, lead in words.get("answers_of", {}).items():
            found = compile_form(form).search(question)
            noun = (found.groupdict().get("noun") or "").casefold() if found else ""
            if found is None or noun.rpartition(" ")[2] in words["answers_of_none"]:
                continue
            lead = lead.format(noun=noun, be=words["be"][_ends_as_many(noun)])  # noqa: PLW2901
            pointing = compile_form(words["answer_pointing"]).search(plain)
            if pointing is not None:
                return f"{lead}{answer[pointing.end() :]}"
            short = len(plain.split()) <= _LONGEST_BARE and "." not in plain.rstrip(". !")
            if short and not compile_form(words["answers_nothing"]).search(plain):
                return f"{lead}{answer[:1].lower()}{answer[1:]}"
    return answer


def _ends_as_many(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith("ss")


def replace_value(content: str, old: str | None, new: str | None) -> str | None:
    """Return the sentence of a fact with another value; ``None`` where that makes no sense."""
    if not old or not new or old not in content:
        return None
    digits = [any(map(str.isdigit, each)) for each in (old, new)]
    return content.replace(old, new) if digits[0] == digits[1] else None


def read_facts(
    sentence: str, said: str | None = None, *, speaker: Speaker | None = None
) -> list[FactStatement]:
    """Return what a sentence states of known attributes, in the order of its words.

    Args:
        sentence: one sentence, masked where no rule may read.
        said: the same as it is written, as long; ``sentence``, if not given.
        speaker: who says it.
    """
    sentence = mask_halves(sentence.replace("'", "\u2019"))
    # An emoji ends a clause as a comma does.
    sentence = _PICTURE.sub(",", sentence)
    found: dict[str, list[FactStatement]] = {}
    words = _words(sentence)
    known = {code: known_words(code, words) for code in languages_with("facts")}
    for code in _languages_of(sentence, known):
        signs = _signs(code)
        if signs is not None and signs.isdisjoint(words):
            continue
        read = list(language_reader(code).read(sentence, said or sentence, speaker or Speaker()))
        if read:
            found[code] = read
    best = max(found, key=lambda code: (known[code], len(found[code])), default=None)
    return [] if best is None else found[best]


def possible_languages(sentence: str) -> list[str]:
    """Return the languages that a sentence may be in, by its words: all, where none knows any."""
    sentence = mask_halves(sentence.replace("'", "\u2019"))
    words = _words(sentence)
    known = {code: known_words(code, words) for code in languages_with("facts")}
    unknown = not any(known.values())
    return [
        code
        for code in _languages_of(sentence, known)
        if known[code] or unknown or (signs := _signs(code)) is None or not signs.isdisjoint(words)
    ]


def likely_language(sentence: str) -> str:
    """Return the code of the language that knows most words of a sentence; English, if none."""
    words = _words(sentence.replace("'", "\u2019"))
    codes = ["en", *(code for code in possible_languages(sentence) if code != "en")]
    return max(codes, key=lambda code: (known_words(code, words), _is_of_script(code, sentence)))


def _is_of_script(code: str, sentence: str) -> bool:
    script = _script(code)
    return script is not None and script.search(sentence) is not None


def _languages_of(sentence: str, known: Mapping[str, int]) -> list[str]:
    """Return the languages of a sentence with so many function words that each knows."""
    least = max(known.values()) - _PLAINLY
    return [
        code
        for code in known
        # A sentence that is plainly in another language only looks like one of this.
        if known[code] > least and ((script := _script(code)) is None or script.search(sentence))
    ]


@lru_cache(maxsize=4096)
def read_written_facts(sentence: str, speaker: Speaker | None = None) -> tuple[FactStatement, ...]:
    """Return what a sentence of the third person states, as facts and notes are written.

    "The user lives in Delft" is read as "I live in Delft" is when the user says it, and "Lives
    in Delft", as many programs keep their notes, as if it named them.

    Args:
        sentence: one sentence, such as a model, a program or a person wrote it down.
        speaker: who is meant where it names them; the user, if not given.
    """
    speaker = speaker or Speaker()
    sentence = sentence[:LONGEST_SENTENCE]
    for code in possible_languages(sentence):
        told = _tell_in_first_person(sentence.replace("'", "\u2019"), code, speaker)
        found = read_facts(told, speaker=speaker) if told else []
        if found:
            break
    else:
        found = read_facts(sentence, speaker=speaker) or _read_without_subject(sentence, speaker)
    return tuple(each for each in found if each.attribute != SAME)


def _read_without_subject(sentence: str, speaker: Speaker) -> list[FactStatement]:
    for code in possible_languages(sentence):
        words = load(code, "facts")["words"]
        if "note" in words and compile_form(words["note"]).search(sentence):
            who = speaker.name or words["user"]
            return [*read_written_facts(f"{who} {sentence[0].lower()}{sentence[1:]}", speaker)]
    return []


def _tell_in_first_person(sentence: str, code: str, speaker: Speaker) -> str:
    """Return a sentence as whoever it is about would say it; empty where it is about others."""
    words = load(code, "facts")["words"]
    who = (speaker.name or words["user"]).replace("'", "\u2019")
    if who.rpartition(" ")[2].casefold() not in sentence.casefold():
        return ""
    names = {"who": re2.escape(who), "letters": load(code, "facts")["fragments"]["letters"]}
    for source, becomes in words.get("in_first_person", {}).items():
        form = compile_form(expand(source, names))
        sentence = form.sub(lambda found, told=becomes: _fill_groups(told, found), sentence).strip()
    return sentence


def address_user(sentence: str) -> str:
    """Return the sentence of a fact as it is said to the user it is about, without a full stop.

    "The user's sister lives in Delft." becomes "your sister lives in Delft". Empty in a language
    that does not tell how, and where the sentence is about nobody that it names. What is quoted
    stays as it was said, without who that was: `“I swim on Mondays.” (10 March 2026)`.
    """
    said, mark, by = sentence.rstrip(".").rpartition("\u201d (")
    if mark and sentence.startswith("\u201c"):
        users = {load(each, "facts")["words"]["user"] for each in languages_with("facts")}
        who, _, when = by.partition(", ")
        return f"{said}{mark}{when if who in users else by}"
    code = next((each for each in possible_languages(sentence) if each in _addressing()), "")
    if not code:
        return ""
    words = load(code, "facts")["words"]
    sentence = sentence.replace("'", "\u2019").rstrip(".")
    told = _tell_in_first_person(sentence, code, Speaker()) or sentence
    for source, becomes in words["in_second_person"].items():
        told = compile_form(source).sub(lambda found, told=becomes: _fill_groups(told, found), told)
    return told.replace("\u2019", "'")


@cache
def _addressing() -> frozenset[str]:
    """Return the languages that tell how a sentence is said to whom it is about."""
    codes = languages_with("facts")
    return frozenset(each for each in codes if "in_second_person" in load(each, "facts")["words"])


def _fill_groups(template: str, found: Any) -> str:
    """Return a replacement with what a form captured: RE2's own takes only ASCII."""
    return _GROUP.sub(lambda group: found[int(group[1])] or "", template)


def _words(sentence: str) -> frozenset[str]:
    """Return the words of a sentence in small letters, with the parts of ``j'habite``."""
    found = {word.strip(_EDGE) for word in sentence.lower().replace("-", " ").split()}
    for word in tuple(found):
        head, mark, rest = word.partition("\u2019")
        # What is as short as the "s" of "it's" tells no language.
        found |= {head, rest} if mark and len(rest) > _ELIDED else {head}
    return frozenset(found)


def mask_halves(text: str) -> str:
    """Return a text without halves of characters, which are no text, and which RE2 cannot read."""
    return encodable(text)


@cache
def _signs(code: str) -> frozenset[str] | None:
    """Return the words of which a sentence of a language has one; ``None`` if any may be.

    They spare the others the compiling of its forms: where nobody writes German, none are.
    """
    own = load(code, "facts")["words"].get("signs")
    if own is None:
        return None
    return words_of("function_words", code).union(own) - words_of("function_words", "en")


def find_text_request(text: str) -> int | None:
    """Return where a text asks to work on another text, which follows; ``None`` if nowhere.

    Of the languages whose file tells it: "traduce esto al inglés: …".
    """
    text = mask_halves(text.replace("'", "\u2019"))
    starts = []
    for code in languages_with("facts"):
        form = load(code, "facts")["words"].get("text_request")
        reader = language_reader(code) if form else None
        found = reader and compile_form(expand(form, reader)).search(reader.fold(text))
        if found:
            starts.append(found.span(0)[0])
    return min(starts, default=None)


def is_unreal(sentence: str) -> bool:
    """Return whether a sentence tells of a dream, a story or a game, or of the next minutes."""
    return _any_holds("unreal", sentence)


def is_momentary(clause: str) -> bool:
    """Return whether a clause only tells of the moment or the day: a meal, the weather, a mood."""
    return _any_holds("momentary", clause)


def _any_holds(name: str, text: str) -> bool:
    """Return whether a text holds what a pattern of ``words`` finds, of any language with it."""
    text = mask_halves(text.replace("'", "\u2019"))
    return any(
        language_reader(code).holds(name, text)
        for code in languages_with("facts")
        if name in load(code, "facts")["words"]
    )


def tells_by_asking(sentence: str) -> bool:
    """Return whether a question only asks if somebody knows what it tells: ``sai che …?``."""
    sentence = mask_halves(sentence.replace("'", "\u2019"))
    forms = (load(code, "facts")["words"].get("telling") for code in languages_with("facts"))
    return any(form and compile_form(form).match(sentence) for form in forms)


@cache
def _script(code: str) -> Any:
    """Return the letters of which a sentence of the language has one; ``None`` if any will do."""
    own = load(code, "facts")["words"].get("script")
    return None if own is None else compile_form(own)


def known_words(code: str, words: frozenset[str]) -> int:
    """Return how many function words of a language are among some words in small letters."""
    if code not in languages_with("function_words"):
        return 0
    return len(words & words_of("function_words", code))


class _FactForm(NamedTuple):
    """One form of an attribute: the pattern, what it tells, and the sentence for it."""

    attribute: str
    tells: str
    source: str
    says: str
    many: bool
    anywhere: bool
    never: frozenset[str]
    never_first: frozenset[str]
    known: bool
    fallback: bool
    beside: bool
    fixed: str
    kind: str


@cache
def language_reader(code: str) -> LanguageReader:
    """Return the forms of a language, compiled at the first sentence."""
    return LanguageReader(code)


class LanguageReader:
    """The forms of one language, compiled once."""

    def __init__(self, code: str) -> None:
        """Take the forms of ``languages/<code>/facts.toml``; none is compiled yet."""
        self._code = code
        table = load(code, "facts")
        stance = load(code, "stance") if code in languages_with("stance") else {}
        self._words: dict[str, Any] = {**table["words"], **stance}
        self._folds = _folds(self._words.get("folds", ""), self._words.get("variants", ""))
        self._patterns: dict[str, Any] = {}
        self._relations: dict[str, str] = {}
        # How facts write a noun: with its article and capital, where the file gives them.
        self._nouns: dict[str, str] = {}
        for attribute, nouns in table["relations"].items():
            for written in nouns:
                first, _, bare = written.partition(" ")
                bare = bare if first in self._words.get("articles", ()) else written
                self._relations[bare.lower().translate(self._folds)] = attribute
                self._nouns[bare.lower().translate(self._folds)] = written
        names = (self._words.get(each, ()) for each in ("unclear", "openings", "no_names"))
        self._pronouns = {word for words in names for word in words}
        self._openings = frozenset(self._words["openings"])

    @cached_property
    def _forms(self) -> tuple[FormSet, Sequence[_FactForm]]:
        """The forms, and in their order what they tell; made for the first sentence."""
        rules = [
            self._rule(name.partition("__")[0], tells, form, rows)
            for name, rows in load(self._code, "facts")["attributes"].items()
            for tells in (IS, WAS, ENDED, DENIED)
            for form in rows.get(tells, ())
        ]
        return FormSet((rule.source for rule in rules), self.fragments), rules

    def __getitem__(self, name: str) -> str:
        """Return a fragment of the file, for the braces in its forms."""
        return self.fragments[name]

    @cached_property
    def fragments(self) -> FormFragments:
        """What the names in the braces of forms stand for."""
        return FormFragments(self._fragment)

    def _fragment(self, name: str) -> str:
        """Return a fragment as the file gives it."""
        first, *wanted = name.split("_")
        if first == RELATION:
            nouns = (each for each, of in self._relations.items() if not wanted or of in wanted)
            return "(?:" + "|".join(sorted(nouns, key=len, reverse=True)) + ")"
        value = load(self._code, "facts")["fragments"][name]
        return value if isinstance(value, str) else "(?:" + "|".join(value) + ")"

    def _word_list(self, words: Sequence[str]) -> frozenset[str]:
        """Return words, with those of a named list for its name in braces."""
        named = (self._words[each[1:-1]] if each[:1] == "{" else [each] for each in words)
        return frozenset(itertools.chain.from_iterable(named))

    def _rule(self, attribute: str, tells: str, form: str, rows: Any) -> _FactForm:
        fixed, _, source = form.rpartition(" <- ")
        says = rows.get({IS: "says", ENDED: "ends", DENIED: "denies"}.get(tells, ""), "")
        many, anywhere, known, fallback, beside = (
            bool(rows.get(name, False))
            for name in ("list", "anywhere", "known", "fallback", "beside")
        )
        never, first = (self._word_list(rows.get(name, ())) for name in ("never", "never_first"))
        if self.unspaced:
            never = frozenset(key for each in never for key in value_key(each))
        return _FactForm(
            attribute=attribute,
            tells=tells,
            source=source,
            says=says,
            many=many,
            anywhere=anywhere,
            never=never,
            never_first=first,
            known=known,
            fallback=fallback,
            beside=beside,
            fixed=fixed,
            kind=rows.get("kind", ""),
        )

    def read(self, sentence: str, said: str, speaker: Speaker) -> Iterator[FactStatement]:
        """Yield what ``sentence`` states; of two readings that overlap, the first of the file."""
        sentence = self.fold(sentence)
        taken: list[tuple[int, int, str, bool]] = []
        found: list[FactStatement] = []
        forms, rules = self._forms
        for place, form in forms.find(sentence):
            rule = rules[place]
            for match in self._matches(form, sentence):
                start, end = match.span(0)
                clash = not rule.beside and any(
                    start < last
                    and first < end
                    and (name == rule.attribute or (told and rule.fallback))
                    for first, last, name, told in taken
                )
                may_open = self._opens_unspaced if self.unspaced else self._opens
                opens = rule.anywhere or may_open(sentence, match)
                if clash or not opens or self._is_doubtful(sentence, match):
                    continue
                made = [] if rule.tells == WAS else self._statements(rule, match, said, speaker)
                read = list(made)
                if self._is_unclear(match.groupdict().get("thing") or ""):
                    continue
                # What one attribute cannot be, another may: "choir has moved to Thursdays".
                taken.append((start, end, rule.attribute, bool(read) or rule.tells == WAS))
                found += read
        once = {
            (each.subject, each.attribute, each.value, each.ended): each for each in found[::-1]
        }
        return iter(sorted(once.values(), key=lambda each: each.start))

    def _tries(self, form: Any, sentence: str) -> Iterator[Any]:
        """Yield where a form fits.

        Without spaces a form is also found in the middle of a word or clause, where it may hide
        one that begins in time; so the search goes on inside, some times.
        """
        if not self.unspaced:
            yield from form.finditer(sentence)
            return
        begin = 0
        for _ in range(_MOST_MATCHES):
            match = form.search(sentence, begin)
            if match is None:
                return
            yield match
            start, end = match.span(0)
            begin = max(end, start + 1) if self._begins(sentence[:start]) else start + 1

    @property
    def relations(self) -> Mapping[str, str]:
        """The words for people and animals, each with its attribute."""
        return self._relations

    @property
    def openings(self) -> Sequence[str]:
        """The words after which a clause may begin."""
        openings: Sequence[str] = self._words["openings"]
        return openings

    @property
    def joins(self) -> Sequence[str]:
        """The words between two clauses that are both asserted."""
        joins: Sequence[str] = self._words.get("joins", ())
        return joins

    @property
    def unspaced(self) -> bool:
        """Whether the language does not part its words by spaces."""
        return bool(self._words.get("unspaced"))

    def fold(self, sentence: str) -> str:
        """Return a sentence, as long, without the accents that do not count.

        Letters of ``keeps`` keep theirs where they are a word, ``è`` is no ``e``, and those of
        ``keeps_last`` at the end of one: ``trabajó`` is no ``trabajo``.
        """
        folded = sentence.translate(self._folds)
        alone, last = (self._words.get(name, "") for name in ("keeps", "keeps_last"))
        for found in _LAST_LETTER.finditer(sentence) if folded != sentence else ():
            start, end = found.span(1)
            lone = not sentence[start - 1 : start].isalnum()
            if found[1].lower() in (alone if lone else last):
                folded = folded[:start] + found[1] + folded[end:]
        return folded

    def may_open(self, sentence: str, start: int) -> bool:
        """Return whether an order or a request may begin at ``start``: there begins a clause."""
        if self.unspaced:
            return self._begins(sentence[:start])
        before = sentence[:start].rstrip()
        if not before or before[-1] in _OPENS:
            return True
        return before.rsplit(None, 1)[-1].casefold().strip(_EDGE) in self.openings

    def _matches(self, form: Any, sentence: str) -> Iterator[Any]:
        """Yield where a form fits, without the words that only lead to a name: "FYI Ana"."""
        for match in self._tries(form, sentence):
            named = match.groupdict().get("named") or ""
            begin = match.span(match.re.groupindex["named"])[0] if named else 0
            while named.partition(" ")[0].casefold() in self._openings and " " in named:
                first, _, named = named.partition(" ")
                begin += len(first) + 1
            cut = begin and named != match.groupdict().get("named")
            yield (form.match(sentence, begin) or match) if cut else match

    def _opens(self, sentence: str, match: Any) -> bool:
        """Return whether a clause that its speaker asserts begins where a form begins."""
        start, named = match.span(0)[0], match.groupdict()
        before = sentence[:start].rstrip()
        if named.get("bare") is not None and not self._may_leave_out(before):
            return False
        other = (named.get("named") or "").casefold().split(" ")[0].partition("\u2019")[0]
        words = set((named.get("named") or "").casefold().replace("\u2019", " ").split())
        if (other and other in self._pronouns) or not words.isdisjoint(self._words.get("own", ())):
            return False
        within = len(before) == start and before[-1:].isalnum() and sentence[start].isalnum()
        # What goes on over a sentence's end is asserted in the second one.
        return not within and ("; " in match.group(0) or self.leaves_asserted(before))

    def leaves_asserted(self, before: str) -> bool:
        """Return whether what stands before a clause leaves it a statement of its speaker.

        Only words that lead, a time, a frame such as "I already told you that", and whole clauses
        of the speaker's own do: what is denied, doubted or reported is none of these.
        """
        if "that" not in self._words:
            return self._begins(before)
        plain = _ORDINAL.sub(r"\1 ", before.rstrip())
        joined = compile_form(self._words["that"]).sub(r" \1", plain)
        *whole, last = compile_form(self._parting).split(joined)
        return all(map(self._leads, whole)) and (not last.strip() or self._leads(last, joins=True))

    @cached_property
    def _parting(self) -> str:
        """What parts a sentence before a clause: a mark, or a joining word."""
        return _MARKS + r"|(?:^|\s)(?:" + "|".join(self._words["joins"]) + r")(?:\s|$)"

    def skip_frames(self, sentence: str) -> str:
        """Return a sentence without frames that lead into it: "I forgot to say that …"."""
        while "frames" in self._words:
            cuts = [
                (each.start(), max(each.end("mark"), each.end("space")))
                for each in _AFTER_FRAME.finditer(sentence)
            ]
            end = next((last for first, last in cuts if self._is_frame(sentence[:first])), 0)
            if not end:
                break
            sentence = sentence[end:]
        return sentence

    def _is_frame(self, segment: str) -> bool:
        return self.holds("frames", " ".join(_bare_words(segment)))

    def _leads(self, segment: str, *, joins: bool = False) -> bool:
        """Return whether a part of a sentence may stand before a clause that is asserted.

        Args:
            segment: the part.
            joins: whether nothing parts it from the clause: then it must only lead into that.
        """
        if self._is_frame(segment):
            return True
        words = _bare_words(segment)
        if self.holds("doubt", segment) or not self._reports.isdisjoint(words):
            return False
        timed = self.holds("times", " ".join(words))
        if words[:1] and words[0] in self._words["adjuncts"] and timed:
            return True
        while words and words[0] in self._openings:
            words.pop(0)
        if not words:
            return True
        if words[0] in self._words["adjuncts"]:
            return timed or words[0] in self._words["subordinating"]
        first = words[0].partition("\u2019")[0]
        own = first in self._subjects or segment.strip(_EDGE)[:1].isupper()
        return not joins and len(words) > (1 if own else _CLAUSE_WORDS)

    @cached_property
    def _reports(self) -> frozenset[str]:
        return frozenset(self._words["reports"])

    @cached_property
    def _subjects(self) -> frozenset[str]:
        lists = ("own", "first_person", "small_words", "starting", "subjects")
        return frozenset(word for name in lists for word in self._words.get(name, ()))

    def _opens_unspaced(self, sentence: str, match: Any) -> bool:
        """Return the same in a script without spaces."""
        before, named = sentence[: match.span(0)[0]], match.groupdict()
        if self._plain(named.get("person") or "") in self._relations:
            return False  # "My friend's sister" is no sister of the user.
        return self._begins(before) and (named.get("bare") is None or not self._other(before))

    def _begins(self, before: str) -> bool:
        """Return whether a clause may begin after ``before``, in a script without spaces."""
        return not before or before[-1] in _BREAKS or before.endswith(tuple(self.openings))

    def _other(self, before: str) -> bool:
        """Return whether the clauses before one without subject are about somebody else."""
        told = {
            name: max((found.end() for found in compile_form(form).finditer(before)), default=-1)
            for name in ("others", "speaking")
            if (form := expand(self._words[name], self))
        }
        return told["others"] > told["speaking"]

    def _may_leave_out(self, before: str) -> bool:
        """Return whether a clause after ``before`` may leave out ``I``.

        It may where it opens the sentence, or where the one before it has that subject.
        """
        words = [word.casefold().strip(_EDGE) for word in before.split()]
        plain = {word.partition("\u2019")[0] for word in words}
        # "The van died, got a used Yaris": what is told of a thing goes on with who has it.
        if before[-1:] in _OPENS and words[:1] and words[0] in self._words.get("of_things", ()):
            return True
        joined = before[-1:] in _OPENS or (words[-1:] and words[-1] in self._words["joining"])
        told = [word for word in words if word and word not in self._openings]
        without = bool(told) and told[0] in self._words.get("starting", ())
        if joined and (without or not plain.isdisjoint(self._words.get("own", ()))):
            return True
        return not told

    def _is_doubtful(self, sentence: str, match: Any) -> bool:
        """Return whether what surrounds a reading supposes, wishes or asks it."""
        last = match.re.groupindex.get("value", 0)
        if self.holds("undoing", sentence[max(match.span(last)[1], 0) :]):
            return True
        clause = sentence[: match.span(0)[1]]
        certain = self._pattern("certain")
        if certain is not None:
            clause = certain.sub(" ", clause)
        if self.holds("doubt", clause):
            return True
        return self.holds("question", clause) and not tells_by_asking(sentence)

    def holds(self, name: str, text: str) -> bool:
        """Return whether a text holds what a pattern of the file's table ``words`` finds."""
        pattern = self._pattern(name)
        return pattern is not None and pattern.search(text) is not None

    def _pattern(self, name: str) -> Any:
        """Return a pattern of the file's table ``words``, if it has that; expanded once."""
        if name not in self._patterns:
            source = self._words.get(name)
            self._patterns[name] = None if source is None else compile_form(expand(source, self))
        return self._patterns[name]

    def _statements(
        self, rule: _FactForm, match: Any, said: str, speaker: Speaker
    ) -> Iterator[FactStatement]:
        groups = self._groups(match, said)
        which = self._which(said, match) if "relation" in groups else ""
        subject, who, aliases = self._subject(groups, speaker, which)
        own, named = speaker.name.casefold() or "user", speaker.name or self._words["user"]
        words, (start, end) = self._words, match.span(0)
        whole = rule.fixed or self._without_conjunction(groups.get("value", ""))
        values = self._split(whole) if rule.many else [whole]
        for each in values:
            value = _as_name(rule.attribute, self._clean(each, speaker))
            if (whole and not value) or len(value) > LONGEST or self._is_unclear(value):
                continue
            thing = self._without_lead(groups.get("thing", "").strip(_EDGE))
            points = self._plain(groups.get("pronoun", ""))
            whose, _, owned = thing.partition(" ")
            if owned and whose.casefold() in self._words.get("whose_else", ()):
                points, thing = thing, owned
            mine = bool(owned) and whose.casefold() in self._words.get("mine", ())
            thing = self._rewrite(owned if mine else thing, speaker)
            told = value_key(f"{value} {thing}")
            # "Not just for the kids, but for all" ends nothing.
            leads = {each.casefold().partition(" ")[0] for each in (value, groups.get("other", ""))}
            if not leads.isdisjoint(rule.never_first) or not told.isdisjoint(rule.never):
                continue
            attribute, noun = rule.attribute, self._plain(groups.get("relation", ""))
            if attribute == RELATION:
                value = value.removesuffix("\u2019s").removesuffix("'s")
                attribute, subject, who = self._relations[noun], own, named
            bare = thing.casefold() in self._words.get("no_things", ())
            if thing and (bare or self._is_unclear(thing) or self._points(thing)):
                continue
            if thing:
                given = f"{whose} {thing}" if mine else thing
                shown = self._name_thing(match, said, given, named, rule.says)
                subject, thing = f"{thing} {rule.kind}".strip().casefold(), points or shown
            written = self._nouns.get(noun, noun)
            shown = which + written[-len(noun) :]
            filled = {"who": who, "value": value, "thing": thing, "relation": shown}
            filled["whose"] = words["whose"].format(who=named, noun=written)
            content = self._contract(rule.says.format(**filled).strip())
            if attribute == SAME:
                content = said[start:end]
            if not content:
                continue
            yield FactStatement(
                subject=subject,
                attribute=attribute,
                value=value if rule.tells == IS else None,
                ended=groups.get("other") if rule.tells == IS else value,
                content=content[:1].upper() + content[1:],
                start=start,
                end=end,
                language=self._code,
                aliases=aliases,
                needs_known=rule.known or bool(points),
                points=points,
            )

    def _subject(
        self, groups: dict[str, str], speaker: Speaker, which: str
    ) -> tuple[str, str, tuple[str, ...]]:
        """Return the subject of a reading, how its sentence names it, and its other names."""
        words = self._words
        own = speaker.name or words["user"]
        relation, name = self._plain(groups.get("relation", "")), groups.get("person", "").strip()
        name = (name or groups.get("named", "").strip()).removesuffix("'s").removesuffix("\u2019s")
        if relation:
            noun = which + self._nouns.get(relation, relation)
            whose = words["whose"].format(who=own, noun=noun)
            if name:
                named = words.get("whose_named", words["whose"] + " {name}")
                whose = named.format(who=own, noun=noun, name=name)
            key = noun[-len(which + relation) :].casefold()
            key = key if not speaker.name else f"{speaker.name.casefold()}'s {key}"
            return (name.casefold(), whose, (key,)) if name else (key, whose, ())
        name = name or groups.get("pronoun", "")
        if name:
            return name.casefold(), name, ()
        return (speaker.name.casefold() or "user"), own, ()

    def _groups(self, match: Any, said: str) -> dict[str, str]:
        """Return what the groups of a match hold, as it is written."""
        spans = {name: match.span(number) for name, number in match.re.groupindex.items()}
        groups = {name: said[start:end] for name, (start, end) in spans.items() if start >= 0}
        if groups.get("value"):
            groups["value"] += self._behind_title(said, *spans["value"])
        return groups

    def _behind_title(self, said: str, start: int, end: int) -> str:
        """Return what a value goes on with behind the full stop of a title: "St. Gallen"."""
        word = said[start:end].lower().split()[-1:]
        titled = word and not self.unspaced and word[0] in load("mul", "sentences")["titles"]
        rest = said[end : end + LONGEST].replace("'", "\u2019") if titled else ""
        stop = compile_form(self["stop"]).search(rest, 2) if rest.startswith(". ") else None
        return said[end : end + stop.span()[0]] if stop is not None else ""

    def _which(self, said: str, match: Any) -> str:
        """Return the words that tell one relative from another: ``older``, with a space behind."""
        apart, found = self._words.get("telling_apart", ()), ""
        begin = match.span(match.re.groupindex["relation"])[0]
        for word in reversed(said[match.span(0)[0] : begin].split()):
            if word.casefold() not in apart:
                break
            found = f"{word.casefold()} {found}"
        return found

    def _contract(self, content: str) -> str:
        """Return a sentence in which words that the language draws together are one: ``des``."""
        for apart, together in self._words.get("contractions", {}).items():
            content = content.replace(apart, together)
        return content

    def _plain(self, text: str) -> str:
        """Return a text as forms read it: small, without the accents that do not count."""
        return text.lower().translate(self._folds)

    def _name_thing(self, match: Any, said: str, thing: str, own: str, says: str) -> str:
        """Return how a fact whose sentence is ``says`` names a thing: "the user's rent"."""
        mine = self._words.get("mine", ())
        if not mine or "{who}'s {thing}" in says or "of {thing}" in says:
            return thing
        first, _, rest = thing.partition(" ")
        if first.casefold() in mine:
            return str(self._words["whose"].format(who=own, noun=rest))
        begin = match.span(match.re.groupindex["thing"])[0]
        before = said[match.span(0)[0] : begin].split()
        determiner = before[-1].casefold() if before else ""
        if determiner in mine:
            return str(self._words["whose"].format(who=own, noun=thing))
        article = determiner in self._words.get("small_words", ())
        article = article and "of {thing}" not in says
        return f"{determiner} {thing}" if article else thing

    def _split(self, whole: str) -> list[str]:
        return [each for each in self._pattern("separator").split(whole) if each and each.strip()]

    def _clean(self, value: str, speaker: Speaker) -> str:
        """Return a value without what only hangs on: fillers, quotation marks, a full stop."""
        value = value.strip(_EDGE)
        filler = self._pattern("filler")
        while filler is not None:
            cut = filler.sub("", value).strip(_EDGE)
            if cut == value:
                break
            value = cut
        return self._rewrite(value, speaker)

    def _rewrite(self, value: str, speaker: Speaker) -> str:
        """Return a value or thing in the words of somebody else: ``their`` for ``my``."""
        for pattern, becomes in self._rewrites:
            told = becomes.format(who=speaker.name or self._words["user"])
            value = pattern.sub(lambda _, told=told: told, value)
        return value

    @cached_property
    def _rewrites(self) -> Sequence[tuple[Any, str]]:
        table = self._words.get("rewrites", {})
        return [(compile_form(expand(source, self)), becomes) for source, becomes in table.items()]

    def _without_lead(self, thing: str) -> str:
        """Return a thing without what joins its clause to another: ``so rehearsals``."""
        first, _, rest = thing.partition(" ")
        return rest if rest and first.casefold() in self._words.get("joining", ()) else thing

    def _without_conjunction(self, name: str) -> str:
        """Return a name without what begins its sentence: ``And Tyler``."""
        first, _, rest = name.partition(" ")
        joins = first.istitle() and first.casefold() in self._words.get("joining", ())
        return rest if joins and rest[:1].isupper() else name

    def _points(self, thing: str) -> bool:
        """Return whether a thing is only pointed at: ``his lesson``, ``me``."""
        return not set(self._plain(thing).split()).isdisjoint(self._words.get("pointing", ()))

    def _is_unclear(self, value: str) -> bool:
        """Return whether a value cannot be understood alone: ``it``, ``there``, ``this``."""
        if not value:
            return False
        unclear = self._words.get("unclear", ())
        if self.unspaced and value.startswith(tuple(unclear)):
            return True
        clear = self._pattern("clear")
        plain = clear.sub("0", self._plain(value)) if clear is not None else self._plain(value)
        words = [word.strip(_EDGE) for word in plain.split()]
        # An article says nothing by itself: "het" is "it", and "the" before a noun.
        articles = self._words.get("articles", ())
        telling = [word for word in words[:-1] if word not in articles] + words[-1:]
        pointing = any(word in unclear for word in telling)
        return pointing or not any(char.isalnum() or char == MASK for char in value)


def _as_name(attribute: str, value: str) -> str:
    """Return a value; a person's own name, typed in small letters, with its capitals."""
    return value.title() if attribute == NAME and value.islower() else value


def _bare_words(text: str) -> list[str]:
    """Return the words of a text in small letters, without marks around them."""
    words = (word.strip(_EDGE) for word in text.casefold().split())
    return [word for word in words if word]


def _folds(letters: str, variants: str) -> dict[int, str]:
    """Return by which letters others are read: without accents, or in their other shape.

    Args:
        letters: those whose accents do not count.
        variants: pairs of a letter and the one it is read as.
    """
    both = {*letters, *letters.upper()}
    plain = {ord(each): unicodedata.normalize("NFD", each)[0] for each in both}
    pairs = "".join(variants.split())
    return plain | {ord(pairs[at]): pairs[at + 1] for at in range(0, len(pairs) - 1, 2)}

"""Reads facts with an attribute in sentences, by the forms of each language.

A language's file ``facts.toml`` gives for each attribute the forms by which it ``is``, has
``ended`` or is ``denied``, and the sentence in which a fact of it is written down. All forms of a
language are tried in one pass with RE2, in time linear in the text; its README explains how
they are written. Which language a sentence has is decided by whose forms it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import re2

from memoranda.facts.forms import FormSet, compile_form, group_spans, group_texts
from memoranda.facts.language import EDGE, RELATION, language_of, languages_in
from memoranda.facts.stance import is_doubtful, opens_clause
from memoranda.facts.values import value_key
from memoranda.text.limits import LONGEST_SENTENCE
from memoranda.text.patterns import (
    compile_pattern,
    encodable,
    expand,
    languages_with,
    load,
    words_of,
)

# What stands in a masked sentence for each character of a quotation, an address or code.
MASK = "\ue000"
_PICTURE = compile_pattern("[\u2600-\u27bf\U0001f1e6-\U0001faff]")
_GROUP = compile_pattern(r"\\(\d)")
# The attributes of how the assistant is to behave, of a name, and of who has died.
INSTRUCTION, NAME, GONE = "instruction", "name", "gone"
# Characters of a value; what is longer is a sentence.
LONGEST = 80
IS, WAS, ENDED, DENIED = "is", "was", "ended", "denied"
_SENTENCES = {IS: "says", ENDED: "ends", DENIED: "denies"}


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

    @property
    def takes_back(self) -> bool:
        """Whether it says that an instruction holds no more."""
        return self.attribute == INSTRUCTION and self.value is None


def read_instead(sentence: str) -> str:
    """Return a sentence that corrects itself as it should have been: "My boss is Tim"."""
    for code in languages_in(sentence):
        plain = _readable(sentence).strip()
        if (told := _rewrite(plain, language_of(code).words.get("instead", {}))) != plain:
            return told
    return sentence


def address_user(sentence: str) -> str:
    """Return the sentence of a fact as it is said to the user it is about, without a full stop.

    "The user's sister lives in Delft." becomes "your sister lives in Delft". Empty in a language
    that does not tell how, and where the sentence is about nobody that it names. What is quoted
    stays as it was said, without who that was: `“I swim on Mondays.” (10 March 2026)`.
    """
    said, mark, by = sentence.rstrip(".").rpartition("\u201d (")
    if mark and sentence.startswith("\u201c"):
        users = {language_of(each).words["user"] for each in languages_with("facts")}
        who, _, when = by.partition(", ")
        return f"{said}{mark}{when if who in users else by}"
    for code in languages_in(sentence):
        forms = language_of(code).words.get("in_second_person", {})
        if forms:
            plain = _readable(sentence.rstrip("."))
            told = _rewrite(_tell_in_first_person(plain, code, "") or plain, forms)
            return told.replace("\u2019", "'")
    return ""


def _tell_in_first_person(sentence: str, code: str, speaker: str) -> str:
    """Return a sentence as whoever it is about would say it; empty where it is about others."""
    language = language_of(code)
    who = _readable(speaker or language.words["user"])
    if who.rpartition(" ")[2].casefold() not in sentence.casefold():
        return ""
    names = {"who": re2.escape(who), "letters": language.fragments["letters"]}
    forms = language.words.get("in_first_person", {}).items()
    return _rewrite(sentence, {expand(source, names): told for source, told in forms})


def _rewrite(sentence: str, forms: dict[str, str]) -> str:
    """Return a sentence in which what stands for them takes the place of forms, in order."""
    for source, told in forms.items():
        form = compile_form(source)
        sentence = form.sub(lambda found, told=told: _fill_groups(told, found), sentence).strip()
    return sentence


def _fill_groups(template: str, found: Any) -> str:
    """Return a replacement with what a form captured: RE2's own takes only ASCII."""
    return _GROUP.sub(lambda group: found[int(group[1])] or "", template)


def _readable(text: str) -> str:
    """Return a text, as long, with the apostrophes of forms, and no halves of characters."""
    return encodable(text.replace("'", "\u2019"))


# What a sentence states.


def read_facts(sentence: str, said: str | None = None, *, speaker: str = "") -> list[FactStatement]:
    """Return what a sentence states of known attributes, in the order of its words.

    Args:
        sentence: one sentence, masked where no rule may read.
        said: the same as it is written, as long; ``sentence``, if not given.
        speaker: the name of who says it; empty for the user, whom each language names in its own
            words.
    """
    # An emoji ends a clause as a comma does.
    plain = _PICTURE.sub(",", _readable(sentence))
    best: list[FactStatement] = []
    for code in languages_in(plain):
        found = fact_reader(code).read(plain, said or sentence, speaker)
        best = found if len(found) > len(best) else best
    return best


@lru_cache(maxsize=4096)
def read_written_facts(sentence: str, speaker: str = "") -> tuple[FactStatement, ...]:
    """Return what a sentence of the third person states, as facts and notes are written.

    "The user lives in Delft" is read as "I live in Delft" is when the user says it.

    Args:
        sentence: one sentence, such as a model, a program or a person wrote it down.
        speaker: who is meant where it names them; the user, if not given.
    """
    sentence = _readable(sentence[:LONGEST_SENTENCE])
    told = (_tell_in_first_person(sentence, code, speaker) for code in languages_in(sentence))
    read = (read_facts(each, speaker=speaker) for each in (*filter(None, told), sentence))
    return tuple(next(filter(None, read), []))


def find_text_request(text: str) -> int | None:
    """Return where a text asks to work on another text, which follows; ``None`` if nowhere.

    Of the languages whose file tells it: "traduce esto al inglés: …".
    """
    languages = (language_of(code) for code in languages_with("facts"))
    found = (each.words.search("text_request", each.fold(encodable(text))) for each in languages)
    return min((each.span(0)[0] for each in found if each), default=None)


def fits_any(name: str, text: str) -> bool:
    """Return whether a text fits a pattern of ``words`` of any language that has it.

    ``shows_text`` says that another text follows ("here is her letter"); ``unreal`` tells of a
    dream, a story or a game, or of the next minutes; ``momentary`` only of the moment or the day: a
    meal, the weather, a mood.
    """
    text = encodable(text)
    return any(language_of(code).words.fits(name, text) for code in languages_with("facts"))


class _StatementForm(NamedTuple):
    """One form of an attribute.

    Attributes:
        attribute: its name.
        tells: whether it is, was, has ended or is denied.
        value: the value that the form stands for, where it gives one.
        source: the pattern.
        table: the table of the file that holds it.
    """

    attribute: str
    tells: str
    value: str
    source: str
    table: Any

    def sets(self, name: str) -> bool:
        """Return whether its table sets an option."""
        return bool(self.table.get(name))

    @property
    def says(self) -> str:
        """The sentence in which what it tells is written down."""
        return str(self.table.get(_SENTENCES.get(self.tells), ""))


class FactReader:
    """Reads the attributes in sentences of one language, by the forms of its ``facts.toml``."""

    def __init__(self, code: str) -> None:
        """Take the forms of a language; each is compiled when a sentence first comes so far."""
        self._language = language = language_of(code)
        self._words = language.words
        self._forms = [
            _StatementForm(name.partition("__")[0], tells, value, source, table)
            for name, table in load(code, "facts")["attributes"].items()
            for tells in (IS, WAS, ENDED, DENIED)
            for value, _, source in (form.rpartition(" <- ") for form in table.get(tells, ()))
        ]
        self._set = FormSet((form.source for form in self._forms), language.fragments)

    def read(self, sentence: str, said: str, speaker: str) -> list[FactStatement]:
        """Return what a sentence states; of two readings that overlap, the first of the file."""
        sentence = self._language.fold(sentence)
        taken: list[tuple[int, int, _StatementForm]] = []
        found: dict[tuple[object, ...], FactStatement] = {}
        for place, pattern in self._set.find(sentence):
            form = self._forms[place]
            for match in pattern.finditer(sentence):
                start, end = match.span(0)
                if _is_taken(form, start, end, taken) or not self._asserts(form, sentence, match):
                    continue
                read = () if form.tells == WAS else self._statements(form, match, said, speaker)
                made: dict[tuple[object, ...], FactStatement] = {
                    (each.subject, each.attribute, each.value, each.ended): each for each in read
                }
                found = {**made, **found}
                # What one attribute cannot be, another may: "choir has moved to Thursdays".
                if made or form.tells == WAS:
                    taken.append((start, end, form))
        return sorted(found.values(), key=lambda each: each.start)

    def _asserts(self, form: _StatementForm, sentence: str, match: Any) -> bool:
        opens = form.sets("anywhere") or opens_clause(self._language, sentence, match)
        ends = form.tells in {ENDED, DENIED}
        return opens and not is_doubtful(self._language, sentence, match, ends=ends)

    def _statements(
        self, form: _StatementForm, match: Any, said: str, speaker: str
    ) -> Iterator[FactStatement]:
        groups, (start, end) = group_texts(match, said), match.span(0)
        user = speaker or self._words["user"]
        noun = self._language.plain(groups.get("relation", ""))
        relation, written = self._language.nouns.get(noun, ("", ""))
        which = self._which(match, said) if noun else ""
        subject, who, aliases = self._subject(groups, which, speaker)
        attribute = form.attribute
        if attribute == RELATION:
            attribute, subject, who = relation, speaker.casefold() or "user", user
        filled = {"who": who, "relation": which + written[-len(noun) :], "thing": ""}
        filled["whose"] = self._words["whose"].format(who=user, noun=written)
        if groups.get("thing"):
            thing, shown = self._thing(match, groups["thing"], user)
            if not thing:
                return
            subject, filled["thing"] = thing, shown
        other = groups.get("other")
        for value in self._values(form, groups):
            content = self._contract(form.says.format(value=value, **filled).strip())
            if content:
                yield FactStatement(
                    subject=subject,
                    attribute=attribute,
                    value=value if form.tells == IS else None,
                    ended=other if form.tells == IS else value,
                    content=content[:1].upper() + content[1:],
                    start=start,
                    end=end,
                    language=self._language.code,
                    aliases=aliases,
                    needs_known=form.sets("known"),
                )

    def _which(self, match: Any, said: str) -> str:
        """Return the words that tell one relative from another: ``older``, with a space behind."""
        begin = group_spans(match)["relation"][0]
        last = _last_word(said[match.span(0)[0] : begin])
        return f"{last} " if last in self._words["telling_apart"] else ""

    def _subject(
        self, groups: dict[str, str], which: str, speaker: str
    ) -> tuple[str, str, tuple[str, ...]]:
        """Return the subject of a reading, how its sentence names it, and its other names."""
        words, user = self._words, speaker or self._words["user"]
        name = groups.get("person", "").strip() or groups.get("named", "").strip()
        name = name.removesuffix("'s").removesuffix("\u2019s")
        relation = self._language.plain(groups.get("relation", ""))
        if not relation:
            return (name.casefold() or speaker.casefold() or "user"), name or user, ()
        written = self._language.nouns[relation][1]
        shape = words.get("whose_named", words["whose"] + " {name}") if name else words["whose"]
        shown = shape.format(who=user, noun=which + written, name=name)
        key = which + written[-len(relation) :].casefold()
        key = f"{speaker.casefold()}'s {key}" if speaker else key
        return (name.casefold(), shown, (key,)) if name else (key, shown, ())

    def _thing(self, match: Any, thing: str, user: str) -> tuple[str, str]:
        """Return a thing as a subject, and as the sentence of a fact names it; empty if unclear."""
        words = self._words
        thing = thing.strip(EDGE)
        begin = group_spans(match)["thing"][0] - match.span(0)[0]
        determiner = _last_word(match.group(0)[:begin])
        first, _, rest = thing.partition(" ")
        if rest and first.casefold() in words["joining"]:  # "So the wedding's …"
            thing = rest
            first, _, rest = thing.partition(" ")
        if rest and first.casefold() in words["mine"]:
            determiner, thing = first.casefold(), rest
        thing = self._in_third_person(thing)
        pointing = words["pointing"]
        if self._is_unclear(thing) or not pointing.isdisjoint(self._language.plain(thing).split()):
            return "", ""
        if determiner in words["mine"]:
            return thing.casefold(), words["whose"].format(who=user, noun=thing)
        named = bool(words["mine"]) and determiner in words["small_words"]
        return thing.casefold(), f"{determiner} {thing}" if named else thing

    def _values(self, form: _StatementForm, groups: dict[str, str]) -> Iterator[str]:
        """Yield the values that a form has read, without those that say nothing by themselves."""
        whole = form.value or groups.get("value", "")
        thing = groups.get("thing", "")
        never, never_first = (self._list(form, name) for name in ("never", "never_first"))
        other = _first_word(groups.get("other", ""))
        for place, each in enumerate(self._split(whole) if form.sets("list") else [whole]):
            value = self._clean(each)
            if form.sets("list") and self._begins_clause(value.split(), place):
                return
            # Nor is what follows it in a list: "I don't drink anymore, two years sober".
            if (whole and not value) or len(value) > LONGEST or self._is_unclear(value):
                return
            # "Not just for the kids, but for all" ends nothing.
            if not never_first.isdisjoint({_first_word(value), other}):
                return
            if not never.isdisjoint(value_key(f"{value} {thing}")):
                continue
            if form.attribute == RELATION:
                value = value.removesuffix("\u2019s").removesuffix("'s")
            yield value.title() if form.attribute == NAME and value.islower() else value

    def _begins_clause(self, words: Sequence[str], place: int) -> bool:
        """Return whether more begins in a list than a value: "Tom snores", "in Spain they …"."""
        if not self._words["copulas"].isdisjoint(words):
            return True
        first, after = [*words, "", ""][:2]
        leading = self._words["leading_in"]
        given = first.istitle() and first.casefold() in words_of("given_names")
        named = leading and given and after.islower()
        return bool(place and (named or first.casefold() in leading))

    def _list(self, form: _StatementForm, name: str) -> frozenset[str]:
        """Return the words of an option, with those of a named list for its name in braces."""
        words = form.table.get(name, ())
        lists = {**load(self._language.code, "facts")["fragments"], **self._words}
        named = [lists[each[1:-1]] if each[:1] == "{" else [each] for each in words]
        found = frozenset(word for each in named for word in each)
        return frozenset().union(*map(value_key, found)) if self._language.unspaced else found

    def _split(self, whole: str) -> list[str]:
        pieces = self._words.pattern("separator").split(whole)
        return [each for each in pieces if each and each.strip()]

    def _clean(self, value: str) -> str:
        """Return a value without what only hangs on: fillers, quotation marks, a full stop."""
        value = value.strip(EDGE)
        while found := self._words.search("filler", value):
            value = (value[: found.start()] + value[found.end() :]).strip(EDGE)
        return self._in_third_person(value)

    def _in_third_person(self, value: str) -> str:
        """Return a value or thing in the words of somebody else: ``their`` for ``my``."""
        forms = self._words.get("rewrites", {}).items()
        told = {expand(source, self._language.fragments): becomes for source, becomes in forms}
        return _rewrite(value, told)

    def _contract(self, content: str) -> str:
        """Return a sentence in which words that the language draws together are one: ``des``."""
        for apart, together in self._words.get("contractions", {}).items():
            content = content.replace(apart, together)
        return content

    def _is_unclear(self, value: str) -> bool:
        """Return whether a value cannot be understood alone: ``it``, ``there``, ``this``."""
        if not value:
            return False
        unclear = self._words["unclear"]
        if self._language.unspaced and value.startswith(tuple(unclear)):
            return True
        words = [word.strip(EDGE) for word in self._language.plain(_readable(value)).split()]
        # An article says nothing by itself: "het" is "it", and "the" before a noun.
        telling = {*words[:-1]}.difference(self._words["articles"]) | {words[-1]}
        pointing = not unclear.isdisjoint(telling) or self._runs_on(words)
        # "In that house" was cut before "that".
        cut = words[-1] in self._words["prepositions"]
        return pointing or cut or not any(char.isalnum() or char == MASK for char in value)

    def _runs_on(self, words: Sequence[str]) -> bool:
        """Return whether a second noun phrase begins in a value: "a van the heater is broken".

        It may after a preposition, and where the value is something that one does.
        """
        doing = words[0].endswith("ing") or words[0] == "to"
        return not doing and any(
            after in self._words["determiners"]
            and word.isalpha()
            and noun.isalpha()
            and word not in self._words["prepositions"]
            for word, after, noun in zip(words, words[1:], words[2:], strict=False)
        )


fact_reader = cache(FactReader)


def _is_taken(
    form: _StatementForm, start: int, end: int, taken: Iterable[tuple[int, int, _StatementForm]]
) -> bool:
    """Return whether another form has read the words between two places before."""
    return any(
        other.attribute == form.attribute or form.sets("fallback")
        for first, last, other in taken
        if start < last and first < end
    )


def _first_word(text: str) -> str:
    return text.casefold().partition(" ")[0]


def _last_word(text: str) -> str:
    return text.casefold().rstrip().rpartition(" ")[2]

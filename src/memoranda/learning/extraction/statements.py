"""The kinds of clauses that state something, each read by one rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memoranda.learning.claims import Category, ClaimDraft
from memoranda.learning.extraction.predicates import Predicate, read_predicate
from memoranda.learning.extraction.rewriting import (
    ClauseToken,
    Person,
    finish_sentence,
    rewrite,
)
from memoranda.learning.extraction.sentences import MASK
from memoranda.learning.verbs import is_participle, is_past
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "extraction")


_LONGEST_NAME = 3
_LONGEST_LEAD = 14
_LONGEST_GROUP = 8
_SHORTEST_INNER = 3


class ClauseStatement(NamedTuple):
    """A statement extracted from a clause.

    Attributes:
        predicate: kind, score, and where the content begins, by word of the clause.
        first: the word with which the statement begins.
        subject: where its subject ends; 0 where that is the speaker.
        prefix: what it leaves out at its start: ``I``, ``I am``.
        third: whether the subject is a person other than the speaker.
    """

    predicate: Predicate
    first: int = 0
    subject: int = 0
    prefix: str = ""
    third: bool = False


@dataclass(frozen=True, slots=True)
class ClauseContext:
    """The speaker and surroundings that a clause is read with.

    Attributes:
        chat: whether it is said to an assistant.
        people: first names of persons in the turn, in lower case.
        loose: whether somebody asked to remember it, so that any statement will do.
        opens: whether the clause opens its sentence: only then it may leave out ``I``.
    """

    chat: bool
    people: frozenset[str] = frozenset()
    loose: bool = False
    opens: bool = True


def read_statement(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Return what the clause of ``words`` states; ``None`` for nothing to keep."""
    if not words:
        return None
    rules = (_called, _first_person, _elided, _possessed, _favoured, _named, _value)
    found = [stated for rule in rules if (stated := rule(words, setting)) is not None]
    if not found and (inner := _subordinate(words, setting)) is not None:
        found.append(inner)
    return max(found, key=lambda stated: stated.predicate.score, default=None)


def _subordinate(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Read ``after I failed the test`` in a clause that itself states nothing to keep."""
    for place, word in enumerate(words[:-_SHORTEST_INNER]):
        if word.low not in _EN.words("inner_openings") or (
            place and words[place - 1].low in _EN.words("hypothetical")
        ):
            continue
        if any(each.low in _EN.words("hypothetical") for each in words[:place]):
            return None
        led = place and words[place - 1].low in _EN.words("before_fact")
        if word.low == "that" and not led:
            continue
        inner = words[place + 1 :]
        head = inner[0].low.partition("'")[0]
        rule = _first_person if head in {"i", "we"} else _possessed
        stated = rule(inner, setting)
        if stated is None:
            continue
        shift = place + 1
        reading = stated.predicate
        return stated._replace(
            predicate=reading._replace(score=reading.score - 0.04, rest=reading.rest + shift),
            first=stated.first + shift,
            subject=stated.subject + shift if stated.subject else 0,
        )
    return None


def _favoured(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Read ``Contemporary is my top pick``, ``Blue's my fave``."""
    del setting
    low = [word.low for word in words]
    for place in range(1, min(len(low) - 1, _LONGEST_GROUP)):
        if low[place] not in {"my", "our"}:
            continue
        before = low[place - 1]
        if before not in _EN.words("copulas") and not before.endswith("'s"):
            return None
        if not _EN.words("favoured").intersection(low[place + 1 : place + 4]):
            return None
        if low[0] in _EN.words("pronouns", "second", "interrogatives") | {
            "that",
            "that's",
            "there",
        }:
            return None
        return ClauseStatement(Predicate(Category.PREFERENCE, 0.68, 0))
    return None


def _spelled(words: Sequence[ClauseToken], place: int) -> list[str] | None:
    """Return the predicate after ``I`` or ``we``, spelled out; ``None`` if that is not it."""
    head, _, tail = words[place].low.partition("'")
    if head not in {"i", "we"} or tail not in {"", "m", "re", "ve", "ll", "d"}:
        return None
    verb = {"m": ["am"], "re": ["am"], "ve": ["have"], "ll": ["will"], "d": ["would"]}.get(tail, [])
    following = [word.low for word in words[place + 1 :]]
    if tail == "d" and following and is_participle(following[0]):
        verb = ["have"]
    return verb + following


def _first_person(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    start = _after_lead(words)
    if start is None:
        return None
    spelled = _spelled(words, start)
    if spelled is None:
        return None
    reading = read_predicate(spelled, chat=setting.chat)
    supposed = _EN.words("hypothetical").intersection(spelled[:3])
    if reading is None and setting.loose and not supposed:
        reading = Predicate(Category.REMEMBER, 0.6, 0)
    everybody = "all" in spelled[:3] and words[start].low.startswith("we")
    if reading is None or (everybody and reading.category is not Category.EVENT):
        return None
    shift = len(words) - len(spelled)
    return ClauseStatement(reading._replace(rest=max(start + 1, reading.rest + shift)))


def _called(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Read ``I'm Craig``."""
    del setting
    low = [word.low for word in words[:3]]
    place = 1 if low[0] in {"i'm", "im"} else 2 if low[:2] == ["i", "am"] else 0
    if not place or len(words) <= place or not words[place].text[0].isupper():
        return None
    following = words[place + 1].low if len(words) > place + 1 else ","
    if words[place].low in _EN.words("traits", "stop") or not (
        following in {",", "and", "from", "."} or words[place + 1].text[0].isupper()
    ):
        return None
    return ClauseStatement(Predicate(Category.IDENTITY, 0.78, place))


def _after_lead(words: Sequence[ClauseToken]) -> int | None:
    """Return the place of the subject ``I`` of the clause, after words of time."""
    start = 0
    if words[0].low in _EN.words("subordinators"):
        commas = [place for place, word in enumerate(words[:_LONGEST_LEAD]) if word.low == ","]
        if not commas:
            return None
        start = commas[0] + 1
    for place in range(start, min(len(words), start + _LONGEST_LEAD)):
        if words[place].low.partition("'")[0] in {"i", "we"}:
            return place if _is_lead(words[start:place]) else None
    return None


def _is_lead(lead: Sequence[ClauseToken]) -> bool:
    low = [word.low for word in lead]
    verbs = _EN.words("auxiliaries").intersection(low) or {"that", "which"}.intersection(low)
    if verbs and low[0] not in _EN.words("subordinators"):
        return False
    if _EN.words("time_nouns").intersection(low) and not _EN.words("pronouns").intersection(low):
        return True
    adverbs = all(each in _EN.words("adverbs") or each == "," for each in low)
    if adverbs or low[0] in _EN.words("time_leads"):
        return not _EN.words("second", "hypothetical").intersection(low)
    return low[0] in {"my", "our"} and low[-1] == "and" and len(low) <= _LONGEST_GROUP


def _elided(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Read ``Just got new shoes``, ``Been running longer``, ``Researching agencies``."""
    low = [word.low for word in words]
    place = 0
    if not setting.opens:
        return None
    while place < len(low) and low[place] in {"just", "recently", "finally", "still", "only"}:
        place += 1
    verb = low[place] if place < len(low) else ""
    if verb == "been":
        prefix, spelled = "I have", ["have", *low]
    elif verb in _EN.words("elided_past"):
        prefix, spelled = "I", low
    elif (
        verb in _EN.words("elided_doings")
        and not any(
            each in _EN.words("auxiliaries", "modals") or each.endswith("'s") or _is_present(each)
            for each in low[place:]
        )
    ) or verb == "gonna":
        prefix, spelled = "I am", ["am", *low]
    else:
        return None
    reading = read_predicate(spelled, chat=setting.chat)
    if reading is None or (verb in _EN.words("elided_past") and "by" in low[place + 1 : place + 2]):
        return None
    shift = len(low) - len(spelled)
    rest = max(place, reading.rest + shift)
    return ClauseStatement(reading._replace(score=reading.score - 0.03, rest=rest), prefix=prefix)


def _is_present(word: str) -> bool:
    """Return whether ``word`` can be a verb of a third person in the present."""
    return word.endswith("s") and word[:-1] in _EN.words("habits", "light", "mental")


def _group_end(low: Sequence[str], start: int) -> int | None:
    """Return the place of the verb after the noun group that begins at ``start``."""
    least = 2 if low[start] in {"my", "our", "the"} else 1
    for place in range(start + least, min(len(low), start + _LONGEST_GROUP)):
        each = low[place]
        if each in _EN.words("auxiliaries", "modals", "value_verbs"):
            return place
        if is_past(each) or (each.endswith("s") and (each[:-1] in _EN.words("habits", "likes"))):
            return place
        if each in {",", "i", "we", "you", "to", "who", "which", "that", "and"} and each != "and":
            return None
    return None


def _predicate(low: Sequence[str], place: int) -> list[str]:
    """Return a predicate of a third person in the words of a first one."""
    verb = low[place]
    first = {"is": "am", "are": "am", "'s": "am", "has": "have", "does": "do", "doesn't": "don't"}
    if verb in first:
        return [first[verb], *low[place + 1 :]]
    base = verb[:-1] if verb.endswith("s") and verb[:-1] in _EN.words("habits", "likes") else verb
    base = verb[:-2] if verb.endswith("es") and verb[:-2] in _EN.words("habits", "likes") else base
    return [base, *low[place + 1 :]]


def _possessed(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Read ``my sister lives in Porto``, ``my favorite color is blue``."""
    low = [word.low for word in words]
    start = _possessive_start(low)
    if start is None:
        return None
    verb = _group_end(low, start)
    short = verb is None
    if short:
        verb = next(
            (at + 1 for at in range(start + 1, min(len(low), start + 5)) if low[at][-2:] == "'s"),
            None,
        )
    if verb is None or verb >= len(low):
        return None
    group = [each.removesuffix("'s") for each in low[start + 1 : verb]]
    spelled = ["am", *low[verb:]] if short else _predicate(low, verb)
    if spelled[0] == "am" and _is_called(words[verb + (not short) :], group):
        return ClauseStatement(Predicate(Category.RELATION, 0.66, verb), subject=verb, third=True)
    return _of_group(group, spelled, verb, setting, start)


def _is_called(words: Sequence[ClauseToken], group: Sequence[str]) -> bool:
    """Return whether ``words`` are the name of a relative: ``my girlfriend is Anna``."""
    if len(group) > _LONGEST_NAME or group[-1] not in _EN.words("relatives"):
        return False
    name = [word for word in words[:_LONGEST_NAME] if word.text[0].isupper()]
    rest = words[len(name) : len(name) + 1]
    plain = not rest or rest[0].low in {",", "and", "from"}
    return bool(name) and plain and words[0] is name[0] and _is_proper(name[0].low)


def _is_proper(word: str) -> bool:
    return word not in _EN.words("traits", "stop", "evaluative", "days_and_months")


def _possessive_start(low: Sequence[str]) -> int | None:
    if low[0] in {"my", "our"}:
        return 0
    if low[0] == "one" and low[1:2] == ["of"] and low[2:3] in (["my"], ["our"]):
        return 2
    for place, each in enumerate(low[:_LONGEST_GROUP]):
        if each in {"my", "our"} and low[place - 1] == "," and low[0] in _EN.words("time_leads"):
            return place
    return None


def _of_group(
    group: Sequence[str], spelled: Sequence[str], verb: int, setting: ClauseContext, start: int
) -> ClauseStatement | None:
    relative = bool(_EN.words("relatives").intersection(group)) and group[-1:] != ["name"]
    reading = read_predicate(spelled, chat=setting.chat)
    copula = spelled[0] in {"am", "was", "were"}
    told = any(each not in _EN.words("stop", "evaluative") for each in spelled[1:])
    if relative and reading is not None:
        reading = reading._replace(category=Category.RELATION, score=reading.score + 0.02)
    elif copula and _is_bare_value(group, spelled[1:]):
        return None
    elif copula and told and _EN.words("attributes", "state_nouns").intersection(group):
        reading = Predicate(_attribute(group), _attribute_score(group, spelled), 1)
    elif reading is not None:
        kind = Category.EVENT if reading.category is Category.EVENT else Category.STATE
        reading = reading._replace(category=kind, score=reading.score - 0.04)
    elif setting.loose and told:
        reading = Predicate(Category.REMEMBER, 0.6, 1)
    if reading is None:
        return None
    return ClauseStatement(
        reading._replace(rest=max(verb, start + 1)), subject=verb, third=relative
    )


def _is_bare_value(group: Sequence[str], told: Sequence[str]) -> bool:
    """Return whether it is not said of what the value is: ``goal``, ``under 4 hours``."""
    nouns = {each for each in told if each.isalpha()} - _EN.words("stop", "prepositions")
    if not group or not set(group) <= _EN.words("goals"):
        return False
    return nouns <= _EN.words("value_units") and any(map(_is_value, told))


def _attribute(group: Sequence[str]) -> Category:
    if _EN.words("goals").intersection(group):
        return Category.PLAN
    if any(each.startswith("fav") for each in group) or "hobby" in group:
        return Category.PREFERENCE
    if "budget" in group:
        return Category.CONSTRAINT
    return Category.STATE if _EN.words("state_nouns").intersection(group) else Category.IDENTITY


def _attribute_score(group: Sequence[str], spelled: Sequence[str]) -> float:
    if _EN.words("goals").intersection(group):
        return 0.56
    if all(each in _EN.words("evaluative", "stop") for each in spelled[1:4]):
        return 0.4
    return 0.72


def _named(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Read ``Ana works at Siemens`` where Ana is a person."""
    low = [word.low for word in words]
    if low[0].removesuffix("'s") not in setting.people:
        return None
    verb = _group_end(low, 0)
    if verb is None or verb > _LONGEST_NAME:
        return None
    reading = read_predicate(_predicate(low, verb), chat=setting.chat)
    if reading is None:
        return None
    reading = reading._replace(category=Category.RELATION, score=reading.score, rest=verb)
    return ClauseStatement(reading, subject=verb, third=True)


def _value(words: Sequence[ClauseToken], setting: ClauseContext) -> ClauseStatement | None:
    """Read ``the response time is 250ms``, ``coverage improved from 60% to 78%``."""
    low = [word.low for word in words]
    starts = [at for at, each in enumerate(low) if each in {"the", "my", "our"}]
    if _EN.words("state_nouns").intersection(low[:3]) and 0 not in starts:
        starts.insert(0, 0)
    for start in starts:
        verb = _group_end(low, start)
        if verb is None or low[verb] not in _EN.words("value_verbs"):
            continue
        inside = start > 0 and low[verb] not in _EN.words("value_changes")
        if inside or _EN.words("second").intersection(low[start:]):
            continue
        group, rest = low[start:verb], low[verb + 1 :]
        if _EN.words("general_nouns").intersection(group) or _is_bare_value(group[1:], rest):
            continue
        product = setting.chat and low[verb] in {"uses", "runs", "requires", "supports"}
        if product and start == 0 and any(word.text[0].isupper() for word in words[verb + 1 :]):
            return ClauseStatement(Predicate(Category.STATE, 0.5, verb), subject=verb)
        loose = setting.loose and start == 0 and bool(rest)
        if not loose and not any(map(_is_value, rest[:_LONGEST_LEAD])):
            continue
        known = _EN.words("state_nouns").intersection(group)
        score = (0.64 if known else 0.52) if setting.chat or low[start] != "the" else 0.5
        category = Category.CONSTRAINT if "budget" in group else Category.STATE
        return ClauseStatement(Predicate(category, score, verb), first=start, subject=verb)
    return None


def _is_value(word: str) -> bool:
    return word in _EN.words("days_and_months") or any(map(str.isdigit, word))


_SCORE = 0.58


def find_values(shown: str, said: str, person: Person) -> Iterator[ClaimDraft]:
    """Yield the values that a clause states of nouns.

    Args:
        shown: the clause, masked.
        said: the clause as it is written.
        person: whose project it is.
    """
    for found in _EN.pattern("noun_of_value", 0).finditer(shown):
        noun = found["noun"].split()
        bare = noun[0].lower() in _EN.words("bare_measures") or MASK in found[0]
        if bare or noun[-1].lower() not in _EN.words("state_nouns"):
            continue
        if _EN.words("stop").intersection(noun):
            continue
        subject = f"{person.possessive} {' '.join(noun)}"
        content = finish_sentence(f"{subject} is {said[found.start('value') : found.end('value')]}")
        yield ClaimDraft(content, subject, Category.STATE, _SCORE, found.start(), found.end())
    yield from _told_by_which(shown, said, person)


def _told_by_which(shown: str, said: str, person: Person) -> Iterator[ClaimDraft]:
    """Yield ``the response time, which has improved to 250ms`` as a statement."""
    for found in _EN.pattern("which_clause", 0).finditer(shown):
        if not any(map(str.isdigit, found["rest"])):
            continue
        left = shown[max(0, found.start() - 90) : found.start()]
        stops = list(_EN.pattern("noun_stop", 0).finditer(left))
        begin = found.start() - len(left) + (stops[-1].end() if stops else 0)
        head = _EN.pattern("noun_before_which", 0).search(shown, begin, found.start())
        if head is None or _EN.words("general_nouns").intersection(head[0].lower().split()):
            continue
        text = f"{said[head.start() : found.start()]} {said[found.start('rest') : found.end()]}"
        mask = f"{shown[head.start() : found.start()]} {shown[found.start('rest') : found.end()]}"
        content = rewrite(text, mask, person)
        subject = rewrite(head[0], head[0], person).rstrip(".")
        yield ClaimDraft(content, subject, Category.STATE, _SCORE, head.start(), found.end())


def complete_percent(said: str, before: str) -> str:
    """Return the clause ``said`` with what its percentage is of, where ``before`` tells.

    ``trying to achieve 100% test coverage``, ``I've reached 65%``: 65% test coverage.
    """
    alone = _EN.pattern("percent_alone", 0).search(said)
    whole = _EN.pattern("percent_of", 0).search(before)
    if alone is None or whole is None:
        return said
    return f"{said[: alone.end('amount')]} {whole['noun']}{said[alone.end('amount') :]}"


def find_topic(content: str) -> str:
    """Return ``The deadline is`` of a statement that tells a value; empty for others."""
    found = _EN.pattern("topic_and_value", 0).match(content)
    topic = found["topic"] if found else ""
    return topic if "'s " in topic or topic.lower().startswith(("the ", "my ")) else ""

"""The kinds of clauses that state something, each read by one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from memoranda.facts.reader import FactStatement
from memoranda.learning.claims import Category
from memoranda.learning.extraction.clauses import leads_nowhere
from memoranda.learning.extraction.predicates import ClauseStatement, read_predicate
from memoranda.learning.extraction.rewriting import ClauseToken, Person, finish_sentence, rewrite
from memoranda.learning.extraction.sentences import MASK
from memoranda.learning.verbs import base_form, is_finite, is_participle, is_past
from memoranda.text.patterns import LanguageData

_EN = LanguageData("en", "extraction")
_LONGEST_NAME = 3
_LONGEST_LEAD = 14
_LONGEST_GROUP = 8
_SHORTEST_INNER = 3
# Lists of the words that are no verb of a lasting habit, and of what a thing is called in passing.
_NO_DOINGS = ("passing_doings", "stop", "adverbs", "prepositions", "auxiliaries", "modals")
_MOCKING = ("evaluative", "moods", "figures", "mocked")
# Words of "my first-floor balcony", and one more.
_LONGEST_THING = 6
# Who is these is not there: they tell something of a day, whatever they judge elsewhere.
_AWAY = frozenset(
    {"back", "off", "away", "out", "free", "here", "there", "up", "down", "done", "open"}
)
# What a title adds: ``Dr Hale`` is of interest, whatever is said.
_TITLED = 0.12
# Score of ``a timeout of 30 s``.
_NOUN_OF_VALUE = 0.58


class ClaimDraft(NamedTuple):
    """A claim before its dates.

    Attributes:
        content: the statement.
        subject: whom or what it is about.
        category: what kind of statement it is.
        score: how sure it is that it lasts.
        fact: its attribute and value, where they could be read.
        own_words: whether it stays in the words of its speaker, who asked to remember it.
    """

    content: str
    subject: str
    category: Category
    score: float
    fact: FactStatement | None = None
    own_words: bool = False


@dataclass(frozen=True, slots=True)
class ClauseContext:
    """The speaker and surroundings that a clause is read with.

    Attributes:
        chat: whether it is said to an assistant.
        people: first names of persons in the turn, in lower case.
        kind: what its statement is whatever it says, where somebody asks to remember it or surely
            corrects something: then any statement will do.
        opens: whether the clause opens its sentence: only then it may leave out ``I``.
    """

    chat: bool
    people: frozenset[str] = frozenset()
    kind: Category | None = None
    opens: bool = True


Words = Sequence[ClauseToken]
# The same words in lower case.
Low = Sequence[str]
_Rule = Callable[[Words, Low, ClauseContext], ClauseStatement | None]


def read_statement(words: Words, setting: ClauseContext) -> ClauseStatement | None:
    """Return what the clause of ``words`` states; ``None`` for nothing to keep."""
    low = [word.low for word in words]
    found = [stated for rule in _rules() if (stated := rule(words, low, setting)) is not None]
    if not found and (inner := _subordinate(words, low, setting)) is not None:
        found.append(inner)
    return max(found, key=lambda stated: stated.score, default=None)


def _rules() -> Sequence[_Rule]:
    about_oneself = (_called, _first_person, _elided, _possessed, _belonging)
    return (*about_oneself, _favoured, _named, _value, _affecting)


def _has(words: Low, *lists: str) -> bool:
    """Return whether one of ``words`` is in one of the lists."""
    return not _EN.words(*lists).isdisjoint(words)


def _subordinate(words: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``after I failed the test`` in a clause that itself states nothing to keep."""
    for place, opening in enumerate(low[:-_SHORTEST_INNER]):
        before = low[place - 1] if place else ""
        if opening not in _EN.words("inner_openings") or before in _EN.words("hypothetical"):
            continue
        if _has(low[:place], "hypothetical"):
            return None
        if opening == "that" and before not in _EN.words("before_fact"):
            continue
        shift = place + 1
        rule = _first_person if low[shift].partition("'")[0] in {"i", "we"} else _possessed
        stated = rule(words[shift:], low[shift:], setting)
        # "I swell up when I eat nuts" does not tell that I eat them.
        if opening == "when" and not any(map(is_past, low[shift + 1 : shift + 3])):
            continue
        if stated is not None:
            return stated._replace(
                score=stated.score - 0.04,
                rest=stated.rest + shift,
                first=stated.first + shift,
                subject=stated.subject + shift if stated.subject else 0,
            )
    return None


def _called(words: Words, low: Low, _: ClauseContext) -> ClauseStatement | None:
    """Read ``I'm Craig``."""
    place = 1 if low[0] in {"i'm", "im"} else 2 if low[:2] == ["i", "am"] else 0
    if not place or len(words) <= place or not words[place].text[0].isupper():
        return None
    after = words[place + 1] if len(words) > place + 1 else None
    ends = after is None or after.low in {",", "and", "from", "."} or after.text[0].isupper()
    if not ends or low[place] in _EN.words("traits", "stop"):
        return None
    return ClauseStatement(Category.IDENTITY, 0.78, place)


def _favoured(_: Words, low: Low, __: ClauseContext) -> ClauseStatement | None:
    """Read ``Contemporary is my top pick``, ``Blue's my fave``."""
    inside = range(1, min(len(low) - 1, _LONGEST_GROUP))
    place = next((at for at in inside if low[at] in {"my", "our"}), None)
    if place is None or not _has(low[place + 1 : place + 4], "favoured"):
        return None
    joined = low[place - 1] in _EN.words("copulas") or low[place - 1].endswith("'s")
    if not joined or low[0] in _EN.words("pronouns", "second", "interrogatives", "pointers"):
        return None
    return ClauseStatement(Category.PREFERENCE, 0.68, 0)


def _first_person(words: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``I moved``, ``Last week we've moved``."""
    start = _own_subject(low)
    tail = "" if start is None else low[start].partition("'")[2]
    joined = _EN.mapping("joined_verbs")
    if start is None or (tail and tail not in joined):
        return None
    following = list(low[start + 1 :])
    done = tail == "d" and following and is_participle(following[0])
    verb = "have" if done else joined.get(tail)
    spelled = [verb, *following] if verb else following
    reading = read_predicate(spelled, chat=setting.chat, lead=low[:start])
    if reading is None and setting.kind and not _has(spelled[:3], "hypothetical"):
        reading = ClauseStatement(Category.REMEMBER, 0.6, 0)
    everybody = "all" in spelled[:3] and low[start].startswith("we")
    if reading is None or (everybody and reading.category is not Category.EVENT):
        return None
    rest = reading.rest + len(words) - len(spelled)
    aside = low[start - 1] == "," and low[0] in _EN.words("time_leads", "adjuncts")
    first = start if aside and leads_nowhere(words[:start]) else 0
    return reading._replace(rest=max(start + 1, rest), first=first)


def _own_subject(low: Low) -> int | None:
    """Return the place of the subject ``I`` of the clause, after words of time."""
    start = 0
    if low[0] in _EN.words("subordinators"):
        if "," not in low[:_LONGEST_LEAD]:
            return None
        start = low.index(",") + 1
    for place in range(start, min(len(low), start + _LONGEST_LEAD)):
        if low[place].partition("'")[0] in {"i", "we"}:
            return place if _is_lead(low[start:place]) else None
    return None


def _is_lead(low: Low) -> bool:
    verbs = _has(low, "auxiliaries") or "that" in low or "which" in low
    if verbs and low[0] not in _EN.words("subordinators"):
        return False
    if _has(low, "time_nouns") and not _has(low, "pronouns"):
        return True
    adverbs = all(each in _EN.words("adverbs") or each == "," for each in low)
    if adverbs or low[0] in _EN.words("time_leads"):
        return not _has(low, "second", "hypothetical")
    return low[0] in {"my", "our"} and low[-1] == "and" and len(low) <= _LONGEST_GROUP


def _elided(_: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``Just got new shoes``, ``Been running longer``, ``Researching agencies``."""
    skipped = _EN.words("elided_adverbs")
    place = next((at for at, each in enumerate(low) if each not in skipped), None)
    if place is None or not setting.opens:
        return None
    verb, rest = low[place], low[place:]
    past = verb in _EN.words("elided_past")
    doing = verb in _EN.words("elided_doings") and not any(map(_may_be_present, rest))
    denied = setting.chat and _is_denial(rest)
    if verb == "been":
        prefix, spelled = "I have", ["have", *low]
    elif denied or (low[place : place + 2] == ["used", "to"]):
        prefix, spelled = "I", list(low)
    elif verb == "got" and setting.chat:
        prefix, spelled = "I have", ["have", *low]
    elif past:
        prefix, spelled = "I", list(low)
    elif doing or verb == "gonna":
        prefix, spelled = "I am", ["am", *low]
    else:
        return None
    reading = read_predicate(spelled, chat=setting.chat)
    if reading is None or (past and "by" in rest[1:2]):
        return None
    begin = max(place, reading.rest + len(low) - len(spelled))
    return reading._replace(score=reading.score - 0.03, rest=begin, prefix=prefix)


def _is_denial(low: Low) -> bool:
    """Return whether words without a subject deny what one does, and give no order."""
    after = low[1] if len(low) > 1 else ""
    if low[0] == "don't":
        return after in _EN.words("bodily", "likes") and after not in {
            "use",
            "work",
            "fly",
            "speak",
        }
    told = is_participle(after) if low[0] in {"haven't", "never"} else True
    return low[0] in _EN.words("elided_denials") and told and not _has(low, "second")


def _affecting(_: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``heights freak me out``, ``flying makes me anxious``: what something does to one."""
    verb = _verb_before_me(low) if setting.chat else None
    if verb is None:
        return None
    group = low[:verb]
    killing = low[verb] in {"kill", "finish", "upset"} and group[-1] in {"would", "will"}
    group = group[:-1] if killing else group
    unclear = ("determiners", "pronouns", "second", "interrogatives", "pointers", "modals")
    other = ("auxiliaries", "group_breaks", "hypothetical", "spoken_to")
    heads = [each for each in group if not _has([each], "adverbs", "stop", "evaluative")]
    if not heads or _has(group, *unclear, *other):
        return None
    agrees = _ends_in_s(heads[-1]) != _ends_in_s(low[verb])
    return ClauseStatement(Category.PREFERENCE, 0.66, 0) if agrees or killing else None


def _verb_before_me(low: Low) -> int | None:
    """Return the place of the verb in the present whose object is ``me`` or ``my stomach``."""
    near = range(1, min(len(low) - 1, _LONGEST_GROUP))
    own = _EN.words("body_parts", "ailments")
    ends = (at for at in near if low[at] == "my" and low[at + 1] in own)
    place = next(ends, low.index("me") if "me" in low[1:_LONGEST_GROUP] else 0)
    verb = place - (2 if low[place - 1] == "to" else 1)
    if verb < 1 or is_past(low[verb]) or not low[verb].isalpha() or _has([low[verb]], "adverbs"):
        return None
    getting = low[verb] in {"get", "gets"} and place - verb > 1
    return verb if getting or low[verb] not in _EN.words("spoken_to") else None


def _ends_in_s(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")


def _may_be_present(word: str) -> bool:
    """Return whether ``word`` is an auxiliary or can be a verb of a third person in the present."""
    third = word.endswith("s") and word[:-1] in _EN.words("habits", "light", "mental")
    return third or word.endswith("'s") or word in _EN.words("auxiliaries", "modals")


def _after_relative(words: Words, low: Low, start: int) -> int | None:
    """Return the place of the verb after who belongs to the speaker: ``my uncle Tom fishes``."""
    near = range(start + 1, min(len(low), start + 4))
    place = next(
        (at for at in near if low[at] in _EN.words("relatives", "own_animals", "ventures")), None
    )
    if place is None:
        return None
    place += 1
    while place < len(low) and words[place].text[0].isupper() and low[place] not in {"i", "i'm"}:
        place += 1
    while place < len(low) and low[place] in _EN.words("adverbs", "frequency"):
        place += 1
    many = low[place - 1].endswith("s")
    if (
        place >= len(low)
        or not low[place].isalpha()
        or _has(low[place : place + 1], "stop", "links")
    ):
        return None
    return place if many != low[place].endswith("s") else None


def _group_end(low: Low, start: int) -> int | None:
    """Return the place of the verb after the noun group that begins at ``start``."""
    least = 2 if low[start] in {"my", "our", "the"} else 1
    for place in range(start + least, min(len(low), start + _LONGEST_GROUP)):
        if is_finite(low[place]) or low[place] in _EN.words("value_verbs"):
            return place
        if low[place] in _EN.words("group_breaks"):
            return None
    return None


def _as_first_person(low: Low, place: int) -> list[str]:
    """Return the predicate of a third person at ``place`` in the words of a first one."""
    verb = low[place]
    if verb in _EN.mapping("first_of_third"):
        return [_EN.mapping("first_of_third")[verb], *low[place + 1 :]]
    for ending in ("s", "es"):
        base = verb.removesuffix(ending)
        if base != verb and base in _EN.words("habits", "likes"):
            return [base, *low[place + 1 :]]
    return [base_form(verb), *low[place + 1 :]]


def _possessed(words: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``my sister lives in Porto``, ``my favorite color is blue``."""
    start = _possessive_start(low)
    if start is None:
        return None
    verb = _group_end(low, start)
    if verb is None and setting.chat:
        verb = _after_relative(words, low, start)
    short = verb is None
    if verb is None:
        near = range(start + 1, min(len(low), start + 5))
        verb = next((at + 1 for at in near if low[at].endswith("'s")), len(low))
    if verb >= len(low):
        return None
    group = [each.removesuffix("'s") for each in low[start + 1 : verb]]
    spelled = ["am", *low[verb:]] if short else _as_first_person(low, verb)
    relative = _has(group, "relatives") and group[-1:] != ["name"]
    reading = _of_group(group, spelled, setting, relative=relative)
    if reading is None:
        return None
    return reading._replace(rest=max(verb, start + 1), subject=verb, third=relative)


def _belonging(_: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``my balcony faces north``, ``our garden is tiny``: how something of one's own is."""
    start = _possessive_start(low) if setting.chat else None
    if start is None or _has(low, "second", "at_present", "hypothetical"):
        return None
    near = range(start + 1, min(len(low) - 1, start + _LONGEST_THING))
    noun = next((at for at in near if low[at].removesuffix("'s") in _EN.words("belongings")), None)
    while noun is not None and noun + 1 in near and low[noun + 1] in _EN.words("belongings"):
        noun += 1
    if noun is None or _has(low[start + 1 : noun], "group_breaks", "auxiliaries", "prepositions"):
        return None
    if low[noun].endswith("'s"):
        verb, after = "is", noun + 1
    else:
        place = _after_adverbs(low, noun + 1)
        verb, after = low[place] if place < len(low) else "", place + 1
    told = _after_adverbs(low, after)
    if told >= len(low) or not _tells_how(low, noun, verb, told):
        return None
    kind = Category.IDENTITY if _has(low[noun : noun + 1], "of_the_body") else Category.STATE
    return ClauseStatement(kind, 0.66, min(after, told), first=start, subject=after - 1)


def _tells_how(low: Low, noun: int, verb: str, told: int) -> bool:
    """Return whether what follows the verb tells for good how a thing of one's own is."""
    thing, first = low[noun].removesuffix("'s"), low[told]
    following = low[told + 1] if told + 1 < len(low) else ""
    if verb in {"is", "are"}:
        return _is_for_good(thing, first, following)
    if verb in {"doesn't", "don't"}:
        return first in _EN.words("lasting_lacks") and bool(following)
    if not verb.isalpha() or is_past(verb):
        return False
    # "My knee hurts when I run", "our garden gets the evening sun".
    again = _has([thing], "of_the_body") and first in {"when", "whenever", "if", "after"}
    if again or (verb in {"gets", "get"} and _has(low, "of_the_weather")):
        return True
    many = thing.endswith("s") or thing in _EN.words("plural_parts")
    agrees = _ends_in_s(verb) != many and not _has([verb], *_NO_DOINGS)
    return agrees and not _has([first], "evaluative", "pointers", "interrogatives", "mocked")


def _is_for_good(thing: str, first: str, following: str) -> bool:
    """Return whether a thing is for good what the words after ``is`` say, or where they do."""
    if first in {"a", "an"}:
        return bool(following) and not _has([following], *_MOCKING)
    placed = not _has([thing], "movable") and first in _EN.words("at_home_in")
    lasting = _has([first], "lasting_traits", "lasting_participles")
    return lasting or _is_value(first) or (placed and following != "fire")


def _after_adverbs(low: Low, place: int) -> int:
    """Return the place of the first word from ``place`` on that is no adverb."""
    while place < len(low) and low[place] in _EN.words("adverbs", "frequency"):
        place += 1
    return place


def _possessive_start(low: Low) -> int | None:
    if low[0] in {"my", "our"}:
        return 0
    if low[0] == "one" and low[1:2] == ["of"] and low[2:3] in (["my"], ["our"]):
        return 2
    for place, each in enumerate(low[:_LONGEST_GROUP]):
        weekly = low[0] in _EN.words("weekdays") or not _EN.words("weekdays").isdisjoint(
            low[1:place]
        )
        after = place and (low[place - 1] == "," or weekly)
        if each in {"my", "our"} and after and low[0] in _EN.words("time_leads"):
            return place
    return None


def _of_group(
    group: Low, spelled: Low, setting: ClauseContext, *, relative: bool
) -> ClauseStatement | None:
    """Return what is said of something of the speaker's own."""
    reading = read_predicate(spelled, chat=setting.chat, third=relative)
    copula = spelled[0] in {"am", "was", "were"}
    told = any(each not in _EN.words("stop", "evaluative") for each in spelled[1:])
    if _is_passing(group, spelled, setting):
        return None
    if relative and reading is not None:
        return reading._replace(category=Category.RELATION, score=reading.score + 0.02)
    if copula and _is_bare_value(group, spelled[1:]):
        return None
    preferred = setting.chat and _has(group, "favoured", "liked_nouns")
    if copula and told and (preferred or _has(group, "attributes", "state_nouns")):
        return _attribute(group, spelled)
    if reading is None and setting.chat and told and not copula and _has(group[-1:], "ventures"):
        reading = ClauseStatement(Category.STATE, 0.62, 1)
    if reading is not None:
        kind = Category.EVENT if reading.category is Category.EVENT else Category.STATE
        return reading._replace(category=kind, score=reading.score - 0.04)
    return ClauseStatement(Category.REMEMBER, 0.6, 1) if setting.kind and told else None


def _is_passing(group: Low, spelled: Low, setting: ClauseContext) -> bool:
    """Return whether it is said of a moment: ``my hands shook``, ``our kids are asleep``."""
    inward = not setting.kind and _has(group[-1:], "seats_of_feeling") and spelled[0] != "am"
    if inward or (_has(group[-1:], "body_parts") and is_past(spelled[0])):
        return True
    empty = ("passing", "stop", "evaluative", "inward_doings")
    being = spelled[0] in {"am", "was", "were", "is", "are"}
    chatting = setting.chat and not setting.kind
    return chatting and being and all(_has([each], *empty) for each in spelled[1:4])


def _is_bare_value(group: Low, told: Low) -> bool:
    """Return whether it is not said of what the value is: ``goal``, ``under 4 hours``."""
    nouns = {each for each in told if each.isalpha()} - _EN.words("stop", "prepositions")
    aim = bool(group) and set(group) <= _EN.words("goals")
    return aim and nouns <= _EN.words("value_units") and any(map(_is_value, told))


def _attribute(group: Low, spelled: Low) -> ClauseStatement:
    if _has(group, "goals"):
        return ClauseStatement(Category.PLAN, 0.56, 1)
    judged = all(each in _EN.words("evaluative", "stop") for each in spelled[1:4])
    kinds = _EN.mapping("kinds_of_attributes")
    kind = next((kinds[nouns] for nouns in kinds if _has(group, nouns)), Category.IDENTITY)
    return ClauseStatement(Category(kind), 0.4 if judged else 0.72, 1)


def _named(words: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``Ana works at Siemens`` where Ana is a person."""
    verb = _group_end(low, 0)
    title = len(low) > 1 and low[0] in _EN.words("titles") and words[1].text[0].isupper()
    known = title or low[0].removesuffix("'s") in setting.people
    short = low[0].endswith("'s") and _tells_after_is(low[1:3])
    if short:
        spelled, verb = ["am", *low[1:]], 1
    elif verb is not None and verb <= _LONGEST_NAME:
        spelled = _as_first_person(low, verb)
    else:
        return None
    reading = read_predicate(spelled, chat=setting.chat, third=True) if known else None
    if reading is None:
        return None
    score = reading.score + _TITLED * title
    return reading._replace(
        category=Category.RELATION, score=score, rest=verb, subject=verb, third=True
    )


def _tells_after_is(after: Low) -> bool:
    """Return whether ``Ana's`` is ``Ana is`` before this word, and nothing of hers."""
    plain = _has(after[:1], "articles", "prepositions", "traits", "relatives", "adverbs")
    minded = after[1:2] and after[1] in {"about", "into", "on"}
    return plain or bool(minded) or (bool(after) and after[0].endswith("ing"))


def _value(words: Words, low: Low, setting: ClauseContext) -> ClauseStatement | None:
    """Read ``the response time is 250ms``, ``coverage improved from 60% to 78%``."""
    starts = [at for at, each in enumerate(low) if each in {"the", "my", "our"}]
    if _has(low[:3], "state_nouns") and 0 not in starts:
        starts.insert(0, 0)
    for start in starts:
        verb = _group_end(low, start)
        if verb is None or low[verb] not in _EN.words("value_verbs"):
            continue
        group, rest = low[start:verb], low[verb + 1 :]
        inside = start > 0 and low[verb] not in _EN.words("value_changes")
        if inside or _has(low[start:], "second") or _has(group, "general_nouns"):
            continue
        if _is_bare_value(group[1:], rest):
            continue
        product = setting.chat and start == 0 and low[verb] in _EN.words("product_verbs")
        if product and any(word.text[0].isupper() for word in words[verb + 1 :]):
            return ClauseStatement(Category.STATE, 0.5, verb, subject=verb)
        any_will_do = setting.kind and start == 0 and rest
        if any_will_do or any(map(_is_value, rest[:_LONGEST_LEAD])):
            known = 0.64 if _has(group, "state_nouns") else 0.52
            score = known if setting.chat or low[start] != "the" else 0.5
            category = Category.CONSTRAINT if "budget" in group else Category.STATE
            return ClauseStatement(category, score, verb, first=start, subject=verb)
    return None


def _is_value(word: str) -> bool:
    return word in _EN.words("days_and_months") or any(map(str.isdigit, word))


def read_dated(words: Words, setting: ClauseContext) -> ClauseStatement | None:
    """Return what a clause states that tells a time: ``My sister flies in on the 28th``.

    It is not looked at whether it tells one. A day makes worth knowing what would be small talk
    without it, so any verb will do, but those of what somebody only has in mind.
    """
    low = [word.low for word in words]
    if _has(low, "hypothetical", "second", "interrogatives_of_doubt") or low[0] == "here's":
        return None
    if any(one in _EN.words("mental") and other == "that" for one, other in pairwise(low)):
        return None
    start = _own_subject(low)
    if start is not None:
        return _own_event(low, start)
    if setting.opens and (elided := _own_elided(low)):
        return elided
    for first in _dated_subjects(low):
        verb = _dated_verb(low, first, setting)
        if verb is not None:
            past = is_past(low[verb]) and low[verb] not in _EN.words("same_in_past")
            score = 0.5 if _has(low[first:verb], "occasions", "relatives") else 0.46
            kind = Category.EVENT if past else Category.PLAN
            third = not _EN.words("relatives").isdisjoint(
                each.removesuffix("'s") for each in low[first:verb]
            )
            return ClauseStatement(kind, score, max(verb, first + 1), subject=verb, third=third)
    return None


def _own_elided(low: Low) -> ClauseStatement | None:
    """Read ``Flying to Denver on Thursday``, ``Had the scan on Friday``, ``Off to Rome``."""
    if low[0] in _EN.words("elided_past"):
        return ClauseStatement(Category.EVENT, 0.44, 0, prefix="I")
    doing = low[0].endswith("ing") and _base_of_doing(low[0]) in _EN.words("dated_verbs")
    if (doing and not any(map(_may_be_present, low[1:]))) or (
        low[0] in _AWAY - {"here", "there", "up", "down", "done", "open", "free"}
        and low[1:2]
        and low[1] in _EN.words("prepositions")
    ):
        return ClauseStatement(Category.PLAN, 0.44, 0, prefix="I am")
    return None


def _base_of_doing(word: str) -> str:
    """Return the verb of a word in "-ing", as far as its spelling tells."""
    stem = word.removesuffix("ing")
    known = _EN.words("dated_verbs")
    short = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
    return next((each for each in (stem, f"{stem}e", short) if each in known), stem)


def _own_event(low: Low, start: int) -> ClauseStatement | None:
    """Read what ``I`` or ``we`` do or did on a day."""
    tail = low[start].partition("'")[2]
    told = [each for each in low[start + 1 :] if each not in _EN.words("adverbs", "fillers")]
    due = told[:2] in (["need", "to"], ["needs", "to"])
    unsettled = bool(told) and told[0] in _EN.words("unsettled", "never_told") and not due
    if not told or unsettled or tail in {"d", "s"}:
        return None
    being = tail in {"m", "re"} or told[0] in _EN.words("be_forms")
    said = told[1:] if being and not tail else told
    if being and (not said or said[0] in _EN.words("unsettled", "evaluative") - _AWAY):
        return None
    promises = (
        (told[0] == "will" or tail == "ll") and _has(told[:2], "promised") and "be" not in told[:2]
    )
    if promises or (told[0] in _EN.words("modals") and told[0] not in {"will", "must"}):
        return None
    past = is_past(told[0]) and told[0] not in _EN.words("same_in_past")
    return ClauseStatement(Category.EVENT if past else Category.PLAN, 0.46, start + 1)


def _dated_subjects(low: Low) -> Iterator[int]:
    """Yield where the subject of a clause may begin: at its start, or after words of time."""
    yield 0
    for place, each in enumerate(low[:_LONGEST_GROUP]):
        lead = low[0] in _EN.words("time_leads") or _has(low[:place], "time_units")
        if place and lead and each in {"my", "our", "the", "they", "they're"}:
            yield place


def _dated_verb(low: Low, first: int, setting: ClauseContext) -> int | None:
    """Return the place of the verb after a subject that is one's own, or that comes to oneself."""
    verb = _event_verb(low, first)
    if verb is None or _has(low[verb : verb + 3], "unsettled", "never_told"):
        return None
    group = [each.removesuffix("'s") for each in low[first:verb]]
    rest = low[verb:]
    if "it" in low[first + 1 :]:
        return None
    own = bool({"my", "our", "me", "us"}.intersection(low))
    relative = _has(group, "relatives") or group[0] in setting.people
    if group[0].startswith("they"):
        return verb if own else None
    if group[0] in {"it", "there"}:
        return verb if own and _has(rest, "occasions") else None
    if group[0] in {"my", "our"} or relative or own:
        return verb
    known = _has(group, "occasions") and not (
        low[verb] in {"was", "were"} and not is_participle(rest[1])
    )
    known = known or (setting.chat and _has(group, "callers", "household"))
    return verb if known and group[0] not in _EN.words("pronouns", "pointers") else None


def _event_verb(low: Low, first: int) -> int | None:
    """Return the place of the finite verb of a subject; of ``viva's in``, that of the subject."""
    for place in range(first, min(len(low), first + _LONGEST_GROUP)):
        each, after = low[place], low[place + 1] if place + 1 < len(low) else ""
        led = each == "to" and low[place - 1] in _EN.words("occasions")  # "our flight to Oslo"
        if each in _EN.words("group_breaks") and not led:
            return None
        if each == "they're" or (each.endswith("'s") and (_is_after_is(after) or each == "it's")):
            return place + 1 if after else None
        if place == first:
            continue
        plain = each.removesuffix("es") if each.endswith(("ches", "shes", "oes")) else each
        base = plain[:-3] + "y" if plain.endswith("ies") else plain.removesuffix("s")
        listed = {each, base, plain} & _EN.words("dated_verbs")
        if (is_finite(each) or listed) and not _is_noun_here(low, place):
            return place
    return None


def _is_after_is(word: str) -> bool:
    """Return whether ``viva's`` is ``viva is`` before a word."""
    doing = word.endswith("ing") and word not in _EN.words("occasions")
    return doing or word in _EN.words("after_short_is")


def _is_noun_here(low: Low, place: int) -> bool:
    """Return whether a word that may be a verb belongs to the subject: ``school play is``."""
    after = low[place + 1 : place + 3]
    finite = any(is_finite(each) and each not in _EN.words("habits") for each in after[:1])
    return finite or low[place - 1] in {"my", "our", "the", "a", "an"}


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
        if bare or noun[-1].lower() not in _EN.words("state_nouns") or _has(noun, "stop"):
            continue
        subject = f"{person.possessive} {' '.join(noun)}"
        start, end = found.span("value")
        text = finish_sentence(f"{subject} is {said[start:end]}")
        yield ClaimDraft(text, subject, Category.STATE, _NOUN_OF_VALUE)
    # "the response time, which has improved to 250ms"
    for found in _EN.pattern("which_clause", 0).finditer(shown):
        if not any(map(str.isdigit, found["rest"])):
            continue
        begin = max(0, found.start() - 90)
        stops = list(_EN.pattern("noun_stop", 0).finditer(shown[begin : found.start()]))
        begin += stops[-1].end() if stops else 0
        head = _EN.pattern("noun_before_which", 0).search(shown, begin, found.start())
        if head is None or _has(head[0].lower().split(), "general_nouns"):
            continue
        group, rest = slice(*head.span()), slice(*found.span("rest"))
        text = rewrite(f"{said[group]} {said[rest]}", f"{shown[group]} {shown[rest]}", person)
        subject = rewrite(head[0], head[0], person).rstrip(".")
        yield ClaimDraft(text, subject, Category.STATE, _NOUN_OF_VALUE)


def complete_percent(said: str, before: str) -> str:
    """Return the clause ``said`` with what its percentage is of, where ``before`` tells.

    ``trying to achieve 100% test coverage``, ``I've reached 65%``: 65% test coverage.
    """
    alone = _EN.pattern("percent_alone", 0).search(said)
    whole = _EN.pattern("percent_of", 0).search(before)
    if alone is None or whole is None:
        return said
    return f"{said[: alone.end('amount')]} {whole['noun']}{said[alone.end('amount') :]}"

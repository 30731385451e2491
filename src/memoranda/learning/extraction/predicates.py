"""Classifies first-person predicates: the kind of statement, and how durable it is.

Each rule gives a category and a score from 0 to 1, before what the clause holds is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memoranda.learning.claims import Category
from memoranda.learning.verbs import is_participle, is_past
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "extraction")


class Predicate(NamedTuple):
    """The kind of statement that a predicate makes, and how durable it is.

    Attributes:
        category: the kind of statement.
        score: how surely it is a durable one, 0 to 1.
        rest: index of the first word of the predicate that may carry content.
    """

    category: Category
    score: float
    rest: int


Low = Sequence[str]

_BACKGROUND = 0.1
_NOTHING = Predicate(Category.EVENT, 0.0, 0)
"""What a rule returns that knows there is nothing to keep, so that none after it is asked."""


def read_predicate(low: Low, *, chat: bool) -> Predicate | None:
    """Return what the words after ``I`` say; ``None`` where it is nothing to keep.

    Args:
        low: they in lower case, contractions with the subject spelled out (``am``, ``have``).
        chat: whether it is said to an assistant, so that a wish is a request.
    """
    place, adverbs = _skip(low, 0)
    if place >= len(low) or not _EN.words("nearly").isdisjoint(adverbs):
        return None
    verb = low[place]
    if verb in _EN.words("be_forms"):
        reading = _being(low, place + 1, past=verb in {"was", "were"}, chat=chat)
    elif verb in {"have", "has"}:
        reading = _having(low, place + 1, never="never" in adverbs)
    else:
        reading = (
            _modal(low, place, chat=chat)
            or _negated(low, place)
            or _minded(low, place, chat=chat)
            or _acting(low, place, adverbs, chat=chat)
        )
    return reading if reading is not None and reading.score > 0 else None


def _skip(low: Low, place: int) -> tuple[int, list[str]]:
    """Return where the verb stands, and the adverbs before it."""
    adverbs = []
    while place < len(low) and (low[place] in _EN.words("adverbs", "frequency")):
        adverbs.append(low[place])
        place += 1
    if _word(low, place) == "no" and _word(low, place + 1) == "longer":
        return place + 2, [*adverbs, "no", "longer"]
    return place, adverbs


def _word(low: Low, place: int) -> str:
    return low[place] if place < len(low) else ""


# --- to be -------------------------------------------------------------------------------


def _being(low: Low, place: int, *, past: bool, chat: bool) -> Predicate | None:
    place, adverbs = _skip(low, place)
    word, after = _word(low, place), _word(low, place + 1)
    if word == "gonna" or (word == "going" and after == "to"):
        return _future(low, place + (2 if after == "to" else 1), chat=chat)
    if word.endswith("ing") and word not in _EN.words("evaluative") and word != "nothing":
        return _doing(low, place, past=past, background=past)
    reading = (
        _attached(low, place)
        or _trait(low, place, past=past)
        or _undergone(low, place, past=past)
        or _member(low, place)
    )
    if reading is not None or "not" in adverbs or not word:
        return reading
    known = word in _EN.words("evaluative", "stop")
    return None if known else Predicate(Category.IDENTITY, 0.38, place)


def _attached(low: Low, place: int) -> Predicate | None:
    """Read ``passionate about``, ``into``, ``used to``."""
    word, after = _word(low, place), _word(low, place + 1)
    if word == "into":
        return Predicate(Category.PREFERENCE, 0.65, place + 1)
    if word == "used" and after == "to":
        return Predicate(Category.PREFERENCE, 0.5, place + 2)
    if word in _EN.mapping("attached") and after == _EN.mapping("attached")[word]:
        lasts = word in {"responsible", "allergic"}
        kind = Category.IDENTITY if lasts else Category.PREFERENCE
        return Predicate(kind, 0.7, place + (1 if lasts else 2))
    return None


def _trait(low: Low, place: int, *, past: bool) -> Predicate | None:
    """Read who, how old and where somebody is."""
    word, after = _word(low, place), _word(low, place + 1)
    if word in _EN.words("traits"):
        return Predicate(Category.IDENTITY, 0.85, place)
    if word in _EN.words("articles"):
        return _being_a(low, place, past=past)
    if word.isdigit():
        aged = not past and after not in {"%", "-", "/", "."}
        return Predicate(Category.IDENTITY, 0.75, place) if aged else _NOTHING
    if word == "on" and _is_version(low, place + 2):
        return _NOTHING if past else Predicate(Category.STATE, 0.6, place + 1)
    if word in _EN.words("place_prepositions") and after not in _EN.words("not_places"):
        return Predicate(Category.IDENTITY, 0.6, place + 1)
    return None


def _is_version(low: Low, place: int) -> bool:
    """Return whether ``3.12`` stands there."""
    whole, point, part = (_word(low, place + step) for step in range(3))
    return whole.isdigit() and point == "." and part.isdigit()


def _member(low: Low, place: int) -> Predicate | None:
    """Read ``friends with``, ``part of the brigade``."""
    word, after = _word(low, place), _word(low, place + 1)
    if _EN.words("relatives").intersection((word, after)):
        return Predicate(Category.RELATION, 0.6, place)
    if word == "part" and after == "of":
        return Predicate(Category.IDENTITY, 0.56, place + 1)
    return None


def _being_a(low: Low, place: int, *, past: bool) -> Predicate | None:
    after = _word(low, place + 1)
    if "fan" in low[place : place + 4]:
        return Predicate(Category.PREFERENCE, 0.7, place + 3)
    if after in _EN.words("moods", "stop") or _is_figure(low, place + 1):
        return _NOTHING
    if low[place] in {"my", "our"}:
        return Predicate(Category.IDENTITY, 0.42, place + 1)
    return Predicate(Category.IDENTITY, 0.5 if past else 0.65, place + 1)


def _is_figure(low: Low, place: int) -> bool:
    """Return whether the noun there is a manner of speaking: ``a ghost until noon``."""
    while _word(low, place) in _EN.words("evaluative", "adverbs"):
        place += 1
    after = _word(low, place + 1)
    return _word(low, place) in _EN.words("figures") and _ends_noun(after)


def _ends_noun(after: str) -> bool:
    """Return whether the noun before ``after`` is the last word of its phrase."""
    return not after.isalnum() or after in _EN.words("after_noun")


def _undergone(low: Low, place: int, *, past: bool) -> Predicate | None:
    """Read what was done to somebody: ``diagnosed with``, ``able to``."""
    word = _word(low, place)
    if word in {"told", "given", "supposed", "said"}:
        return _NOTHING
    if word in _EN.words("passives") or (
        past and is_participle(word) and word not in _EN.words("evaluative")
    ):
        return Predicate(Category.EVENT, 0.6, place)
    return Predicate(Category.EVENT, 0.5, place + 2) if word == "able" else None


def _doing(low: Low, place: int, *, past: bool, background: bool = False) -> Predicate | None:
    word, after = low[place], _word(low, place + 1)
    if word == "trying":
        return _task(low, place + 1)
    if word == "considering" or (word == "thinking" and after in {"of", "about"}):
        return Predicate(Category.PLAN, 0.52, place + 2)
    if word in {"starting", "beginning", "getting"} and after == "to":
        inward = _word(low, place + 2) in _EN.words("mental", "evaluative")
        return _NOTHING if inward else Predicate(Category.EVENT, 0.5, place + 2)
    if word in _EN.words("inward_doings") and after not in _EN.mapping("doings_with").get(word, ()):
        return _NOTHING
    kind, score = Category.EVENT, 0.52
    if word in _EN.words("moves"):
        kind, score = Category.EVENT if past else Category.PLAN, 0.68
    elif word in _EN.words("occupies"):
        kind, score = Category.STATE if word == "using" else Category.IDENTITY, 0.64
    return Predicate(kind, score - (_BACKGROUND if background else 0.0), place)


def _task(low: Low, place: int) -> Predicate | None:
    """Read ``trying to build …``: what is built is of interest later, what is solved is not."""
    verb = _word(low, place + 1)
    return Predicate(Category.STATE, 0.43, place + 2) if verb in _EN.words("building") else None


# --- to have -----------------------------------------------------------------------------


def _having(low: Low, place: int, *, never: bool) -> Predicate | None:
    place, adverbs = _skip(low, place)
    word = _word(low, place)
    if word == "to":
        return Predicate(Category.CONSTRAINT, 0.45, place + 1)
    if word == "been":
        return _having_been(low, place + 1)
    if word in {"had", "got", "gotten"}:
        return _owning(low, place + 1, base=0.56)
    if never or "never" in adverbs:
        return Predicate(Category.EVENT, 0.62, place)
    if is_participle(word):
        return _having_done(word, place, always="always" in adverbs)
    return _owning(low, place, base=0.66)


def _having_been(low: Low, place: int) -> Predicate | None:
    if _word(low, place) == "to":
        return Predicate(Category.EVENT, 0.62, place + 1)
    doing, _ = _skip(low, place)
    if not _word(low, doing).endswith("ing"):
        return _being(low, place, past=True, chat=False)
    reading = _doing(low, doing, past=True)
    if reading is None or not reading.score:
        return reading
    return reading._replace(category=Category.EVENT, score=reading.score + 0.04)


def _having_done(word: str, place: int, *, always: bool) -> Predicate | None:
    if always and word in _EN.words("likes") | {"wanted", "dreamed"}:
        return Predicate(Category.PREFERENCE, 0.65, place)
    if word in _EN.words("decides"):
        return Predicate(Category.DECISION, 0.7, place)
    return None if word in _EN.words("mental") else Predicate(Category.EVENT, 0.58, place)


def _owning(low: Low, place: int, *, base: float) -> Predicate | None:
    """Read what follows ``have``: a thing, a person, or a mere manner of speaking."""
    head = [each for each in low[place : place + 5] if each not in _EN.words("stop")]
    if not head or head[0] in _EN.words("evaluative") or _is_momentary(low, place):
        return None
    if _EN.words("junk_objects").intersection((*head[:2], head[-1])):
        return None
    if _EN.words("appointments").intersection(head):
        return Predicate(Category.PLAN, base - 0.02, place)
    if _EN.words("relatives").intersection(head):
        return Predicate(Category.RELATION, base + 0.08, place)
    if _EN.words("tastes").intersection(head[:3]):
        return Predicate(Category.PREFERENCE, base + 0.04, place)
    return Predicate(Category.POSSESSION, base, place)


def _is_momentary(low: Low, place: int) -> bool:
    """Return whether somebody has that only now: ``two hours to pack``, ``eggs and rice``."""
    for at in range(place, min(len(low), place + 5)):
        after = _word(low, at + 1)
        if low[at] in _EN.words("time_units"):
            return after in _EN.words("time_left")
        if low[at] in _EN.words("food") and _ends_noun(after):
            return not _EN.words("frequency").intersection(low)
        if not low[at].isalnum() or low[at] in _EN.words("relatives"):
            return False
    return False


# --- will, can, do not -------------------------------------------------------------------


def _modal(low: Low, place: int, *, chat: bool) -> Predicate | None:
    verb, word = low[place], _word(low, place + 1)
    if verb in {"will", "gonna"}:
        return _future(low, place + 1, chat=chat) or _NOTHING
    if verb in {"can't", "cannot", "won't"} and word in _EN.words("unable") | {"use", "work"}:
        kind = Category.PREFERENCE if word == "stand" else Category.CONSTRAINT
        return Predicate(kind, 0.7, place + 1)
    if verb == "must" or (verb == "can" and word == "only"):
        return Predicate(Category.CONSTRAINT, 0.62, place + 1)
    return _NOTHING if verb in _EN.words("modals", "hypothetical", "never_told") else None


def _future(low: Low, place: int, *, chat: bool) -> Predicate | None:
    place, _ = _skip(low, place)
    verb = _word(low, place)
    if verb == "be" and _word(low, place + 1) in {"in", "at", "on", "away", "traveling"}:
        return Predicate(Category.PLAN, 0.4, place + 1)
    if verb in _EN.words("mental") or verb in {"be", "try", "do", "check", "send", "need"}:
        return None
    return Predicate(Category.PLAN, 0.34 if chat else 0.43, place)


def _negated(low: Low, place: int) -> Predicate | None:
    verb = low[place]
    if verb in {"do", "did"} and _word(low, place + 1) == "not":
        verb, place = f"{verb}n't", place + 1
    after, _ = _skip(low, place + 1)
    word = _word(low, after)
    if verb == "don't":
        return _refused(low, after, word) or _NOTHING
    if verb in {"do", "did"} and word not in _EN.words("mental") and len(low) > after + 1:
        return Predicate(Category.EVENT, 0.46, after)
    return _NOTHING if verb in {"do", "did", "didn't"} else None


def _refused(low: Low, place: int, word: str) -> Predicate | None:
    if word in _EN.words("likes"):
        return Predicate(Category.PREFERENCE, 0.7, place + 1)
    if word in {"live", "work", "study", "teach"} and "anymore" in low:
        return Predicate(Category.IDENTITY, 0.7, place)
    if word in _EN.words("bodily") and word != "own":
        return Predicate(Category.PREFERENCE, 0.7, place)
    if word in {"have", "own"} and _word(low, place + 1) in {"a", "an", "any", "my"}:
        return _owning(low, place + 1, base=0.56)
    return None


# --- other verbs -------------------------------------------------------------------------


def _minded(low: Low, place: int, *, chat: bool) -> Predicate | None:
    """Read verbs of liking, deciding and wanting."""
    verb, after = low[place], _word(low, place + 1)
    if verb == "used" and after == "to":
        return Predicate(Category.EVENT, 0.62, place + 2)
    if verb in _EN.words("likes"):
        return _liking(low, place) or _NOTHING
    if verb in _EN.words("decides") and (verb != "agreed" or after in {"to", "on", "not"}):
        return Predicate(Category.DECISION, 0.66, place)
    if verb in {"want", "plan", "intend", "aim", "wanted", "hope"}:
        return _wanting(low, place, chat=chat) or _NOTHING
    if verb == "went" and after == "with" and _word(low, place + 2) not in _EN.words("stop"):
        return Predicate(Category.DECISION, 0.55, place)
    return None


def _liking(low: Low, place: int) -> Predicate | None:
    after, following = _word(low, place + 1), _word(low, place + 2)
    if after in _EN.words("pointing", "junk_objects"):
        return None
    if after == "to" and following in {"see", "hear", "know", "think"}:
        return None
    score = 0.68
    if after == "the" or (after == "all" and following in {"the", "those", "these"}):
        score = 0.54 if low[place][:6] in {"enjoy", "enjoye", "prefer"} else 0.42
    return Predicate(Category.PREFERENCE, score, place + 1)


def _wanting(low: Low, place: int, *, chat: bool) -> Predicate | None:
    verb = low[place]
    if _word(low, place + 1) != "to" or verb == "hope":
        return None
    goal, _ = _skip(low, place + 2)
    word = _word(low, goal)
    if verb in {"plan", "intend", "aim"}:
        return Predicate(Category.PLAN, 0.6, goal)
    if word in _EN.words("mental"):
        return None
    base = 0.36 if chat else 0.5
    return Predicate(
        Category.PLAN, base + (0.06 if word in _EN.words("life_goals") else -0.08), goal
    )


def _acting(low: Low, place: int, adverbs: Low, *, chat: bool) -> Predicate | None:
    verb = low[place]
    often = bool(
        _EN.words("frequency").intersection(adverbs) or _EN.words("frequency").intersection(low)
    )
    inward = verb in _EN.words("mental")
    judges = inward or verb in _EN.words("evaluative")
    if "never" in adverbs and not is_past(verb) and not judges:
        return Predicate(Category.CONSTRAINT, 0.72, place)
    if inward and not (often and verb in _EN.words("habits")):
        return _giving(low, place, chat=chat)
    if is_past(verb) and not (often and verb in _EN.words("same_in_past")):
        return Predicate(Category.EVENT, 0.58, place)
    return _habit(low, place, often=often) if verb in _EN.words("habits") else None


def _giving(low: Low, place: int, *, chat: bool) -> Predicate | None:
    """Read verbs of speech and light verbs that with the right object tell an event."""
    verb, after, following = low[place], _word(low, place + 1), _word(low, place + 2)
    a_thing = after in {"a", "an", "some", "my", "our"}
    if verb == "gave" and after in {"me", "us"} and following in {"a", "an", "my"}:
        return Predicate(Category.EVENT, 0.56, place + 2)
    if verb in {"made", "saw", "gave", "found", "heard", "noticed"} and a_thing:
        return Predicate(Category.EVENT, 0.52, place)
    if verb in {"learned", "learnt"} and after == "to" and following not in _EN.words("mental"):
        return Predicate(Category.EVENT, 0.5, place + 2)
    if verb in {"came", "kept"} and not chat and after in _EN.words("came_after"):
        return Predicate(Category.EVENT, 0.48, place)
    tried = verb == "tried" and after and after not in {"to", "it"}
    return Predicate(Category.EVENT, 0.5, place) if tried else None


def _habit(low: Low, place: int, *, often: bool) -> Predicate | None:
    verb = low[place]
    if verb in _EN.words("often_only") and not often:
        return None
    if verb in _EN.words("identifies"):
        return Predicate(Category.IDENTITY, 0.7, place)
    if verb == "use":
        return Predicate(Category.STATE, 0.6, place)
    return Predicate(Category.PREFERENCE, 0.66 if often else 0.54, place)

"""What the verb of a first person says: which kind of statement it makes, and how durable it is.

Each rule gives a category and a score from 0 to 1, before what the clause holds is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memoranda.learning.claims import Category
from memoranda.learning.extract import words as w
from memoranda.learning.extract.inflect import is_participle, is_past
from memoranda.learning.extract.words import word_set


class Reading(NamedTuple):
    """What a predicate says.

    Attributes:
        category: the kind of statement.
        score: how surely it is a durable one, 0 to 1.
        rest: index of the first word of the predicate that may carry content.
    """

    category: Category
    score: float
    rest: int


Low = Sequence[str]
_BE = word_set("am is are was were be been")
_ARTICLES = word_set("a an the my our one")
_PLACES = word_set("from in at based near")
_NOT_PLACES = word_set("love awe the a charge shock need for")
_MOODS = word_set("bit little lot mess tad wreck mix")
_CAME = word_set("across out from a back")
_IN_MIND = word_set(
    "trying wondering hoping wishing feeling looking getting having thinking struggling loving "
    "liking dying guessing saying telling talking asking seeing waiting sure referring "
    "experiencing facing encountering encouraging considering expecting seeking noticing counting "
    "sending enjoying here coming going doing being keeping making giving staying pushing stepping "
    "focusing savoring embracing hanging rooting killing heading"
)
_GOOD_AFTER = {
    "looking": word_set("into after"),
    "thinking": word_set("of about"),
    "getting": word_set("married divorced a into"),
    "having": word_set("a surgery twins"),
    "making": word_set("a my some"),
    "going": word_set("on back through camping hiking"),
    "seeing": word_set("a"),
    "waiting": word_set("for"),
    "expecting": word_set("a our my"),
}
"""With these words after them, verbs of :data:`_IN_MIND` tell what somebody does."""

_AFTER_NOUN = w.PREPOSITIONS | word_set(
    "until till before after when while without and but or because if that who which today so "
    "lately sometimes again"
)
_UNITS = word_set(
    "second seconds minute minutes hour hours day days week weeks month months year years"
)
_LEFT = word_set("to left until till before remaining")
_APPOINTMENTS = word_set(
    "appointment meeting flight interview exam deadline trip wedding surgery reservation "
    "presentation vacation holiday conference"
)
_TASTES = word_set("love passion fear interest dislike weakness crush soft")
_MOVES = word_set("planning flying moving leaving traveling starting visiting")
_OCCUPIES = word_set("living working studying teaching using training learning")
_BODILY = word_set("eat drink smoke drive fly speak own work")
_UNABLE = word_set("eat drink have tolerate stand digest drive fly swim")
_IDENTIFIES = word_set("live work teach speak own study run manage lead")
_OFTEN_ONLY = word_set("get do make go have serve focus need help start bring stay")
_POINTING = word_set("that this those these it how your you what when")
_BACKGROUND = 0.1
_NOTHING = Reading(Category.EVENT, 0.0, 0)
"""What a rule returns that knows there is nothing to keep, so that none after it is asked."""


def read_predicate(low: Low, *, chat: bool) -> Reading | None:
    """Return what the words after ``I`` say; ``None`` where it is nothing to keep.

    Args:
        low: they in lower case, contractions with the subject spelled out (``am``, ``have``).
        chat: whether it is said to an assistant, so that a wish is a request.
    """
    place, adverbs = _skip(low, 0)
    if place >= len(low) or not w.NEARLY.isdisjoint(adverbs):
        return None
    verb = low[place]
    if verb in _BE:
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
    while place < len(low) and (low[place] in w.ADVERBS or low[place] in w.FREQUENCY):
        adverbs.append(low[place])
        place += 1
    if _word(low, place) == "no" and _word(low, place + 1) == "longer":
        return place + 2, [*adverbs, "no", "longer"]
    return place, adverbs


def _word(low: Low, place: int) -> str:
    return low[place] if place < len(low) else ""


# --- to be -------------------------------------------------------------------------------


def _being(low: Low, place: int, *, past: bool, chat: bool) -> Reading | None:
    place, adverbs = _skip(low, place)
    word, after = _word(low, place), _word(low, place + 1)
    if word == "gonna" or (word == "going" and after == "to"):
        return _future(low, place + (2 if after == "to" else 1), chat=chat)
    if word.endswith("ing") and word not in w.EVALUATIVE and word != "nothing":
        return _doing(low, place, past=past, background=past)
    reading = (
        _attached(low, place)
        or _trait(low, place, past=past)
        or _undergone(low, place, past=past)
        or _member(low, place)
    )
    if reading is None and "not" not in adverbs and word and word not in w.EVALUATIVE | w.STOP:
        reading = Reading(Category.IDENTITY, 0.38, place)
    return reading


def _attached(low: Low, place: int) -> Reading | None:
    """Read ``passionate about``, ``into``, ``used to``."""
    word, after = _word(low, place), _word(low, place + 1)
    if word == "into":
        return Reading(Category.PREFERENCE, 0.65, place + 1)
    if word == "used" and after == "to":
        return Reading(Category.PREFERENCE, 0.5, place + 2)
    if word in w.ATTACHED and after == w.ATTACHED[word]:
        lasts = word in {"responsible", "allergic"}
        kind = Category.IDENTITY if lasts else Category.PREFERENCE
        return Reading(kind, 0.7, place + (1 if lasts else 2))
    return None


def _trait(low: Low, place: int, *, past: bool) -> Reading | None:
    """Read who, how old and where somebody is."""
    word, after = _word(low, place), _word(low, place + 1)
    if word in w.TRAITS:
        return Reading(Category.IDENTITY, 0.85, place)
    if word in _ARTICLES:
        return _being_a(low, place, past=past)
    if word.isdigit():
        aged = not past and after not in {"%", "-", "/", "."}
        return Reading(Category.IDENTITY, 0.75, place) if aged else _NOTHING
    if word == "on" and _is_version(low, place + 2):
        return _NOTHING if past else Reading(Category.STATE, 0.6, place + 1)
    if word in _PLACES and after not in _NOT_PLACES:
        return Reading(Category.IDENTITY, 0.6, place + 1)
    return None


def _is_version(low: Low, place: int) -> bool:
    """Return whether ``3.12`` stands there."""
    whole, point, part = (_word(low, place + step) for step in range(3))
    return whole.isdigit() and point == "." and part.isdigit()


def _member(low: Low, place: int) -> Reading | None:
    """Read ``friends with``, ``part of the brigade``."""
    word, after = _word(low, place), _word(low, place + 1)
    if w.RELATIVES.intersection((word, after)):
        return Reading(Category.RELATION, 0.6, place)
    if word == "part" and after == "of":
        return Reading(Category.IDENTITY, 0.56, place + 1)
    return None


def _being_a(low: Low, place: int, *, past: bool) -> Reading | None:
    after = _word(low, place + 1)
    if "fan" in low[place : place + 4]:
        return Reading(Category.PREFERENCE, 0.7, place + 3)
    if after in _MOODS or after in w.STOP or _is_figure(low, place + 1):
        return _NOTHING
    if low[place] in {"my", "our"}:
        return Reading(Category.IDENTITY, 0.42, place + 1)
    return Reading(Category.IDENTITY, 0.5 if past else 0.65, place + 1)


def _is_figure(low: Low, place: int) -> bool:
    """Return whether the noun there is a manner of speaking: ``a ghost until noon``."""
    while _word(low, place) in w.EVALUATIVE | w.ADVERBS:
        place += 1
    after = _word(low, place + 1)
    return _word(low, place) in w.FIGURES and (not after.isalnum() or after in _AFTER_NOUN)


def _undergone(low: Low, place: int, *, past: bool) -> Reading | None:
    """Read what was done to somebody: ``diagnosed with``, ``able to``."""
    word = _word(low, place)
    if word in {"told", "given", "supposed", "said"}:
        return _NOTHING
    if word in w.PASSIVES or (past and is_participle(word) and word not in w.EVALUATIVE):
        return Reading(Category.EVENT, 0.6, place)
    return Reading(Category.EVENT, 0.5, place + 2) if word == "able" else None


def _doing(low: Low, place: int, *, past: bool, background: bool = False) -> Reading | None:
    word, after = low[place], _word(low, place + 1)
    if word == "trying":
        return _task(low, place + 1)
    if word == "considering" or (word == "thinking" and after in {"of", "about"}):
        return Reading(Category.PLAN, 0.52, place + 2)
    if word in {"starting", "beginning", "getting"} and after == "to":
        inward = _word(low, place + 2) in w.MENTAL | w.EVALUATIVE
        return _NOTHING if inward else Reading(Category.EVENT, 0.5, place + 2)
    if word in _IN_MIND and after not in _GOOD_AFTER.get(word, frozenset()):
        return _NOTHING
    kind, score = Category.EVENT, 0.52
    if word in _MOVES:
        kind, score = Category.EVENT if past else Category.PLAN, 0.68
    elif word in _OCCUPIES:
        kind, score = Category.STATE if word == "using" else Category.IDENTITY, 0.64
    return Reading(kind, score - (_BACKGROUND if background else 0.0), place)


def _task(low: Low, place: int) -> Reading | None:
    """Read ``trying to build …``: what is built is of interest later, what is solved is not."""
    verb = _word(low, place + 1)
    return Reading(Category.STATE, 0.43, place + 2) if verb in w.BUILDING else None


# --- to have -----------------------------------------------------------------------------


def _having(low: Low, place: int, *, never: bool) -> Reading | None:
    place, adverbs = _skip(low, place)
    word = _word(low, place)
    if word == "to":
        return Reading(Category.CONSTRAINT, 0.45, place + 1)
    if word == "been":
        return _having_been(low, place + 1)
    if word in {"had", "got", "gotten"}:
        return _owning(low, place + 1, base=0.56)
    if never or "never" in adverbs:
        return Reading(Category.EVENT, 0.62, place)
    if is_participle(word):
        return _having_done(word, place, always="always" in adverbs)
    return _owning(low, place, base=0.66)


def _having_been(low: Low, place: int) -> Reading | None:
    if _word(low, place) == "to":
        return Reading(Category.EVENT, 0.62, place + 1)
    doing, _ = _skip(low, place)
    if not _word(low, doing).endswith("ing"):
        return _being(low, place, past=True, chat=False)
    reading = _doing(low, doing, past=True)
    if reading is None or not reading.score:
        return reading
    return reading._replace(category=Category.EVENT, score=reading.score + 0.04)


def _having_done(word: str, place: int, *, always: bool) -> Reading | None:
    if always and word in w.LIKES | {"wanted", "dreamed"}:
        return Reading(Category.PREFERENCE, 0.65, place)
    if word in w.DECIDES:
        return Reading(Category.DECISION, 0.7, place)
    return None if word in w.MENTAL else Reading(Category.EVENT, 0.58, place)


def _owning(low: Low, place: int, *, base: float) -> Reading | None:
    """Read what follows ``have``: a thing, a person, or a mere manner of speaking."""
    head = [each for each in low[place : place + 5] if each not in w.STOP]
    if not head or head[0] in w.EVALUATIVE or w.JUNK_OBJECTS.intersection((*head[:2], head[-1])):
        return None
    if _is_momentary(low, place):
        return None
    if _APPOINTMENTS.intersection(head):
        return Reading(Category.PLAN, base - 0.02, place)
    if w.RELATIVES.intersection(head):
        return Reading(Category.RELATION, base + 0.08, place)
    if _TASTES.intersection(head[:3]):
        return Reading(Category.PREFERENCE, base + 0.04, place)
    return Reading(Category.POSSESSION, base, place)


def _is_momentary(low: Low, place: int) -> bool:
    """Return whether somebody has that only now: ``two hours to pack``, ``eggs and rice``."""
    for at in range(place, min(len(low), place + 5)):
        after = _word(low, at + 1)
        if low[at] in _UNITS:
            return after in _LEFT
        if low[at] in w.FOOD and (not after.isalnum() or after in _AFTER_NOUN):
            return not w.FREQUENCY.intersection(low)
        if not low[at].isalnum() or low[at] in w.RELATIVES:
            return False
    return False


# --- will, can, do not -------------------------------------------------------------------


def _modal(low: Low, place: int, *, chat: bool) -> Reading | None:
    verb, word = low[place], _word(low, place + 1)
    if verb in {"will", "gonna"}:
        return _future(low, place + 1, chat=chat) or _NOTHING
    if verb in {"can't", "cannot", "won't"} and word in _UNABLE | {"use", "work"}:
        kind = Category.PREFERENCE if word == "stand" else Category.CONSTRAINT
        return Reading(kind, 0.7, place + 1)
    if verb == "must" or (verb == "can" and word == "only"):
        return Reading(Category.CONSTRAINT, 0.62, place + 1)
    return _NOTHING if verb in w.MODALS or verb in w.HYPOTHETICAL or verb in _NEVER_TOLD else None


_NEVER_TOLD = word_set("can't won't mustn't gotta need needed haven't hadn't isn't aren't wasn't")


def _future(low: Low, place: int, *, chat: bool) -> Reading | None:
    place, _ = _skip(low, place)
    verb = _word(low, place)
    if verb == "be" and _word(low, place + 1) in {"in", "at", "on", "away", "traveling"}:
        return Reading(Category.PLAN, 0.4, place + 1)
    if verb in w.MENTAL or verb in {"be", "try", "do", "check", "send", "need"}:
        return None
    return Reading(Category.PLAN, 0.34 if chat else 0.43, place)


def _negated(low: Low, place: int) -> Reading | None:
    verb = low[place]
    if verb in {"do", "did"} and _word(low, place + 1) == "not":
        verb, place = f"{verb}n't", place + 1
    after, _ = _skip(low, place + 1)
    word = _word(low, after)
    if verb == "don't":
        return _refused(low, after, word) or _NOTHING
    if verb in {"do", "did"} and word not in w.MENTAL and len(low) > after + 1:
        return Reading(Category.EVENT, 0.46, after)
    return _NOTHING if verb in {"do", "did", "didn't"} else None


def _refused(low: Low, place: int, word: str) -> Reading | None:
    if word in w.LIKES:
        return Reading(Category.PREFERENCE, 0.7, place + 1)
    if word in {"live", "work", "study", "teach"} and "anymore" in low:
        return Reading(Category.IDENTITY, 0.7, place)
    if word in _BODILY and word != "own":
        return Reading(Category.PREFERENCE, 0.7, place)
    if word in {"have", "own"} and _word(low, place + 1) in {"a", "an", "any", "my"}:
        return _owning(low, place + 1, base=0.56)
    return None


# --- other verbs -------------------------------------------------------------------------


def _minded(low: Low, place: int, *, chat: bool) -> Reading | None:
    """Read verbs of liking, deciding and wanting."""
    verb, after = low[place], _word(low, place + 1)
    if verb == "used" and after == "to":
        return Reading(Category.EVENT, 0.62, place + 2)
    if verb in w.LIKES:
        return _liking(low, place) or _NOTHING
    if verb in w.DECIDES and (verb != "agreed" or after in {"to", "on", "not"}):
        return Reading(Category.DECISION, 0.66, place)
    if verb in {"want", "plan", "intend", "aim", "wanted", "hope"}:
        return _wanting(low, place, chat=chat) or _NOTHING
    if verb == "went" and after == "with" and _word(low, place + 2) not in w.STOP:
        return Reading(Category.DECISION, 0.55, place)
    return None


def _liking(low: Low, place: int) -> Reading | None:
    after, following = _word(low, place + 1), _word(low, place + 2)
    if after in _POINTING or after in w.JUNK_OBJECTS:
        return None
    if after == "to" and following in {"see", "hear", "know", "think"}:
        return None
    score = 0.68
    if after == "the" or (after == "all" and following in {"the", "those", "these"}):
        score = 0.54 if low[place][:6] in {"enjoy", "enjoye", "prefer"} else 0.42
    return Reading(Category.PREFERENCE, score, place + 1)


def _wanting(low: Low, place: int, *, chat: bool) -> Reading | None:
    verb = low[place]
    if _word(low, place + 1) != "to" or verb == "hope":
        return None
    goal, _ = _skip(low, place + 2)
    word = _word(low, goal)
    if verb in {"plan", "intend", "aim"}:
        return Reading(Category.PLAN, 0.6, goal)
    if word in w.MENTAL:
        return None
    base = 0.36 if chat else 0.5
    return Reading(Category.PLAN, base + (0.06 if word in w.LIFE_GOALS else -0.08), goal)


def _acting(low: Low, place: int, adverbs: Low, *, chat: bool) -> Reading | None:
    verb = low[place]
    often = bool(w.FREQUENCY.intersection(adverbs) or w.FREQUENCY.intersection(low))
    inward = verb in w.MENTAL
    if "never" in adverbs and not is_past(verb) and not inward and verb not in w.EVALUATIVE:
        return Reading(Category.CONSTRAINT, 0.72, place)
    if inward and not (often and verb in w.HABITS):
        return _giving(low, place, chat=chat)
    if is_past(verb) and not (often and verb in w.SAME_IN_PAST):
        return Reading(Category.EVENT, 0.58, place)
    return _habit(low, place, often=often) if verb in w.HABITS else None


def _giving(low: Low, place: int, *, chat: bool) -> Reading | None:
    """Read the few verbs of talk and light verbs that tell an event with the right object."""
    verb, after, following = low[place], _word(low, place + 1), _word(low, place + 2)
    a_thing = after in {"a", "an", "some", "my", "our"}
    if verb == "gave" and after in {"me", "us"} and following in {"a", "an", "my"}:
        return Reading(Category.EVENT, 0.56, place + 2)
    if verb in {"made", "saw", "gave", "found", "heard", "noticed"} and a_thing:
        return Reading(Category.EVENT, 0.52, place)
    if verb in {"learned", "learnt"} and after == "to" and following not in w.MENTAL:
        return Reading(Category.EVENT, 0.5, place + 2)
    if verb in {"came", "kept"} and not chat and after in _CAME:
        return Reading(Category.EVENT, 0.48, place)
    tried = verb == "tried" and after and after not in {"to", "it"}
    return Reading(Category.EVENT, 0.5, place) if tried else None


def _habit(low: Low, place: int, *, often: bool) -> Reading | None:
    verb = low[place]
    if verb in _OFTEN_ONLY and not often:
        return None
    if verb in _IDENTIFIES:
        return Reading(Category.IDENTITY, 0.7, place)
    if verb == "use":
        return Reading(Category.STATE, 0.6, place)
    return Reading(Category.PREFERENCE, 0.66 if often else 0.54, place)

"""Finds what a newer clause changes: a new value, a reversal, an end, a denial, a replacement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import takewhile

from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflicts.clauses import ParsedClause, are_about_same_people, text_core
from memoranda.learning.conflicts.facts import text_facts
from memoranda.learning.conflicts.quantities import find_new_quantities
from memoranda.learning.conflicts.values import read_value, score_opposition
from memoranda.learning.deduplication import opposite_axes
from memoranda.learning.parsed_text import ParsedWord, parse_text, stem_set, stems
from memoranda.learning.verbs import Aspect
from memoranda.text.patterns import LanguageData, load

_EN = LanguageData("en", "comparison")
# Shares of content words.
HALF, MANY, MOST = 0.5, 0.6, 0.75
# Words that another one stands in the place of.
MOST_REPLACED = 2
# Words with which two clauses begin alike, so that what follows them is the same thing anew.
LEAST_FRAME = 3
# Words in common from which two texts speak of one deed.
SEVERAL = 2
# Words behind a verb among which its object stands.
REACH = 7


def find_changes(
    old: ParsedClause, new: ParsedClause, *, short: bool, about: bool
) -> Iterator[Verdict]:
    """Yield a verdict for each thing that shows that the newer clause excludes the older one.

    Args:
        old: a clause of what was said before.
        new: a clause of what was said later.
        short: whether both stand in single facts rather than messages.
        about: whether both are known to be about the same.
    """
    # What somebody tells of themselves is told with other words around it than a fact is.
    own = not new.texts.isdisjoint(_EN.words("own_words"))
    yield from _find_denial(old, new, short=short and not own)
    yield from _find_replacement(old, new, about=about)
    if short:
        for find in (_find_new_value, _find_reversal):
            yield from find(old, new, about=about)
    yield from find_new_quantities(old, new, short=short)


# --- another value -----------------------------------------------------------------------


def _find_new_value(old: ParsedClause, new: ParsedClause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where both clauses give one thing another value."""
    if not _both_said(old, new) or old.has("negated") or new.has("negated"):
        return
    one, other = read_value(old), read_value(new)
    added = (old.has("added") or new.has("added")) and not new.strong
    if one is None or other is None or added or _apart_in_time(old, new):
        return
    sure = score_opposition(one, other, same_subject=about)
    if not sure or (one.key ^ other.key) & stem_set("qualifying"):
        return
    fixed = new.has("correcting") or one.key & stem_set("fixed_nouns")
    relation = Relation.CONTRADICTION if fixed else Relation.UPDATE
    yield Verdict(relation, sure, "another value of the same thing")


def _both_said(old: ParsedClause, new: ParsedClause) -> bool:
    asked = old.has("asked") or new.has("asked")
    return not asked and not {"wished", "tried"} & (old.marks ^ new.marks)


def _apart_in_time(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether each holds in its own time: ``in 2021 it was`` and ``it is``."""
    other = old.years and new.years and old.years != new.years
    return not new.strong and (new.has("past") or bool(other))


# --- the opposite ------------------------------------------------------------------------


def _find_reversal(old: ParsedClause, new: ParsedClause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where one clause says what the other one denies."""
    alike = old.has("past") == new.has("past") and old.years == new.years
    if not alike or not _both_said(old, new) or old.values != new.values:
        return
    one, other = _axes(old), _axes(new)
    turned = any(one[axis] != other[axis] for axis in one.keys() & other.keys())
    flipped = _sign(old) != _sign(new)
    if flipped == turned or not _one_time(old, new) or not _alike_felt(old, new):
        return
    axes = opposite_axes()
    left, right = (
        each.core - {w.stem for w in each.words if w.text in axes} for each in (old, new)
    )
    smaller = min(len(left), len(right))
    if smaller <= 1 or not are_about_same_people(old, new, about=about):
        return
    if not (_denies(old, new) and _denies(new, old)):
        return
    few = len(left & right) / smaller < MOST or len(left & right) / len(left | right) < MANY
    # Of several things, one is denied: the others go on.
    if few or (left > right and _EN.pattern("listed").search(old.text)):
        return
    over = "longer" in new.texts or (new.texts & _EN.words("endings") and not turned)
    changed = (over or new.strong) and not new.has("correcting")
    relation = Relation.UPDATE if changed else Relation.CONTRADICTION
    yield Verdict(relation, 0.85, "one says what the other denies")


def _one_time(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether two clauses speak of one time: the present, or a day that both name."""
    over_and_done = any(
        each.aspect is not Aspect.STATE or each.texts & {"did", "was", "were", "had"}
        for each in (old, new)
    )
    days = {word.text for word in old.words if word.kind == "date"} | _EN.words("calendar")
    return not over_and_done or new.has("correcting") or bool(days & old.texts & new.texts)


def _sign(clause: ParsedClause) -> int:
    """Return +1 or -1 by negations and verbs of disliking."""
    markers = clause.plain.markers
    turns = sum(marker in {"not", "ended"} for marker in markers)
    turns += sum(word.text in _EN.words("disliking") for word in clause.words)
    return -1 if turns % 2 else 1


def _alike_felt(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether a dislike stands against a liking: who hates a dog may still have it."""
    felt = [each.texts & _EN.words("likings") for each in (old, new)]
    return all(felt) or not (felt[0] | felt[1]) & _EN.words("disliking")


def _denies(denial: ParsedClause, other: ParsedClause) -> bool:
    """Return whether ``other`` says what ``denial`` negates, if it negates anything."""
    words = denial.plain.words
    stated = {word.stem for word in other.words} | {word.text for word in other.words}
    return all(
        _states(words[place + 1 :], stated)
        for place, word in enumerate(words)
        if word.text in _EN.words("negators") and not word.name
    )


def _states(behind: Sequence[ParsedWord], stated: set[str]) -> bool:
    """Return whether what a negation negates, which stands behind it, is among what is stated."""
    first = behind[0].text if behind else ""
    if first in _EN.words("having") and not stated & _EN.words("having"):
        return False
    passing = _EN.words("adverbs", "passing")
    told = behind[1:] if first == "longer" else behind
    verb = next((word for word in told if word.text not in passing), None)
    if verb is None or verb.stem in stated:
        return True
    return verb.text in _EN.words("likings") and bool(stem_set("likings") & stated)


def _axes(clause: ParsedClause) -> dict[int, int]:
    """Return on which side of which axis a clause stands, at whatever time."""
    axes, timely = opposite_axes(), _EN.words("timely_opposites")
    words = (word.text for word in clause.words if word.text not in timely)
    return dict(axes[word] for word in words if word in axes)


# --- what is over ------------------------------------------------------------------------


def _find_replacement(old: ParsedClause, new: ParsedClause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where the newer clause names what is over: ``no longer``, ``from … to``.

    Only what is so, or goes on, can be over: what happened stays true.
    """
    if old.has("negated", "asked") or new.has("asked"):
        return
    if (new.has("wished") and not old.has("wished")) or not _lasts(old) or not old.core:
        return
    if are_about_same_people(old, new, about=about, lax=True):
        yield from _given_up(old, new)
        if _both_said(old, new):
            yield from _exchanged(old, new)
            yield from _anew(old, new)


def _lasts(clause: ParsedClause) -> bool:
    if clause.texts & _EN.words("shifts"):
        return True
    return clause.aspect is Aspect.STATE and not _EN.pattern("used_to").search(clause.text)


def _exchanged(old: ParsedClause, new: ParsedClause) -> Iterator[Verdict]:
    mine = old.core
    for name, relation in (("from_to", Relation.UPDATE), ("not_but", Relation.CONTRADICTION)):
        found = _EN.pattern(name).search(new.text)
        if found is None:
            continue
        groups = {key.rstrip("23"): text for key, text in found.groupdict().items() if text}
        if found.groupdict().get("old3") and new.aspect is not Aspect.STATE:
            continue  # Once is not always.
        if "moved" in groups and not _states_attribute(old, "home", "place"):
            continue  # It was no place.
        gone = text_core(groups["old"]) - stem_set("repeated_times")
        named = gone and gone <= mine and not text_core(groups["new"]) <= mine
        if named and _is_mainly_about(old, new, gone):
            yield Verdict(relation, 0.85, "the newer one names the older value as replaced")


def _is_mainly_about(old: ParsedClause, new: ParsedClause, gone: frozenset[str]) -> bool:
    """Return whether the older clause is about what is gone, and little else."""
    mine = old.core - old.subject - stem_set("repeated_times")
    about = gone | new.core | stem_set("holding")
    return not mine or len(mine & about) / len(mine) > HALF


def _given_up(old: ParsedClause, new: ParsedClause) -> Iterator[Verdict]:
    found = _EN.pattern("over").search(new.text)
    if found is None or _EN.pattern("over").search(old.text):
        return
    text = _EN.pattern("over_tail").sub("", next(each for each in found.groups() if each))
    gone = text_core(text) - stem_set("likings") - new.subject - stem_set("repeated_times")
    things = gone - _EN.words("loose_words")
    mine = old.core - old.subject
    if things:
        over = len(things & mine) / len(things) >= MANY and _is_mainly_about(old, new, things)
    else:
        over = bool(gone) and _states_attribute(old, "employer", "job")
    if over:
        yield Verdict(Relation.UPDATE, 0.85, "the newer one says that it is over")


def _states_attribute(clause: ParsedClause, *names: str) -> bool:
    """Return whether a clause tells one of the attributes of this name."""
    return any(fact.attribute in names for fact in text_facts(clause.text))


def _anew(old: ParsedClause, new: ParsedClause) -> Iterator[Verdict]:
    """Yield a verdict where a sentence returns with ``now`` or ``actually`` and another word.

    Another word alone shows nothing: who now plays the piano may play the guitar as well. It
    stands for the same thing where what follows says so (``to work``, ``for testing``).
    """
    correcting = new.has("correcting")
    cue = correcting or new.strong & {"now", "instead", "nowadays"}
    if not cue or new.has("added") or (old.texts | new.texts) & _EN.words("likings"):
        return
    passing = _EN.words("strong_cues", "fillers") - _EN.words("shifts")
    left, right = ([w for w in each.words if w.text not in passing] for each in (old, new))
    before = _count_alike(left, right)
    behind = _count_alike(left[before:][::-1], right[before:][::-1])
    gone, come = left[before : len(left) - behind], right[before : len(right) - behind]
    if not gone or not come or max(len(gone), len(come)) > MOST_REPLACED:
        return
    tail = [word.text for word in right[len(right) - behind :]]
    framed = len(tail) > 1 and tail[0] in _EN.words("prepositions") and before > 1
    if framed or (correcting and before >= LEAST_FRAME):
        relation = Relation.CONTRADICTION if correcting else Relation.UPDATE
        yield Verdict(relation, 0.7, "the same is said anew with another word")


def _count_alike(one: Sequence[ParsedWord], other: Sequence[ParsedWord]) -> int:
    """Return how many words two begin with alike."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].stem == pair[1].stem, pairs))


# --- what was never done -----------------------------------------------------------------


def _find_denial(old: ParsedClause, new: ParsedClause, *, short: bool) -> Iterator[Verdict]:
    """Yield a verdict where one clause denies what the other one says was done."""
    for denial, other in ((new, old), (old, new)):
        found = _EN.pattern("denied").search(denial.text)
        if (
            found is None
            or other.has("negated")
            or (other.has("wished") and not other.has("asked"))
        ):
            continue
        limited = denial.has("wished") or _EN.pattern("limited_time").search(found[0])
        if (limited or other.has("tried")) if short else "never" not in found[0].lower():
            continue
        # What was never done before may well have been done since, if it was done.
        later = denial is old
        if later and not _EN.pattern("done").search(other.text):
            continue
        rest = _EN.pattern("denied_end").sub("", found["rest"])
        # "written routes or handled requests" are two things.
        parts = [part for part in _EN.pattern("either_or").split(rest) if part.strip()]
        sure = max((_score_denial(part, other, short=short) for part in parts), default=0.0)
        if sure:
            relation = Relation.UPDATE if later else Relation.CONTRADICTION
            why = "one says never to have done what the other says was done"
            yield Verdict(relation, sure, why)


def _score_denial(text: str, other: ParsedClause, *, short: bool) -> float:
    """Return how surely ``other`` says that something was done which ``text`` denies."""
    denied = parse_text(text).words
    things = [word for word in denied[1:] if _is_telling(word)]
    if not things:
        return 0.0
    kind = _kind(denied[0])
    wanted = {word.stem: 2.0 if word.name else 1.0 for word in things}
    shared = wanted.keys() & other.content
    if short and not _has_object(kind, denied[1:], other):
        return 0.0
    if other.has("asked"):
        # A question may take the deed for granted: "my key obtained in March".
        deed = next((word.stem for word in denied if word.text.endswith("ed")), None)
        presumed = any(word.stem == deed and word.text.endswith("ed") for word in other.words)
        if not presumed or len(shared) < max(SEVERAL, len(wanted)):
            return 0.0
    share = sum(wanted[stem] for stem in shared) / sum(wanted.values())
    done = any(_kind(word) == kind for word in other.words)
    enough = done or (len(shared) >= SEVERAL and not short)
    if not enough or share < (HALF if done else MOST):
        return 0.0
    return min(0.95, 0.25 + 0.3 * share + 0.1 * len(shared) + 0.1 * done)


def _kind(word: ParsedWord) -> str:
    return _kinds().get(word.stem, word.stem)


@cache
def _kinds() -> Mapping[str, str]:
    """Return the stems of verbs that mean about the same, by one name for each."""
    doings = load("en", "comparison")["doings"].items()
    verbs = {verb: kind for kind, listed in doings for verb in listed}
    return dict(zip(stems(list(verbs)), verbs.values(), strict=True))


def _has_object(kind: str, things: Sequence[ParsedWord], other: ParsedClause) -> bool:
    """Return whether a fact has the thing that is denied as the object of such a verb.

    The thing is the last word of the object: ``routes`` in ``any Flask routes for the blog``.
    Who sets up Flask has written none.
    """
    named = [word.stem for word in _before_parting(things) if _is_telling(word)]
    thing = (named or [word.stem for word in things if _is_telling(word)])[-1]
    for place, word in enumerate(other.words):
        if _kind(word) == kind and not _goes_on(other.words, place):
            behind = other.words[place + 1 : place + 1 + REACH]
            if any(each.stem == thing for each in (_before_parting(behind) if named else behind)):
                return True
    return False


def _before_parting(words: Sequence[ParsedWord]) -> Iterator[ParsedWord]:
    return takewhile(lambda word: word.text not in _EN.words("parting"), words)


def _goes_on(words: Sequence[ParsedWord], place: int) -> bool:
    """Return whether a verb tells what is under way, or names a doing: it is not done yet."""
    before = {word.text for word in words[max(place - 2, 0) : place]}
    going = words[place].text.endswith("ing") and "been" not in before
    return going and (not place or bool(before & {"is", "are", "am", "m", "s"}))


def _is_telling(word: ParsedWord) -> bool:
    return word.text not in _EN.words("stop_words") and word.stem not in stem_set("vague")

"""Finds what a newer clause changes: a new value, a reversal, an end, a replacement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memoranda.learning.claims import Relation, Verdict
from memoranda.learning.conflicts.attributes import read_attribute, score_opposition
from memoranda.learning.conflicts.clauses import (
    ParsedClause,
    are_about_same_people,
    clause_core,
    strip_interjections,
    subject_stems,
    text_core,
    years,
)
from memoranda.learning.deduplication import opposite_axes
from memoranda.learning.parsed_text import ParsedWord, parse_text, stem_set
from memoranda.learning.verbs import Aspect
from memoranda.text.languages import LanguageData

_EN = LanguageData("en", "comparison")
HALF, MANY, MOST = 0.5, 0.6, 0.75
"""Shares of content words."""
MOST_REPLACED = 2
"""Words that another one stands in the place of."""
LEAST_FRAME = 3
"""Words with which two clauses begin alike, so that what follows them is the same thing anew."""
_HELD = frozenset({"residence", "employer", "occupation", "study", "drive", "rise", "diet"})
_JOBS = frozenset({"employer", "occupation", "study", "rise"})


def find_new_value(old: ParsedClause, new: ParsedClause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where both clauses give one attribute another value."""
    if not _both_said(old, new) or old.negated or new.negated:
        return
    one, other = read_attribute(old), read_attribute(new)
    if one is None or other is None or ((old.added or new.added) and not new.strong):
        return
    if one.name != "birth" and _apart_in_time(old, new, held=one.name in _HELD):
        return
    if one.name in _JOBS and (old.partly or new.partly) and not new.strong - _EN.words("became"):
        return
    sure = score_opposition(one, other, same_subject=about)
    if not sure or (one.key ^ other.key) & stem_set("qualifying"):
        return
    fixed = bool(new.correcting or (one.key & stem_set("fixed_nouns")) or one.name == "birth")
    relation = Relation.CONTRADICTION if fixed else Relation.UPDATE
    yield Verdict(relation, sure, f"another value of the same attribute ({one.name})")


def find_reversal(old: ParsedClause, new: ParsedClause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where one clause says what the other one denies."""
    if not _both_said(old, new) or old.past != new.past or years(old) != years(new):
        return
    if {q.value for q in old.quantities} != {q.value for q in new.quantities}:
        return
    signs = [_sign(clause) for clause in (old, new)]
    axes = [_axes(clause) for clause in (old, new)]
    turned = {axis for axis in axes[0].keys() & axes[1].keys() if axes[0][axis] != axes[1][axis]}
    flipped = signs[0] != signs[1]
    if flipped == bool(turned) or not _one_time(old, new) or not _alike_felt(old, new):
        return
    left, right = (clause_core(clause, _opposing(clause)) for clause in (old, new))
    if min(len(left), len(right)) <= 1 or not are_about_same_people(old, new, about=about):
        return
    if not (_denies(old, new) and _denies(new, old)):
        return
    smaller = min(len(left), len(right))
    few = len(left & right) / smaller < MOST or len(left & right) / len(left | right) < MANY
    # Of several things, one is denied: the others go on.
    if few or (left > right and _EN.pattern("listed").search(old.text)):
        return
    over = "longer" in new.texts or (new.ending and not turned)
    changed = bool(over or new.strong) and not new.correcting
    relation = Relation.UPDATE if changed else Relation.CONTRADICTION
    yield Verdict(relation, 0.85, "one says what the other denies")


def _both_said(old: ParsedClause, new: ParsedClause) -> bool:
    said = not (old.asked or new.asked) and old.wished == new.wished
    return said and old.tried == new.tried


def _apart_in_time(old: ParsedClause, new: ParsedClause, *, held: bool) -> bool:
    """Return whether each holds in its own time: ``in 2021 she lived`` and ``she lives``."""
    if new.past and not new.strong:
        return True
    if held and old.past and not old.strong:
        return True
    return bool(
        years(old) and years(new) and years(old) != years(new) and not new.strong and not held
    )


def _one_time(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether two clauses speak of one time: the present, or a day that both name."""
    if not (_over_and_done(old) or _over_and_done(new)) or new.correcting:
        return True
    days = {word.text for word in old.words if word.kind == "date"} | _EN.words("calendar")
    return bool(days & old.texts & new.texts)


def _over_and_done(clause: ParsedClause) -> bool:
    return clause.aspect is not Aspect.STATE or bool(clause.texts & {"did", "was", "were", "had"})


def _sign(clause: ParsedClause) -> int:
    """Return +1 or -1 by negations and verbs of disliking."""
    markers = parse_text(strip_interjections(clause)).markers
    turns = sum(marker in {"not", "ended"} for marker in markers)
    turns += sum(word.text in _EN.words("disliking") for word in clause.words)
    return -1 if turns % 2 else 1


def _alike_felt(old: ParsedClause, new: ParsedClause) -> bool:
    """Return whether a dislike stands against a liking: who hates a dog may still have it."""
    felt = [each.texts & _EN.words("likings") for each in (old, new)]
    disliked = (felt[0] | felt[1]) & _EN.words("disliking")
    return not disliked or bool(felt[0] and felt[1])


def _denies(denial: ParsedClause, other: ParsedClause) -> bool:
    """Return whether ``other`` says what ``denial`` negates, if it negates anything."""
    words = parse_text(strip_interjections(denial)).words
    stated = {word.stem for word in other.words} | {word.text for word in other.words}
    return all(
        _states(words, place, stated)
        for place, word in enumerate(words)
        if word.text in _EN.words("negators") and not word.name
    )


def _states(words: Sequence[ParsedWord], place: int, stated: set[str]) -> bool:
    """Return whether what the negation at ``place`` negates is among what is stated."""
    behind = words[place + 1 : place + 2]
    verb = _next(words, place + 1)
    if behind and behind[0].text == "longer":
        verb = _next(words, place + 2)
    if behind and behind[0].text in _EN.words("having") and not stated & _EN.words("having"):
        return False
    if verb is None or verb.stem in stated:
        return True
    return verb.text in _EN.words("likings") and bool(stem_set("likings") & stated)


def _next(words: Sequence[ParsedWord], place: int) -> ParsedWord | None:
    passing = _EN.words("adverbs", "passing")
    return next((word for word in words[place:] if word.text not in passing), None)


def _axes(clause: ParsedClause) -> dict[int, int]:
    """Return on which side of which axis a clause stands, at whatever time."""
    axes, timely = opposite_axes(), _EN.words("timely_opposites")
    words = (word.text for word in clause.words if word.text not in timely)
    return dict(axes[word] for word in words if word in axes)


def _opposing(clause: ParsedClause) -> frozenset[str]:
    return frozenset(word.stem for word in clause.words if word.text in opposite_axes())


def find_replacement(old: ParsedClause, new: ParsedClause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where the newer clause names what is over: ``no longer``, ``from … to``.

    Only what is so, or goes on, can be over: what happened stays true.
    """
    if old.negated or old.asked or new.asked or new.wished != (new.wished and old.wished):
        return
    if not _lasts(old) or not are_about_same_people(old, new, about=about, lax=True):
        return
    if clause_core(old):
        yield from _given_up(old, new)
        if old.wished == new.wished and old.tried == new.tried:
            yield from _exchanged(old, new)
            yield from _anew(old, new)


def _lasts(clause: ParsedClause) -> bool:
    if bool(clause.texts & _EN.words("shifts")):
        return True
    return clause.aspect is Aspect.STATE and not _EN.pattern("used_to").search(clause.text)


def _exchanged(old: ParsedClause, new: ParsedClause) -> Iterator[Verdict]:
    mine = clause_core(old)
    for name, relation in (("from_to", Relation.UPDATE), ("not_but", Relation.CONTRADICTION)):
        found = _EN.pattern(name).search(new.text)
        if found is None:
            continue
        groups = {key.rstrip("23"): text for key, text in found.groupdict().items() if text}
        if found.groupdict().get("old3") and new.aspect is not Aspect.STATE:
            continue  # Once is not always.
        if "moved" in groups and not _is_place(old):
            continue
        gone = text_core(groups["old"]) - stem_set("repeated_times")
        if not gone or not gone <= mine or text_core(groups["new"]) <= mine:
            continue
        if _as_a_whole(old, new, gone):
            yield Verdict(relation, 0.85, "the newer one names the older value as replaced")


def _is_place(clause: ParsedClause) -> bool:
    said = read_attribute(clause)
    return said is not None and said.name in {"residence", "noun"}


def _as_a_whole(
    old: ParsedClause, new: ParsedClause, gone: frozenset[str], least: float = HALF
) -> bool:
    """Return whether the older clause is about what is gone, and little else."""
    mine = clause_core(old) - subject_stems(old) - stem_set("repeated_times")
    about = gone | clause_core(new) | stem_set("holding")
    return not mine or len(mine & about) / len(mine) > least


def _given_up(old: ParsedClause, new: ParsedClause) -> Iterator[Verdict]:
    found = _EN.pattern("over").search(new.text)
    if found is None or _EN.pattern("over").search(old.text):
        return
    text = _EN.pattern("over_tail").sub("", next(each for each in found.groups() if each))
    gone = text_core(text) - stem_set("likings") - subject_stems(new) - stem_set("repeated_times")
    things = gone - _EN.words("loose_words")
    mine = clause_core(old) - subject_stems(old)
    said = read_attribute(old)
    job = not things and bool(gone) and said is not None and said.name in {"employer", "occupation"}
    whole = things and len(things & mine) / len(things) >= MANY and _as_a_whole(old, new, things)
    if job or whole:
        yield Verdict(Relation.UPDATE, 0.85, "the newer one says that it is over")


def _anew(old: ParsedClause, new: ParsedClause) -> Iterator[Verdict]:
    """Yield a verdict where a sentence returns with ``now`` or ``actually`` and another word.

    Another word alone shows nothing: who now plays the piano may play the guitar as well. It
    stands for the same thing where what follows says so (``to work``, ``for testing``).
    """
    cue = new.strong & {"now", "instead", "nowadays"} or new.correcting
    if not cue or new.added or (old.texts | new.texts) & _EN.words("likings"):
        return
    left, right = _frame(old), _frame(new)
    before = _shared(left, right)
    behind = _shared(left[before:][::-1], right[before:][::-1])
    gone, come = left[before : len(left) - behind], right[before : len(right) - behind]
    if not gone or not come or max(len(gone), len(come)) > MOST_REPLACED:
        return
    tail = [word.text for word in right[len(right) - behind :]]
    framed = len(tail) > 1 and tail[0] in _EN.words("prepositions") and before > 1
    if framed or (new.correcting and before >= LEAST_FRAME):
        relation = Relation.CONTRADICTION if new.correcting else Relation.UPDATE
        yield Verdict(relation, 0.7, "the same is said anew with another word")


def _frame(clause: ParsedClause) -> list[ParsedWord]:
    passing = (_EN.words("strong_cues", "fillers")) - _EN.words("shifts")
    return [word for word in clause.words if word.text not in passing]


def _shared(one: list[ParsedWord], other: list[ParsedWord]) -> int:
    """Return how many words two begin with alike."""
    same = (left.stem == right.stem for left, right in zip(one, other, strict=False))
    return next((count for count, alike in enumerate(same) if not alike), min(len(one), len(other)))


def find_new_version(old: ParsedClause, new: ParsedClause, *, about: bool) -> Iterator[Verdict]:
    """Yield a verdict where something that is used has another version now."""
    cues = new.texts & (_EN.words("shifts") | {"now"})
    if not cues or new.wished or new.tried or new.asked or old.asked or not _lasts(old):
        return
    if not are_about_same_people(old, new, about=about, lax=True):
        return
    mine, yours = _versions(old), _versions(new)
    for name in mine.keys() & yours.keys():
        if mine[name] != yours[name] and _as_a_whole(old, new, frozenset((name, mine[name]))):
            yield Verdict(Relation.UPDATE, 0.8, "another version of the same thing")


def _versions(clause: ParsedClause) -> dict[str, str]:
    """Return the stems of names → the number that stands behind them last."""
    found: dict[str, str] = {}
    name = ""
    for word in clause.words:
        if word.kind == "number" and name:
            found[name] = word.text
        elif word.text in {"v", "version", "to", "from"}:
            continue
        else:
            name = word.stem if word.name else ""
    return found

"""Every pattern of the package on texts that are made to keep it busy.

For each repeated part of a pattern a text is made in which that part stands as often as there is
room, before it what must come first, and behind it a character that fits nowhere. Such a text makes
an engine that backtracks try everything. The time of 100 KB is compared with that of 25 KB: four
times as long is linear, sixteen times quadratic.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from benchmarks.torture.figures import Figure, Task
from memoranda.text import erased, terms
from memoranda.text.patterns import compile_pattern
from memoranda.tokens import estimate

SIZE, SMALLER = 100_000, 25_000
GOAL_SECONDS = 1.0
# Of times below this many seconds the ratio says nothing.
MEASURABLE = 0.02
GOAL_RATIO, QUADRATIC = 8.0, 11.0
LIMIT = 20
SHOWN = 5
MISFIT = "\x01"
Tree = Sequence[tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern with a text: so much before, a part as often as there is room, and what ends it."""

    pattern: str
    flags: int
    before: str
    unit: str
    after: str

    def text(self, size: int) -> str:
        """Return a text of about so many characters."""
        return self.before + self.unit * max(1, size // len(self.unit)) + self.after


@dataclass(slots=True)
class Worst:
    """The longest time, and the fastest growth."""

    seconds: float = 0.0
    slowest: str = ""
    ratio: float = 0.0
    growing: str = ""
    measured: int = 0

    def add(self, name: str, seconds: float, ratio: float | None) -> None:
        """Count a measurement."""
        self.measured += 1
        if seconds > self.seconds:
            self.seconds, self.slowest = seconds, name
        if ratio is not None and ratio > self.ratio:
            self.ratio, self.growing = ratio, name


def run(task: Task) -> list[Figure]:
    """Return the worst of as many patterns and texts as the time allows, and of the scanners."""
    from tests.shared.pattern_list import all_patterns  # noqa: PLC0415 - imports the whole package

    rng = random.Random(task.seed)  # noqa: S311 - no secret
    cases = [
        case
        for source, flags in all_patterns()
        for case in cases_of(source, flags, _parser.parse(source, flags), rng)
    ]
    rng.shuffle(cases)
    worst, known = Worst(), {case.pattern for case in cases}
    tried: set[str] = set()
    for case in cases:
        if task.over:
            break
        tried.add(case.pattern)
        # Compiled anew: what a pattern remembers of texts is not measured.
        pattern = compile_pattern(case.pattern, case.flags)
        pattern.search("")
        _measure(worst, f"{case.pattern:.70} on {case.unit!r:.30}", _reader(pattern), case.text)
    return [
        _figure(f"patterns ({len(tried):,} of {len(known):,}), 100 KB", worst, len(cases)),
        _scanners(rng),
    ]


def _reader(pattern: Any) -> Callable[[str], object]:
    def read(text: str) -> None:
        pattern.fullmatch(text)
        for _ in pattern.finditer(text):
            pass

    return read


def _measure(
    worst: Worst, name: str, read: Callable[[str], object], text: Callable[[int], str]
) -> None:
    """Measure a text and a shorter one; again, where they seem to differ by too much."""
    seconds = cpu_seconds(read, text(SIZE))
    ratio = None
    if seconds > MEASURABLE:
        ratio = seconds / cpu_seconds(read, text(SMALLER))
        if ratio > GOAL_RATIO or seconds > GOAL_SECONDS:  # Or was something else running?
            seconds = min(cpu_seconds(read, text(SIZE)) for _ in range(3))
            ratio = seconds / min(cpu_seconds(read, text(SMALLER)) for _ in range(3))
    worst.add(name, seconds, ratio)


def cpu_seconds(read: Callable[[str], object], text: str) -> float:
    """Return the time of the processor that reading a text takes; at most the limit."""
    began = time.process_time()
    try:
        with time_limit(LIMIT):
            read(text)
    except TimeoutError:
        return float(LIMIT)
    return max(time.process_time() - began, 1e-6)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise ``TimeoutError`` in a block of the main thread that takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 5 * seconds)  # A busy machine is no hang.
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _scanners(rng: random.Random) -> Figure:
    """Return the worst of the few patterns that run on :mod:`re`, on what is made for them."""
    worst, number = Worst(), 0
    for module in (erased, terms, estimate):
        for value in vars(module).values():
            if not isinstance(value, re.Pattern):
                continue
            tree = _parser.parse(value.pattern, value.flags)
            for case in cases_of(value.pattern, value.flags, tree, rng):
                number += 1
                _measure(
                    worst, f"{value.pattern:.70} on {case.unit!r:.30}", _reader(value), case.text
                )
    return _figure("scanners, 100 KB", worst, number)


def _figure(what: str, worst: Worst, number: int) -> Figure:
    return Figure(
        what,
        f"<= {GOAL_SECONDS:g} s, no quadratic pattern",
        f"{worst.measured:,} of {number:,} texts, worst {worst.seconds:.2f} s, "
        f"worst growth x{worst.ratio:.1f} for x4",
        held=worst.ratio < QUADRATIC and worst.seconds < LIMIT,
        reached=worst.seconds <= GOAL_SECONDS and worst.ratio <= GOAL_RATIO,
        details=(f"slowest: {worst.slowest}", f"fastest growing: {worst.growing}"),
    )


# Texts from patterns


def cases_of(source: str, flags: int, tree: Tree, rng: random.Random) -> Iterator[Case]:
    """Yield the texts for a pattern: for each repeated part, and for all of it."""
    whole = sample(tree, rng)
    seen: set[tuple[str, str]] = set()
    pumped = [*_repeats(tree, rng), ("", whole, ""), ("", f"{whole} ", ""), ("", f"{whole}\n", "")]
    for before, unit, after in pumped:
        if unit and (before, unit) not in seen:
            seen.add((before, unit))
            yield Case(source, flags, before, unit, rng.choice([MISFIT, after + MISFIT]))


def _repeats(tree: Tree, rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """Yield for each repeated part what stands before it, the part, and what follows."""
    for place, (operation, value) in enumerate(tree):
        before, after = sample(tree[:place], rng), sample(tree[place + 1 :], rng)
        for inside in _inside(operation, value):
            if operation in REPEATS and value[1] > 1:
                yield before, sample(inside, rng), after
            for first, unit, last in _repeats(inside, rng):
                yield before + first, unit, last + after


REPEATS = frozenset({c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT})


def _inside(operation: Any, value: Any) -> Sequence[Tree]:
    """Return the patterns inside an operation."""
    if operation in REPEATS:
        return [value[2]]
    if operation is c.BRANCH:
        return list(value[1])
    if operation is c.SUBPATTERN:
        return [value[3]]
    if operation is c.ATOMIC_GROUP:
        return [value]
    if operation in {c.ASSERT, c.ASSERT_NOT}:
        return [value[1]]
    return []


def sample(tree: Tree, rng: random.Random) -> str:
    """Return a text that fits a pattern, but for what it asserts."""
    parts: list[str] = []
    for operation, value in tree:
        if operation is c.LITERAL:
            parts.append(chr(value))
        elif operation is c.NOT_LITERAL:
            parts.append("x" if value != ord("x") else "y")
        elif operation is c.ANY:
            parts.append("x")
        elif operation is c.IN:
            parts.append(_one_of(value, rng))
        elif operation is c.BRANCH:
            parts.append(sample(rng.choice(value[1]), rng))
        elif operation in REPEATS:
            least = max(value[0], min(1, value[1]))
            parts += [sample(value[2], rng) for _ in range(least)]
        elif operation in {c.SUBPATTERN, c.ATOMIC_GROUP}:
            parts += [sample(each, rng) for each in _inside(operation, value)]
    return "".join(parts)


CANDIDATES = "aZ5_ .-,:;'\"/()[]{}<>@#*+=\n\té日"
CATEGORIES = {
    c.CATEGORY_DIGIT: "5",
    c.CATEGORY_NOT_DIGIT: "a",
    c.CATEGORY_SPACE: " ",
    c.CATEGORY_NOT_SPACE: "a",
    c.CATEGORY_WORD: "a",
    c.CATEGORY_NOT_WORD: "-",
}


def _one_of(members: Sequence[tuple[Any, Any]], rng: random.Random) -> str:
    """Return a character of a set."""
    if members[0][0] is c.NEGATE:
        source = re.compile("|".join(_written(each) for each in members[1:]))
        return next((each for each in CANDIDATES if not source.fullmatch(each)), "¤")
    operation, value = rng.choice(members)
    if operation is c.LITERAL:
        return chr(value)
    if operation is c.RANGE:
        return chr(rng.randint(*value))
    return CATEGORIES[value]


def _written(member: tuple[Any, Any]) -> str:
    operation, value = member
    if operation is c.LITERAL:
        return re.escape(chr(value))
    if operation is c.RANGE:
        return f"[{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}]"
    classes = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
    name = str(value).removeprefix("CATEGORY_")
    letter = classes[name.removeprefix("NOT_")]
    return f"\\{letter.upper() if name.startswith('NOT_') else letter}"

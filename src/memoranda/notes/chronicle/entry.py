"""The entry of a talk in the history: what was asked, decided, done, failed and left open."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memoranda.learning.claims import Turn
from memoranda.learning.extraction.speaker import ROLES
from memoranda.model.ports import DateReader, EntityExtractor
from memoranda.notes.chronicle.choosing import Line, choose
from memoranda.notes.chronicle.cues import Label
from memoranda.notes.chronicle.lines import AGENTS, Said, read
from memoranda.notes.chronicle.particulars import dated, figures, named, times
from memoranda.notes.chronicle.plain import cut, one_line, stamp
from memoranda.notes.chronicle.words import read_words
from memoranda.text.secrets import looks_secret

LONGEST = 1_500
"""Characters of an entry."""
LISTED = 330
"""Characters that are kept for names, figures and times."""
LIST = 150
"""Characters of each of these lists."""
TOPIC = 80
TOPICS = 4
NAME = 40
FEW = 3
"""Speakers up to which they are named."""
TELLING = 0.8
"""What a word must tell to be what the talk is about."""
LEAST_TOLD = 2
"""Sentences in which a word must be to be what the talk is about."""
LEAST = 0.5
"""A talk whose sentences together tell less is not worth an entry."""


class Chronicler:
    """Writes down a talk in words of its own, without a model. Stateless, deterministic.

    An entry holds sentences as they were said, shortened and chosen by rules; never code, logs,
    pasted texts, the output of tools, or secrets. English is read best; of any other language
    the sentences that tell most are quoted.

    Args:
        dates: finds times, to tell which days relative ones mean.
        names: finds names.
    """

    def __init__(self, dates: DateReader, names: EntityExtractor) -> None:
        """Read with these."""
        self._dates = dates
        self._names = names

    def entry(self, turns: Sequence[Turn], at: datetime) -> str:
        """Return the entry of a talk; empty if nothing was said that is worth telling.

        It begins with ``[2026-02-27 14:30]``, has at most 1,500 characters, and each of its
        lines after the first begins with ``- ``.

        Args:
            turns: the talk, or a part of it, in order.
            at: when it is written down, in the user's time zone.
        """
        said = read(turns)
        told = [each for each in said if each.quotable] or said
        if sum(each.weight for each in told) < LEAST:
            return ""
        chat = not all(turn.person for turn in turns) or _speakers(turns) <= ROLES
        heading, listed = _heading(turns, told, at), self._listed(turns, told)
        room = LONGEST - len(heading)
        lines = self._lines(heading, choose(told, room - LISTED, chat=chat), at)
        free = room - sum(len(line) + 1 for line in [*lines[1:], *_lists(listed, lines)])
        lines = self._lines(heading, choose(told, room - LISTED + max(0, free), chat=chat), at)
        for line in _lists(listed, lines):
            _add(lines, line)
        return "\n".join(lines)

    def _lines(self, heading: str, chosen: Sequence[Line], at: datetime) -> list[str]:
        lines = [heading]
        for line in chosen:
            day = at.date().isoformat()
            text = " ".join(dated(each, self._dates, but=day) for each in line)
            _add(lines, f"- {_who(line[0])}: {text}")
        return lines

    def _listed(self, turns: Sequence[Turn], told: Sequence[Said]) -> Mapping[str, list[str]]:
        """Return what lists may hold: all the names, numbers and times that persons speak of."""
        persons = [each for each in told if each.turn.person] or told
        speakers = frozenset(one.lower() for one in _speakers(turns))
        return {
            "names": named(persons, self._names, speakers),
            "numbers": figures(persons, self._dates),
            "dates": list(times(persons, self._dates)),
        }


def _lists(listed: Mapping[str, Sequence[str]], lines: Sequence[str]) -> list[str]:
    """Return the lists of what no line tells."""
    shown = "\n".join(lines)
    found = [_list(label, items, shown) for label, items in listed.items()]
    return [line for line in found if line]


def _speakers(turns: Sequence[Turn]) -> set[str]:
    return {turn.speaker for turn in turns if turn.person}


def _heading(turns: Sequence[Turn], told: Sequence[Said], at: datetime) -> str:
    """Return the first line: when, what about, how much and how long."""
    counted = f"{len(turns)} message{'' if len(turns) == 1 else 's'}"
    others = sorted(_speakers(turns) - ROLES)
    names = " and ".join(one_line(each)[:NAME] for each in others)
    who = f" of {names}" if 0 < len(others) <= FEW else ""
    first, last = min(turn.at.date() for turn in turns), max(turn.at.date() for turn in turns)
    span = f", {first.isoformat()} to {last.isoformat()}" if first != last else ""
    about = _topic(told)
    rest = f"{counted}{who}{span}"
    line = f"{stamp(at)} About {about}: {rest}" if about else f"{stamp(at)} {rest}"
    return line if not looks_secret(line) else f"{stamp(at)} {counted}{span}"


def _topic(told: Sequence[Said]) -> str:
    """Return the names and nouns that come back most, as written; else the first sentence."""
    counts: Counter[str] = Counter()
    written: defaultdict[str, Counter[str]] = defaultdict(Counter)
    nouns: set[str] = set()
    for each in told:
        found = [word for word in read_words(each.whole) if word.weight >= TELLING]
        told_here = [word.stem for word in found if not word.stem[0].isdigit()]
        counts.update(dict.fromkeys(told_here).keys())
        for word in found:
            written[word.stem][word.written.removesuffix("'s")] += 1
        if each.turn.person or each.turn.speaker in AGENTS:
            nouns |= {word.stem for word in found if word.noun}
    place = {stem: at for at, stem in enumerate(counts)}
    best = sorted(counts.keys() & nouns, key=lambda stem: (-counts[stem], place[stem]))[:TOPICS]
    words = [written[stem].most_common(1)[0][0] for stem in best if counts[stem] >= LEAST_TOLD]
    return ", ".join(words) if words else f"“{cut(told[0].text, TOPIC).rstrip('.')}”"


def _who(said: Said) -> str:
    speaker = said.turn.speaker
    if said.turn.person and speaker not in ROLES:
        name = one_line(speaker)[:NAME]
        return f"{name} {said.label}" if said.label is not Label.SAID else name or str(said.label)
    agent = not said.turn.person and speaker in AGENTS
    return f"assistant {said.label}" if agent else str(said.label)


def _list(label: str, items: Iterable[str], shown: str) -> str:
    line = f"- {label}:"
    for item in items:
        if item.partition(" (")[0] in shown or f" {item}," in line:
            continue
        if len(line) + len(item) + 2 > LIST:
            break
        line += f" {item},"
    return line.removesuffix(",") if line.endswith(",") else ""


def _add(lines: list[str], line: str) -> None:
    """Add a line if it has any text, fits, and makes no secret together with the others."""
    text = "\n".join([*lines, line])
    if line and len(text) <= LONGEST and not looks_secret(text):
        lines.append(line)

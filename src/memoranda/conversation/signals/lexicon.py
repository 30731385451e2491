"""Phrases that say what a message does, as a tree of words.

Reading a text costs one look-up a word, however many phrases there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntFlag, auto
from functools import reduce
from operator import or_
from typing import NamedTuple

from memoranda.conversation.signals.wording import END

GAP = 5  # most words that SOME stands for
ANY, SOME, NUMBER, FIRST = "*", "...", "@number", "^"


class Cue(IntFlag):
    """What a phrase says. The files of phrases name these in lower case."""

    NOTHING = auto()
    LEAD = auto()
    FILLER = auto()
    IMPERATIVE = auto()
    REQUEST = auto()
    RULE = auto()
    ERROR = auto()
    CORRECTION = auto()
    REFERENCE = auto()
    CASUAL = auto()
    COMPLETION = auto()
    OPENING = auto()
    DECISION = auto()
    IF = auto()
    WHEN = auto()


_NOTHING = Cue.NOTHING.value
_STOPS = frozenset({",", END})
_TALK = Cue.CASUAL.value | Cue.FILLER.value | Cue.LEAD.value


class Node:
    """What can follow some words, and what they say by themselves."""

    __slots__ = ("after", "cues", "open")

    def __init__(self) -> None:
        """Make a place that nothing follows yet."""
        self.after: dict[str, Node] = {}
        self.cues = 0
        self.open = False  # whether lists or unknown words can follow

    def follow(self, word: str) -> Node:
        """Return the place that ``word`` leads to, made if it is new."""
        if word in self.after:
            return self.after[word]
        self.open = self.open or word[0] == "@" or word in {ANY, SOME, END}
        made = self.after[word] = Node()
        return made


class Start(NamedTuple):
    """A word that begins phrases: what it says alone, and where it leads."""

    cues: int
    nodes: tuple[Node, ...]


class Lexicon:
    """The phrases of one role."""

    def __init__(self) -> None:
        """Start without phrases."""
        self._anywhere, self._first = Node(), Node()
        self._lists: dict[str, tuple[str, ...]] = {}
        self._starts: tuple[dict[str, Start], dict[str, Start]] = ({}, {})

    def define(self, name: str, members: Iterable[str]) -> None:
        """Let ``name`` stand for each of its members in phrases that are added."""
        for member in members:
            self._lists[member] = (*self._lists.get(member, ()), name)

    def add(self, phrase: Sequence[str], cues: int) -> None:
        """Add a phrase, as its words; FIRST before them ties it to the start of a sentence."""
        tied = phrase[0] == FIRST
        node = self._first if tied else self._anywhere
        for word in phrase[tied:]:
            node = node.follow(word)
        node.cues |= cues

    def seal(self) -> None:
        """Note which words begin a phrase, when all have been added."""
        plain, tied = self._leads(self._anywhere), self._leads(self._first)
        both = {word: plain.get(word, []) + tied.get(word, []) for word in {*plain, *tied}}
        self._starts = (_starts(plain), _starts(both))

    def _leads(self, root: Node) -> dict[str, list[Node]]:
        leads = {word: [node] for word, node in root.after.items() if word[0] != "@"}
        for word, names in self._lists.items():
            listed = [root.after[name] for name in names if name in root.after]
            if listed:
                leads[word] = leads.get(word, []) + listed
        return leads

    def match(self, words: Sequence[str], at: int, *, first: bool) -> tuple[int, int]:
        """Return where the longest phrase that begins at ``at`` ends, and the cues of all.

        A phrase that says NOTHING silences those that are not longer, but for small talk.
        Without any phrase the end is ``at`` and there are no cues. ``first`` says that a
        sentence begins here.
        """
        start = self._starts[first].get(words[at])
        if start is None:
            return at, 0
        alone, nodes = start
        paths: list[tuple[Node, int]] = []
        if nodes and at + 1 < len(words):
            word = words[at + 1]
            for node in nodes:
                if node.open or word in node.after or word == ",":
                    self._follow(node, words, at + 1, paths)
        if not paths and not alone & _NOTHING:
            return at + 1, alone
        said = [(at + 1, alone)] if alone else []
        for node, place in paths:  # grows while it is walked
            if node.cues:
                said.append((place, node.cues))
            if node.after and place < len(words):
                self._follow(node, words, place, paths)
        return _told(said, at)

    def _follow(
        self, node: Node, words: Sequence[str], at: int, paths: list[tuple[Node, int]]
    ) -> None:
        """Add to ``paths`` where the words from ``at`` lead."""
        word, after, known = words[at], node.after, len(paths)
        if word in after:
            paths.append((after[word], at + 1))
        if node.open:
            names = self._lists.get(word, ())
            paths += [(after[name], at + 1) for name in names if name in after]
            if END in after and word in _STOPS:
                paths.append((after[END], at))
            if ANY in after and word not in _STOPS:
                paths.append((after[ANY], at + 1))
            if NUMBER in after and word.isdecimal():
                paths.append((after[NUMBER], at + 1))
            if SOME in after:
                most = min(GAP, len(words) - at)
                paths += [(after[SOME], at + skipped) for skipped in range(most + 1)]
        if word == "," and len(paths) == known and words[at + 1 : at + 2] not in ([], [","]):
            self._follow(node, words, at + 1, paths)


def _starts(leads: dict[str, list[Node]]) -> dict[str, Start]:
    return {
        word: Start(
            reduce(or_, (node.cues for node in nodes)),
            tuple(node for node in nodes if node.after),
        )
        for word, nodes in leads.items()
    }


def _told(said: Sequence[tuple[int, int]], at: int) -> tuple[int, int]:
    """Return the end of the longest phrase, and the cues that are not silenced."""
    if len(said) == 1 and not said[0][1] & _NOTHING:
        return said[0]
    end, silent, cues = at, at, 0
    for place, here in said:
        end = max(end, place)
        if here & _NOTHING:
            silent = max(silent, place)
    for place, here in said:
        cues |= here if place > silent else here & _TALK
    return end, cues

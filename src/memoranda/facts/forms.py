"""Finds the forms that fit a text: patterns of RE2, of which a language has hundreds.

What stands for a fragment such as ``{relation}`` is thousands of characters, and a form with some
of them takes milliseconds to compile. So a text is tried in two steps: on loose forms, in which
anything stands for what is long, all in one pass; and on the forms themselves of those that it
fits, each compiled when a text first comes so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from string import digits
from typing import Any

import re2

from memoranda.text.patterns import LinearMatch, compile_pattern, engine_options, expand

# Without regard to case; of the bytes that a form and what RE2 makes of it may take.
_OPTIONS = engine_options(32 << 20, cased=False)
# Forms that are kept ready: a long conversation uses fewer than 200 of its language, and each
# takes a quarter of a megabyte.
_MOST_READY = 512
# In a loose form anything stands for a fragment of more characters than these. What then tells
# nothing apart is made less loose, and at last stays whole.
_LONG_FRAGMENTS = (80, 400, None)
_ANYTHING = r"(?s:.*)"
# A text that tells nothing: what fits it is no form that spares another.
_NOTHING = "x, x x."
_GROUP = compile_pattern(r"\(\?P<\w+")


class FormFragments:
    """What the names in the braces of a language's forms stand for."""

    def __init__(self, source: Callable[[str], str], longest: int | None = None) -> None:
        """Take the fragments from where they are.

        Args:
            source: returns a fragment as its file gives it. Each is an expression by itself: an
                alternation in it stands in a group.
            longest: the characters of the longest fragment that is taken as it is; anything
                stands for others. Without it, all are.
        """
        self.source = source
        self._longest = longest
        self._known: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        """Return a fragment with those in it filled in."""
        if name not in self._known:
            source = self.source(name)
            long = self._longest is not None and len(source) > self._longest
            self._known[name] = _ANYTHING if long else expand(source, self)
        return self._known[name]


class FormSet:
    """Forms of which it finds those that fit a text."""

    def __init__(self, forms: Iterable[str], fragments: FormFragments, flags: str = "") -> None:
        """Make ready to find the forms.

        Args:
            forms: each as its file gives it.
            fragments: what the names in them stand for.
            flags: what stands before each, such as ``(?m)``.
        """
        self._forms = [flags + form for form in forms]
        self._fragments = fragments
        # What finds loose forms, and the places of those of them that tell something.
        self._filters: list[tuple[Any, Mapping[int, int]]] = []
        places: Sequence[int] = range(len(self._forms))
        for longest in _LONG_FRAGMENTS:
            loose = FormFragments(fragments.source, longest)
            found = _compile_filter(expand(self._forms[place], loose) for place in places)
            idle = frozenset(() if longest is None else found.Match(_NOTHING) or ())
            telling = {each: place for each, place in enumerate(places) if each not in idle}
            self._filters.append((found, telling))
            places = [places[each] for each in sorted(idle)]
            if not places:
                break

    def find(self, text: str) -> Iterator[tuple[int, Any]]:
        """Yield the forms that may fit a text, by their place, and ready to use."""
        for place in sorted(
            telling[each]
            for found, telling in self._filters
            for each in found.Match(text) or ()
            if each in telling
        ):
            yield place, _compile(self, place)

    def compile(self, place: int) -> Any:
        """Return the form at a place ready to use, with numbers for a group that it has again."""
        told = Counter[str]()

        def number(found: LinearMatch) -> str:
            told[found[0]] += 1
            return f"{found[0]}{told[found[0]] - 1 or ''}"

        source = expand(self._forms[place], self._fragments)
        return re2.compile(_GROUP.sub(number, source), _OPTIONS)

    def fits(self, text: str) -> bool:
        """Return whether any of the forms fits a text."""
        return any(form.search(text) for _, form in self.find(text))


# One for all languages: what one of them no longer uses makes room for another.
_compile = lru_cache(_MOST_READY)(FormSet.compile)


def group_spans(match: Any) -> dict[str, tuple[int, int]]:
    """Return where the groups of a match are that took part in it."""
    spans = {name: match.span(number) for name, number in match.re.groupindex.items()}
    return {name.rstrip(digits): span for name, span in spans.items() if span[0] >= 0}


def group_texts(match: Any, text: str) -> dict[str, str]:
    """Return what the groups of a match that took part in it hold of a text of its length."""
    return {name: text[start:end] for name, (start, end) in group_spans(match).items()}


def _compile_filter(sources: Iterable[str]) -> Any:
    """Return what finds the forms that fit a text, by their place in ``sources``.

    Only those are tried of which the text has the words that they cannot do without: RE2 finds
    these in one pass. One automaton of all forms would take fifty times as long on new text.
    """
    forms = re2.Filter()
    for source in sources:
        forms.Add(source, _OPTIONS)
    forms.Compile()
    return forms


@lru_cache(maxsize=2_048)
def compile_form(source: str) -> Any:
    """Return a form ready to use; without regard to case. Some are made of users' names."""
    return re2.compile(source, _OPTIONS)

"""Reads the phrases of all languages: ``phrases/*.txt``.

The notation::

    # a remark
    @name = words               a list of words; @name stands for any of them
    [user, assistant: error]    who has to say the phrases below, and what they mean
        a phrase; another

In a phrase ``(a|b c)`` is one of several, ``[a|b]`` one of them or none; ``*`` is any word,
``...`` up to five words, ``@number`` digits, ``$`` the end of a sentence or a comma, ``^`` its
start (or what follows a lead such as "ok, thanks,"). Case, accents, apostrophes and, unless a
phrase has one, commas do not count. What they mean is named as in ``Cue``:

- ``request``, ``imperative``, ``rule``: a user instructs; in a question only a request does.
- ``error``, ``correction``, ``reference``, ``completion``, ``opening``: as in ``Signals``.
- ``if``, ``when``: an error or a completion after it in the sentence did not happen.
- ``decision``: something is settled; for summaries.
- ``casual``: small talk; ``filler``: may stand beside it; ``lead``: stands before a sentence.
- ``nothing``: silences the phrases that begin at the same word and are not longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import product

from memoranda.conversation.signals.lexicon import ANY, FIRST, SOME, Cue, Lexicon
from memoranda.conversation.signals.wording import END, fold, words

_GROUP = re.compile(r"\(([^()]*)\)|\[([^][]*)\]")
_PART = re.compile(r"@\w+|\.\.\.|[*^$]|[^\s@*^$]+")
_HEADING = re.compile(r"\[([a-z, ]+): (\w+)\]")
_ROLES = ("user", "assistant")


@cache
def lexicons() -> dict[str, Lexicon]:
    """Return the phrases of all languages by role. They are not changed any more."""
    made = {role: Lexicon() for role in _ROLES}
    folder = resources.files(__package__).joinpath("phrases")
    files = [file for file in folder.iterdir() if file.name.endswith(".txt")]
    for file in sorted(files, key=lambda file: file.name):
        _read(file.read_text("utf-8"), made)
    for book in made.values():
        book.seal()
    return made


def _read(text: str, into: dict[str, Lexicon]) -> None:
    name, cue, roles = "", 0, list[str]()
    for line in text.splitlines():
        said = line.partition("#")[0].rstrip()
        heading = _HEADING.fullmatch(said)
        if heading:
            name, cue, roles = "", Cue[heading[2].upper()].value, heading[1].split(", ")
        elif said.startswith("@"):
            name, _, said = (part.strip() for part in said.partition("="))
        if name:
            members = words(fold(said))
            for book in into.values():
                book.define(name, members)
        elif cue and not heading:
            for phrase in (variant for part in said.split(";") for variant in variants(part)):
                for role in roles:
                    into[role].add(phrase, cue)


def variants(phrase: str) -> Iterator[list[str]]:
    """Yield all word sequences that a phrase in the notation stands for."""
    pieces: list[list[list[str]]] = []
    end = 0
    for group in _GROUP.finditer(phrase):
        required, optional = group.groups()
        choices = required.split("|") if required is not None else ["", *optional.split("|")]
        pieces += [[_parts(phrase[end : group.start()])], [_parts(choice) for choice in choices]]
        end = group.end()
    pieces.append([_parts(phrase[end:])])
    for choice in product(*pieces):
        found = [word for part in choice for word in part]
        if found:
            yield found


def _parts(phrase: str) -> list[str]:
    found: list[str] = []
    for part in _PART.findall(phrase):
        if part in {FIRST, END, ANY, SOME} or part.startswith("@"):
            found.append(part)
        else:
            found += words(fold(part))
    return found

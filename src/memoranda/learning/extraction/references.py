"""Says who and what is meant by ``Mum``, ``she`` and ``it``, where only one can be.

A fact stands alone: so the words that point at somebody or something of the sentence before are
replaced by what they point at, before a sentence is read. In doubt they stay as they are, and
what is said with them is not learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, cast

import re2

from memoranda.facts.reader import mask_halves
from memoranda.model.models import Mention
from memoranda.text.patterns import LanguageData, expand, load

_EN = LanguageData("en", "references")
_SHE, _HE = frozenset({"she", "her"}), frozenset({"he", "him", "his"})
# The kinds of names that may be those of persons.
_NAMES = frozenset({"person", "other"})


class PersonMention(NamedTuple):
    """A person whom a text brings up: where, by what words, as what relative, and how surely."""

    start: int
    name: str
    noun: str
    sure: bool = True


def spell_out(
    text: str, mentions: Iterable[Mention], *, own_words: bool = False, before: str = ""
) -> str:
    """Return ``text`` with words in place of the pronouns that can mean one thing only.

    Args:
        text: what one person said.
        mentions: the names in it.
        own_words: whether it may be kept as it is written, so that little is changed.
        before: what the same person said last, whose persons may be meant in the first sentence.
    """
    # Half a character is no text that a rule can read.
    text = mask_halves(text.replace("\u2019", "'"))
    if not own_words:
        text = _find("small").sub(_spell_own, text)
        text = _find("both").sub(_spell_both, text)
        text = _find("aside").sub(_spell_aside, text)
        text = _find("dislocated").sub(_spell_dislocated, text)
        text = _find("in_law").sub(lambda found: _put(found, "gap", "-in-law"), text)
        text = _find("building").sub(_spell_building, text)
        text = _find("goes_on").sub(_spell_going_on, text)
        text = _find("pointed").sub(lambda found: _put(found, "pronoun", found["thing"]), text)
    text = _spell_kin(text)
    text = _find("joined").sub(_spell_joined, text)
    text = _find("numbered").sub(_spell_joined, text)
    text = _find("mine_of_need").sub(_spell_mine, text)
    names = {each.text: each.type == "person" for each in mentions if each.type in _NAMES}
    return _spell_persons(text, names, before)


def nouns_against(pronoun: str) -> frozenset[str]:
    """Return the words for people whom a pronoun cannot mean: ``brother`` for ``she``."""
    if pronoun in _SHE:
        return _EN.words("males")
    return _EN.words("females") if pronoun in _HE else frozenset()


def name_relatives(text: str) -> Iterator[str]:
    """Yield the names by which a text calls relatives: ``my aunt Vera``."""
    return (found["name"] for found in _find("relative").finditer(text) if found["name"])


@cache
def _find(name: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(expand(load("en", "references")[name], _EN), options)


def _spell_own(found: Any) -> str:
    """Return ``my gran has`` for ``gran has``, ``my kids`` for ``the kids``."""
    before = found.string[: found.start()].split()[-1:]
    # "My mum and dad" are two.
    if before and before[0].lower() in _EN.words("small_kin") and found[0].startswith("and "):
        return str(found[0])
    if found["the"]:
        return _put(found, "the", "My" if found["the"][0].isupper() else "my")
    noun = found["noun"]
    return _put(found, "noun", f"{'My' if noun[0].isupper() else 'my'} {noun.lower()}")


def _spell_aside(found: Any) -> str:
    """Return ``our eldest Callum plays`` for ``our eldest, Callum, plays``."""
    told = _put(found, "first", " ")
    place = _place(found, "last")[0] - found.start() - 1
    told = f"{told[:place]} {told[place + len(', ') :]}"
    return (
        f"{'My' if told[0] == 'T' else 'my'}{told[3:]}" if found["whose"].lower() == "the" else told
    )


def _spell_both(found: Any) -> str:
    """Return ``my boys`` for ``both my boys``."""
    told = _put(found, "all", "")
    return f"{told[:-3]}{told[-3:].capitalize()}" if found["all"][0].isupper() else told


def _spell_dislocated(found: Any) -> str:
    """Return ``my parents adore`` for ``my parents, they adore``."""
    verbs = {"'re": " are", "'ve": " have", "'s": "'s"}
    pronoun = found["pronoun"].lower()
    return _put(
        found, "pronoun", next((verbs[tail] for tail in verbs if pronoun.endswith(tail)), "")
    )


def _spell_building(found: Any) -> str:
    """Return ``my app is`` for ``the app I'm building is``."""
    told = _put(found, "which", "")
    return f"{'My' if told[0].isupper() else 'my'}{told[3:]}"


def _spell_going_on(found: Any) -> str:
    """Return ``my app is new, and my app is written`` for ``my app is new and it's written``."""
    verb = "was" if found["pronoun"].lower().endswith("was") else "is"
    told = _put(found, "pronoun", f"{found['whose'].lower()} {found['thing']} {verb}")
    place = _place(found, "and")[0] - found.start()
    return f"{told[:place]}; {told[place + len(found['and']) :]}"


def _spell_kin(text: str) -> str:
    """Return ``my dad`` for the ``Dad`` of whoever speaks."""
    parts, done = [], 0
    for found in _find("kin").finditer(text):
        start, end = _place(found, "noun")
        before = text[:start].rstrip()
        last = before.rpartition(" ")[2].lower()
        # "my Dad", "Tom's Mum"; and "Mum, I said" speaks to her.
        if before and (last in _EN.words("determiners") or last.endswith("'s")):
            continue
        if text[end : end + 1] == "," or last in _EN.words("addressed"):
            continue
        opens = not before or before[-1] in ".!?:\n"
        whose = "My" if opens else "my"
        parts += [text[done:start], f"{whose} {found['noun'].lower()}"]
        done = end
    return "".join([*parts, text[done:]])


def _spell_joined(found: Any) -> str:
    """Return ``a choir, my choir is called`` for ``a choir, it's called``."""
    opens = found["pronoun"][0].isupper()
    words = f"{'My' if opens else 'my'} {found['thing']} is"
    return _put(found, "pronoun", words).replace(f" and {words}", f", and {words}")


def _spell_mine(found: Any) -> str:
    return _put(found, "mine", f"my {found['thing']}")


def _put(found: Any, name: str, words: str) -> str:
    """Return what was found with other words for a part of it."""
    (start, end), begin = _place(found, name), found.start()
    return f"{found[0][: start - begin]}{words}{found[0][end - begin :]}"


def _place(found: Any, name: str) -> tuple[int, int]:
    return cast("tuple[int, int]", found.span(found.re.groupindex[name]))


def _spell_persons(text: str, names: Mapping[str, bool], before: str) -> str:
    """Return the one person of this sentence and the one before for ``he`` and ``she``."""
    people = sorted(_people(text, names))
    earlier = [each._replace(start=-1) for each in _people(before, names)]
    found_words = [(_place(found, "pronoun"), found) for found in _find("he_or_she").finditer(text)]
    for form in ("his", "object", "own_thing"):
        found_words += [(_place(found, "pronoun"), found) for found in _find(form).finditer(text)]
    parts, done = [], 0
    for (start, end), found in sorted(found_words, key=lambda each: each[0]):
        heard = _sentence_before(text, start)
        near = [each for each in people if heard <= each.start < start]
        if not near and not _find("stop").search(text[:start].strip()):
            near = earlier
        pronoun = found["pronoun"].lower()
        who = _only_one(near, pronoun)
        if who is None or start < done:
            continue
        name = who.name
        if pronoun in {"his", "her"} and found.re is _find("his"):
            if not who.noun:
                continue
            name = f"my {who.noun}'s" if name.startswith("my ") else f"my {who.noun} {name}'s"
        if found.re is _find("own_thing"):
            name = f"{who.name}'s"
        opens = not text[:start].strip() or text[:start].rstrip()[-1] in ".!?\n"
        name = name[0].upper() + name[1:] if opens else name
        lead = text[done:start]
        # A name, unlike "she", opens no clause by itself.
        joined = next(
            (each for each in (", and ", ", but ", " and ", " but ", ", ") if lead.endswith(each)),
            "",
        )
        lead = f"{lead.removesuffix(joined)}; " if joined else lead
        parts += [lead, name]
        done = end
    return "".join([*parts, text[done:]])


def _people(text: str, names: Mapping[str, bool]) -> Iterator[PersonMention]:
    """Yield the persons of a text: relatives with their name or without, and other names."""
    taken: set[int] = set()
    for found in _find("relative").finditer(text):
        name, noun = found["name"] or "", found["noun"].lower()
        taken.update(range(*found.span()))
        yield PersonMention(found.start(), name or f"my {found['noun']}", noun)
        # "My boss's son" brings up two.
        if owned := _find("owned").match(text[found.end() :]):
            yield PersonMention(found.start(), owned["noun"], owned["noun"].lower())
    for name in names:
        if name.casefold() in _EN.words("no_names"):
            continue
        for found in _find("word").finditer(text):
            begin = found.start()
            after = text[begin + len(name) : begin + len(name) + 1]
            ends = not after.isalnum()
            if begin not in taken and ends and text.startswith(name, begin):
                # "Brian's mother" is she, and not Brian.
                owned = _find("owned").match(text[begin + len(name) :])
                noun = owned["noun"] if owned else ""
                whole = f"{name}'s {noun}" if noun else name
                yield PersonMention(begin, whole, noun.lower(), names[name])


def _sentence_before(text: str, place: int) -> int:
    """Return where the sentence before that of ``place`` begins."""
    stops = [found.end() for found in _find("stop").finditer(text[:place])]
    return stops[-2] if len(stops) > 1 else 0


def _only_one(people: Iterable[PersonMention], pronoun: str) -> PersonMention | None:
    """Return whom ``he`` or ``she`` means; ``None`` where it may be several."""
    other = nouns_against(pronoun)
    found = {each.name: each for each in people if each.noun not in other}
    if sure := {name: each for name, each in found.items() if each.sure}:
        found = sure
    return next(iter(found.values())) if len(found) == 1 else None

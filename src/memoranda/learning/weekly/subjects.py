"""What a week was about: names, and words that come up in several sessions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoranda.learning.weekly.week import Readers, Week
from memoranda.model.models import Kind, Record
from memoranda.text.languages import LanguageData
from memoranda.text.recalled import without_recalled

_EN = LanguageData("en", "digest")


TYPES = frozenset({"person", "organization", "location", "project", "other"})
"""Types of names that a talk can be about; dates and addresses are not."""
SEVERAL = 2
"""Records in which a name, and sessions in which a word, comes up to be told."""
SHORTEST = 4
"""Letters of a Latin word that says what a talk is about."""
OFTEN = 0.5
"""Share of the sessions' records beyond which a word is a manner of speaking."""
TOKEN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CHATTER = """
    also always amazing around awesome back been best better came come comes coming cool could
    days different does doing done even evening ever everything feel feeling felt find first
    found getting give glad goes going gone good great happen happened happens happy hard have
    haven hear heard hello hope hopes into just keep kind know last least less like little long
    look looking looks love made make makes making many maybe might month months more morning
    most much must need needs never nice night okay only other people place places pretty put
    puts putting really right said same seems should some someone something soon sorry sounds
    still such sure take taking talk tell than thank thanks that thing things think thought time
    times today told tomorrow tonight took tried true trying user very want wanted wants week
    weeks well went what when will with wonderful work would yeah year years yesterday your
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that was talked about.

    Attributes:
        name: as it is written most often.
        records: how many records speak of it.
        sources: ids of these.
    """

    name: str
    records: int
    sources: tuple[str, ...]


def names(week: Week, readers: Readers) -> list[Subject]:
    """Return who and what at least two records speak of: in most first, then by name."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    sources: dict[str, dict[str, None]] = defaultdict(dict)
    types: dict[str, str] = {}
    for record in week.said:
        for mention in readers.names.extract(without_recalled(record.content)):
            folded = readers.matcher.fold(mention.text)
            if mention.type in TYPES and folded:
                types.setdefault(folded, mention.type)
                spellings[folded][mention.text] += 1
                sources[folded][record.id] = None
    known: dict[str, str] = {}
    # The longest form of a name first, so that the short ones find what they stand for.
    for folded in sorted(types, key=lambda name: (-len(name), name)):
        same = readers.matcher.link(folded, types[folded], known)
        if same is None or same not in known:
            known[folded] = types[folded]
        else:
            sources[same] |= sources[folded]
    found = [
        Subject(_commonest(spellings[folded]), len(sources[folded]), tuple(sources[folded]))
        for folded in known
        if len(sources[folded]) >= SEVERAL
    ]
    return sorted(found, key=lambda subject: (-subject.records, subject.name))


def recurring(week: Week, readers: Readers, *, but: Sequence[Subject] = ()) -> list[Subject]:
    """Return the words that come up in several sessions and in a fact: in most sessions first.

    Args:
        week: the records.
        readers: finds the words.
        but: names, which are told apart from words.
    """
    known = {term for subject in but for term in readers.words.terms(subject.name)}
    sessions: dict[str, set[str]] = defaultdict(set)
    sources: dict[str, list[Record]] = defaultdict(list)
    talks = [record for record in week.said if record.session_id is not None]
    for record in talks:
        for term in readers.words.query_terms(without_recalled(record.content)):
            if term not in known:
                sessions[term].add(record.session_id or "")
                sources[term].append(record)
    ranked = sorted(
        (
            term
            for term, where in sessions.items()
            if len(where) >= SEVERAL
            and len(sources[term]) <= max(SEVERAL * 2, OFTEN * len(talks))
            and any(record.kind is Kind.FACT for record in sources[term])
        ),
        key=lambda term: (-len(sessions[term]), -len(sources[term]), term),
    )
    return list(_spelt(ranked, sources, readers))


def _spelt(
    terms: Sequence[str], sources: dict[str, list[Record]], readers: Readers
) -> Iterator[Subject]:
    """Yield terms as they are written, each word once: in two languages it has two terms."""
    seen: set[str] = set()
    forms: dict[str, list[str]] = {}
    for term in terms:
        spellings: Counter[str] = Counter()
        for record in sources[term]:
            for token in TOKEN.findall(record.content):
                if token not in forms:
                    forms[token] = readers.words.terms(token)
                if term in forms[token] and len(forms[token]) == 1:
                    spellings[token.lower()] += 1
        word = _commonest(spellings) if spellings else term
        if word in seen or word in _EN.words("chatter") or (word.isascii() and not _tells(word)):
            continue
        seen.add(word)
        yield Subject(word, len(sources[term]), tuple(record.id for record in sources[term]))


def _tells(word: str) -> bool:
    return len(word) >= SHORTEST and not any(char.isdigit() for char in word)


def _commonest(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda text: (-spellings[text], text))

"""Checks what a model claims against the turns that it cites, and says why a claim is rejected.

A person must say it: in words that stand there as they are quoted, with numbers, names and days
that were said, of the same person, and not the contrary. The checks know little grammar: they catch
what models invent. The sentence of a claim stays as the model wrote it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from memoranda.entities.rules import is_given_name, is_no_name, places
from memoranda.facts.reader import FactStatement, read_facts, read_written_facts
from memoranda.facts.requests import read_instruction
from memoranda.facts.values import same_value
from memoranda.learning.claims import ASKED, Category, Claim, Turn
from memoranda.learning.exclusions import is_joke, is_order
from memoranda.learning.extractor import find_event_time
from memoranda.learning.sentences import own_sentences
from memoranda.model.models import ROLES
from memoranda.text.dates.statements import read_times
from memoranda.text.lines import MARKUP
from memoranda.text.patterns import LanguageData, compile_pattern, encodable, load
from memoranda.text.secrets import has_secret
from memoranda.text.sentences import sentence_texts
from memoranda.text.terms import DEFAULT, TermAnalyzer, fold, guess_language, normalize, stop_words

log = logging.getLogger("memoranda.extract")

ENGLISH = LanguageData("en", "evidence")
EVIDENCE = LanguageData("mul", "evidence")
_ANALYZER = TermAnalyzer()
_WORD = compile_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER = compile_pattern(r"\d{4}-\d\d-\d\d|\d{1,3}(?:[.,]\d{3})+\b|\d+")
_NO = compile_pattern(r"(?i)\bno\b")
# The syllables by which Japanese inflects; numbers are compared as such.
_EMPTY_TERM = compile_pattern(r"[\d\u3040-\u309f]")
# What may stand between the end of a sentence and its first word, and around a quotation.
_OPENING, _AROUND = " \"'(\u201c\u2018\u00ab", " .,;:!?\"'()"
# Days of one time that are known one by one, the first ones.
MOST_DAYS = 31
# Claims of a page, per turn of a person; a model that claims more is inventing.
MOST_PER_TURN = 3
# Turns that a line of notes is held to: those that share most words with it.
TRIED = 3
# Characters of one claim, which is a sentence.
LONGEST = 400
# Turns before a source that may say what it is an answer to.
JUST_BEFORE = 2
THE_USER = "the user"


# What a text contains


def telling_terms(text: str) -> set[str]:
    """Return the terms of a text that are neither function words nor numbers nor the user."""
    found = _ANALYZER.query_terms(EVIDENCE.user.sub(" ", text))
    return {term for term in found if not _EMPTY_TERM.search(term)}


def known_terms(text: str) -> set[str]:
    """Return the terms and numbers of a text: the particulars that it can vouch for."""
    return set(_ANALYZER.terms(text)) | numbers(text)


def particulars(text: str, *, opening: bool = False) -> set[str]:
    """Return the numbers of a text, and the terms of the names in it.

    A name is capitalized inside a sentence. German writes every noun so: there a word counts that
    is not known as an everyday one.

    Args:
        text: what is read.
        opening: whether given names count that open a sentence.
    """
    plain, found = EVIDENCE.user.sub("_", text), numbers(text)
    language = guess_language(_WORD.findall(plain.lower()))
    for match in _WORD.finditer(plain):
        word, before = match[0], plain[: match.start()].rstrip(_OPENING)[-1:]
        opens = not before or before in ".!?\n:"
        noun = language == "de" and is_no_name(word) and fold(word) not in places()
        everyday = noun or fold(word) in stop_words(language)
        # The K of 5K is no name.
        written = word[0].isupper() and len(word) > 1 and not everyday
        if written and (not opens or (opening and is_given_name(word))):
            found.update(_ANALYZER.terms(word))
    return found


def numbers(text: str) -> set[str]:
    """Return the numbers of a text in digits, without separators; those in English words too."""
    digits = (found.replace(".", "").replace(",", "") for found in _NUMBER.findall(text))
    found, counts = {each.lstrip("0") or "0" for each in digits}, load("en", "evidence")["counts"]
    for word in _WORD.findall(text.lower()):
        values = [int(counts[each]) for each in word.split("-") if each in counts]
        found.update(map(str, [*values, sum(values)] if values else ()))
    return found


def denies(text: str) -> bool:
    """Return whether a text has a word that denies, and not in form alone."""
    plain = EVIDENCE.no_denial.sub(" ", text.replace("\u2019", "'"))
    if EVIDENCE.portuguese.search(plain):
        plain = _NO.sub(" ", plain)
    return EVIDENCE.negator.search(plain) is not None


# What holds


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """A statement as a model extracts it; see ``prompts/extract.md`` for each field."""

    content: str
    sources: list[str]
    subject: str = THE_USER
    category: Category = Category.STATE
    confidence: float = 0.8
    quote: str = ""


class ClaimChecker:
    """Checks claims against the turns that a model was shown.

    Args:
        page: the turns that claims may rest on.
        before: turns said before them.
        owner: the name of the user, which a claim may use.
    """

    def __init__(self, page: Sequence[Turn], before: Sequence[Turn], owner: str = "") -> None:
        """Check claims of ``page``."""
        self.page = page
        self.labels = {f"t{number}": turn for number, turn in enumerate(page, 1)}
        self._named = {turn.id: turn for turn in page} | self.labels
        self._around = [*before, *page]
        self._speakers = " ".join({owner, *(turn.speaker for turn in self._around)})

    def check_all(self, drawn: Iterable[ClaimAnswer]) -> list[Claim]:
        """Return the claims of a model that hold, each once, in the order they were said."""
        claims: dict[str, Claim] = {}
        for candidate in drawn:
            checked = self.check(candidate)
            if isinstance(checked, str):
                # What was claimed may be private; the reason is not.
                log.info("a claim of the model was dropped: %s", checked)
            else:
                claims.setdefault(checked.content.casefold(), checked)
        most = MOST_PER_TURN * sum(turn.person for turn in self.page)
        return sorted(claims.values(), key=lambda claim: claim.said_at)[:most]

    def check_lines(self, lines: Iterable[str]) -> list[Claim]:
        """Return the claims that lines of notes are which a model wrote.

        Each sentence must hold by itself: one that speaks of "she" cannot be understood alone.
        """
        found = (each for line in lines for each in sentence_texts(line.replace("**", "")))
        alone = (each for each in found if not ENGLISH.pronoun_opening.match(each))
        return self.check_all(map(self._cite, alone))

    def _cite(self, sentence: str) -> ClaimAnswer:
        """Return a sentence as a claim, with the turns that say most of it."""
        about = self.about(sentence)
        said = ((turn, own_words(turn)) for turn in self.page[::-1])
        shared = {turn: len(known_terms(words) & about) for turn, words in said if words}
        # Where no turn shares a word with it, the last one may be a yes.
        best = sorted(filter(shared.get, shared), key=lambda turn: -shared[turn]) or [*shared][:1]
        return ClaimAnswer(sentence, [turn.id for turn in best[:TRIED]])

    def check(self, drawn: ClaimAnswer) -> Claim | str:
        """Return the claim as it holds, or why it does not."""
        content, quote = _on_one_line(drawn.content), _fold(drawn.quote)
        named = [self._named.get(name.strip("[]# ")) for name in drawn.sources]
        cited = [*dict.fromkeys(filter(None, named))]
        # A person's turns first, and of these the one that is quoted.
        cited.sort(key=lambda turn: (not turn.person, not _holds(own_words(turn), quote)))
        why = why_unfit(content) or self._why_unsupported(content, drawn.quote, cited)
        return why or self._claim(drawn, content, cited)

    def _claim(self, drawn: ClaimAnswer, content: str, cited: Sequence[Turn]) -> Claim:
        """Return a claim that holds, with the time that it tells, and its attribute."""
        first = cited[0]
        times = read_times(content, first.at) or read_times(drawn.quote, first.at)
        event_time, event_until = find_event_time(times, first.at)
        own = THE_USER if first.speaker.lower() == "user" else first.speaker
        return Claim(
            content=content,
            subject=_on_one_line(drawn.subject)[:LONGEST] or own,
            category=drawn.category,
            sources=tuple(turn.id for turn in cited),
            speaker=first.speaker,
            said_at=first.at,
            event_time=event_time,
            event_until=event_until,
            confidence=min(1.0, max(0.0, drawn.confidence)),
            fact=read_one_fact(content, first.speaker, drawn.category),
        )

    def _why_unsupported(self, content: str, quote: str, cited: Sequence[Turn]) -> str | None:
        """Return why a claim is not what persons said, or agreed to, if it is not."""
        spoken = [turn for turn in cited if turn.person]
        if not spoken:
            return "no turn of a person says it"
        said, folded = "\n".join(map(self._own_words, spoken)), _fold(quote)
        known, about = self._known([*self._before(spoken[0]), *cited]), self.about(content)
        if not _holds(said, folded):
            return "its quote was not said"
        if not particulars(content, opening=True) <= known:
            return "a number, day or name in it was not said"
        # "No" says as much as what it is an answer to.
        denied = denies(content) and any(map(EVIDENCE.denial.match, said.splitlines()))
        own = denied or bool(about & known_terms(said))
        if not own or len(about) > 2 * len(about & known):
            return "too few words of it were said"
        if is_contrary(content, about, quote or said):
            return "the contrary of it was said"
        near = [each for each in sentence_texts(said) if about & known_terms(each)]
        rests_on = [each for each in near if _holds(each, folded)] or near
        other = is_of_another(content, [*rests_on, quote], spoken[0].speaker)
        return "it was said of somebody else" if other else None

    def is_founded(self, text: str) -> bool:
        """Return whether a text names no number, day or name that no turn of the page has."""
        return particulars(text) <= self._known(self.page)

    def about(self, content: str) -> set[str]:
        """Return the terms and numbers of what a claim says; whom it is about shows nothing."""
        plain = telling_terms(content) | numbers(content)
        subject = content.split(maxsplit=1)[0] if content[:1].isupper() else ""
        return plain - known_terms(f"{subject} {self._speakers}") or plain

    def _known(self, turns: Sequence[Turn]) -> set[str]:
        """Return the terms and numbers of turns, the days that they speak of, and who speaks."""
        days = (
            f"{each.since + timedelta(days):%A %d %B %Y %Y-%m-%d}"
            for turn in turns
            for each in read_times(turn.text, turn.at)
            for days in range(max(1, min(MOST_DAYS, (each.until - each.since).days)))
        )
        # Of the day of speaking, the number alone would vouch for any other.
        texts = (f"{turn.text}\n{turn.at:%B %Y %Y-%m-%d}" for turn in turns)
        return known_terms("\n".join([*texts, self._speakers, *days])) | {"1"}

    def _before(self, turn: Turn) -> list[Turn]:
        """Return the turns just before one, which may say what it is an answer to."""
        place = self._around.index(turn)
        return self._around[max(0, place - JUST_BEFORE) : place]

    def _own_words(self, turn: Turn) -> str:
        """Return a person's own words in a turn, with those of others that it agrees to.

        It says yes, or accepts as a whole what was asked just before.
        """
        before = [each.text for each in self._before(turn)]
        asked = bool(before) and before[-1].rstrip().endswith(("?", "\uff1f"))
        accepts = asked and EVIDENCE.acceptance.match(turn.text)
        agrees = accepts or EVIDENCE.affirmation.match(turn.text)
        whole = agrees and not EVIDENCE.reservation.search(turn.text)
        return "\n".join([own_words(turn), *(before if whole else ())])


@lru_cache(maxsize=128)
def own_words(turn: Turn) -> str:
    """Return a person's turn without what only asks, jokes, or is not the person's own word."""
    parts, only_asks = own_sentences(turn.text), ENGLISH.question.match
    said = ((turn.text[each.start : each.end], each.question) for each in parts if turn.person)
    own = (text for text, question in said if not (question and only_asks(text)))
    return " ".join(text for text in own if not is_joke(text))


def says_no_more(text: str, known: str) -> bool:
    """Return whether a known text has all telling terms and numbers of another one.

    Who opens it by name may be "I" in the known one.
    """
    first, _, rest = text.partition(" ")
    said = rest if is_given_name(first) else text
    new = telling_terms(said) | numbers(said)
    return new <= known_terms(known) and denies(text) == denies(known)


def repeats(claim: Claim, kept: Claim) -> bool:
    """Return whether a claim says of a turn what was kept of it because a person asked for it."""
    again = claim.category in ASKED or says_no_more(claim.content, f"{kept.content} {kept.speaker}")
    return again and not set(claim.sources).isdisjoint(kept.sources)


def why_unfit(content: str) -> str | None:
    """Return why a sentence of a model cannot be kept whatever was said, if so."""
    if not content or len(content) > LONGEST:
        return "it is not a single sentence"
    if MARKUP.search(content):
        return "it quotes a fence"
    if is_order(content) or ENGLISH.order.match(content):
        return "it is an order to the assistant"
    return "it tells a secret" if has_secret(content) else None


def _on_one_line(text: str) -> str:
    """Return a text of a model on one line, without characters that cannot be stored."""
    return " ".join(encodable(text).replace("\0", " ").split())


def _fold(text: str) -> str:
    """Return a text as quotes are compared: without case, kinds of quotes and line ends."""
    return " ".join(fold(normalize(text)).split()).strip(_AROUND)


def _holds(text: str, quote: str) -> bool:
    """Return whether a text holds a folded quote, of which a model may leave out a middle."""
    said = _fold(text)
    return all(part.strip(_AROUND) in said for part in quote.split("..."))


def is_contrary(content: str, about: set[str], text: str) -> bool:
    """Return whether a claim denies what was said, or says what was denied.

    The part of the text that shares most words with it decides; where several do, it is the
    contrary only of all of them.
    """
    parts = EVIDENCE.clause_end.split(text)
    shared = {part: len(known_terms(part) & about) for part in parts}
    near, ends = [part for part in parts if shared[part]], EVIDENCE.ending.search
    if not denies(content):
        # "Stopped" may stand for a denial, unless it is denied itself.
        end = found[0] if (found := ends(content)) else ""
        nearest = [part for part in near if shared[part] == max(shared.values())]
        return bool(near) and all(denies(part) and end in part for part in nearest)
    return bool(near) and not any(denies(part) or ends(part) for part in near)


def is_of_another(content: str, said: Sequence[str], speaker: str) -> bool:
    """Return whether what a claim says was said of another subject.

    That is so where rules read its value in what was said, but of somebody else; and where it is
    about the user, and a sentence speaks of others and never of the speaker.

    Args:
        content: the claim.
        said: the sentences that it rests on.
        speaker: who says them.
    """
    who = "" if speaker in ROLES else speaker
    found = [fact for each in said for fact in read_facts(each, speaker=who)]
    for claimed in read_written_facts(content, who):
        alike = (fact for fact in found if fact.attribute == claimed.attribute)
        value = claimed.value or claimed.ended or ""
        same = [fact for fact in alike if same_value(fact.value or fact.ended or "", value)]
        if same and not any(claimed.subject in {fact.subject, *fact.aliases} for fact in same):
            return True
    user = EVIDENCE.of_user.match(content)
    return user is not None and any(_speaks_of_others(each, content) for each in said)


def _speaks_of_others(sentence: str, content: str) -> bool:
    """Return whether a sentence is about persons whom a claim does not name, not the speaker."""
    if EVIDENCE.speaker.search(sentence):
        return False
    found = {match[0].split()[-1] for match in EVIDENCE.others.finditer(sentence)}
    found |= {word for word in _WORD.findall(sentence) if word.istitle() and is_given_name(word)}
    persons = known_terms(" ".join(found - stop_words(DEFAULT)))
    return bool(found) and known_terms(content).isdisjoint(persons)


def read_one_fact(content: str, speaker: str, category: Category) -> FactStatement | None:
    """Return the attribute that stands beside a claim: the only one that rules read in it.

    The name of somebody who is spoken of is no attribute beside what is said of them.
    """
    own = speaker in ROLES
    facts = read_written_facts(content, "" if own else speaker)
    if not facts and own and category is Category.INSTRUCTION:
        return read_instruction(content, content, "en")
    subjects = {fact.subject for fact in facts}
    telling = [fact for fact in facts if (fact.value or "").casefold() not in subjects]
    return telling[0] if len(telling) == 1 else None

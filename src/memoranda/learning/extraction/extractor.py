"""Extracts facts without a model: messages in, claims out, by rules that would rather be silent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, partial

from memoranda.facts.forms import compile_form
from memoranda.facts.ontology import attributes
from memoranda.facts.questions import relation_attributes
from memoranda.facts.reader import (
    OVER,
    SAME,
    FactStatement,
    Speaker,
    answer_in_full,
    complete_answer,
    is_momentary,
    is_unreal,
    mask_halves,
    name_last,
    read_facts,
    tells_by_asking,
)
from memoranda.facts.requests import asks_to_keep
from memoranda.facts.values import same_value, value_key
from memoranda.learning.claims import ROLES, Category, Claim, Turn
from memoranda.learning.extraction.clauses import (
    carries_content,
    measure_kept,
    split_clauses,
    tells_without_subject,
    weigh_words,
)
from memoranda.learning.extraction.exclusions import (
    blank_exclusions,
    is_injection,
    is_joke,
    is_order,
    is_refused,
    leans_on_talk,
)
from memoranda.learning.extraction.predicates import ClauseStatement
from memoranda.learning.extraction.references import name_relatives, nouns_against, spell_out
from memoranda.learning.extraction.requests import RefusedRequest, TurnRequests, read_requests
from memoranda.learning.extraction.rewriting import (
    ClauseToken,
    Person,
    lower_first_word,
    rewrite,
    split_tokens,
)
from memoranda.learning.extraction.sentences import TurnPart, split_sentences
from memoranda.learning.extraction.spelling import (
    capitalize_names,
    find_names,
    lacks_capitals,
    write_out,
)
from memoranda.learning.extraction.statements import (
    ClaimDraft,
    ClauseContext,
    complete_percent,
    find_values,
    read_dated,
    read_statement,
)
from memoranda.learning.verbs import is_past
from memoranda.model.models import DateMention, Mention
from memoranda.model.ports import EntityExtractor
from memoranda.text.dates.expressions import EARLIEST_YEAR
from memoranda.text.dates.statements import DateParser
from memoranda.text.limits import MOST_READ
from memoranda.text.linear_patterns import LinearMatch
from memoranda.text.patterns import LanguageData, compile_pattern
from memoranda.text.secrets import has_secret

_APOSTROPHE = compile_pattern("['\u2019]")
_EN = LanguageData("en", "extraction")
# What a claim must score by default; see ``benchmarks/facts.py`` for what others give.
THRESHOLD = 0.5
_SURE = 0.9
_MOST = 0.95
_DATED = 0.08
_DATED_PLAN = 0.16
_WORTH_DATING = 0.12
_HEARER_COST = 0.1
_BARE = 0.2
_SHORTEST = 2
_CONTEXT = 6
# Sentences that one is read with, and their characters.
_LEADING = 2
_LONGEST_LEAD = 120
_LEAST_ENGLISH = 0.2
# The share of a clause that a fact is read in from which that is all it says.
_MOST_OF = 0.55
_LASTING = frozenset({Category.IDENTITY, Category.POSSESSION, Category.RELATION})
_PRECISION = {"time": 0, "day": 1, "week": 2, "month": 3, "year": 4, "span": 5}
_CAPITAL = compile_pattern(r"(?<=[\w,;:.!?] )[A-Z][a-z]+|^[A-Z][a-z]+[' \u2019]")
_END = compile_pattern(r"[.!?](?=\s)")
# Sentences of the turn before whose persons a pronoun may mean.
_NEAR = 3
_PICTURE = compile_pattern("[\u2600-\u27bf\ufe0f\U0001f1e6-\U0001faff]")
_QUOTES = compile_pattern(r'"[^"]*"|“[^”]*”|«[^»]*»|`[^`]*`|https?://\S+')


class RuleFactExtractor:
    """Draws claims from turns without a model.

    Finds what persons state of themselves, of those near them and of their projects, and says
    each as one sentence with names and dates in full. English; in other languages the attributes
    and requests that their ``facts.toml`` reads, in sentences of the same language. Stateless
    and thread-safe; time is linear in the text.
    """

    def __init__(
        self, dates: DateParser, names: EntityExtractor, *, threshold: float = THRESHOLD
    ) -> None:
        """Read with these.

        Args:
            dates: finds times, and makes relative ones absolute.
            names: finds names, to tell persons from the rest.
            threshold: what a claim must score, 0 to 1: less gives more claims, and more junk.
        """
        self._dates = dates
        self._names = names
        self._threshold = threshold

    def extract(
        self,
        page: Sequence[Turn],
        *,
        before: Sequence[Turn] = (),
        check: Callable[[], None] = lambda: None,
    ) -> list[Claim]:
        """Return the claims of ``page`` in the order they were said.

        Args:
            page: what is read.
            before: what was said before it, which helps to understand it.
            check: called before each turn, and raises if there is no time for it.
        """
        read = (replace(each, text=each.text[:MOST_READ]) for each in (*before, *page))
        around = blank_exclusions(list(read))
        claims: list[Claim] = []
        written = cache(partial(self._find_written, around))
        told: dict[str, tuple[str, list[Mention]]] = {}
        stated: dict[str, FactStatement] = {}
        for place, turn in enumerate(around):
            if place < len(before) - _CONTEXT or not turn.person:
                continue
            check()
            asked = asks_to_keep(turn.text)
            text = turn.text if asked else self._write_out(turn.text, written)
            named = self._names.extract(text) if _CAPITAL.search(text) else []
            earlier, known = told.get(turn.speaker, ("", []))
            text = spell_out(text, [*named, *known], own_words=asked, before=earlier)
            if turn.speaker in ROLES:
                told[turn.speaker] = _last_sentences(text), named
            question = _asked_before(turn, around[:place])
            text = text if asked else answer_in_full(question, text)
            turn = replace(turn, text=text)  # noqa: PLW2901
            reader = _TurnReader(turn, around, named)
            reader.stated = stated.get(turn.speaker)
            reader.asked = question
            reader.tells_time = partial(self._tells_time, said_at=turn.at)
            reader.requests = _requests_of(turn, around[:place])
            found: dict[str, Claim] = {}
            for draft in list(reader.drafts()):
                claim = self._claim(draft, turn) if place >= len(before) else None
                if claim is not None:
                    found.setdefault(claim.content.casefold(), claim)
            if reader.stated is not None:
                stated[turn.speaker] = reader.stated
            claims += found.values()
        return claims

    def read_requests(
        self, turn: Turn, *, before: Sequence[Turn] = ()
    ) -> tuple[list[Claim], list[RefusedRequest]]:
        """Return what a turn asks to keep, and what of that is refused."""
        if not turn.person or not asks_to_keep(turn.text):
            return [], []
        *earlier, open_turn = blank_exclusions([*before, turn])
        reading = _requests_of(open_turn, earlier)
        drafts = [self._claim(draft, turn) for draft in reading.drafts]
        claims = {claim.content.casefold(): claim for claim in drafts if claim is not None}
        return list(claims.values()), reading.refused

    def _write_out(self, text: str, written: Callable[[], frozenset[str]]) -> str:
        """Return what was typed in a hurry as it is written with care, names with capitals.

        Args:
            text: what was typed.
            written: gives the names that its talk writes with capitals; asked only where needed.
        """
        text = write_out(text)
        if not lacks_capitals(text) or not _is_english(text):
            return text
        return capitalize_names(text, written(), self._names.extract(text))

    def _find_written(self, around: Sequence[Turn]) -> frozenset[str]:
        """Return the names that the turns of a talk write with capitals."""
        texts = {each.text for each in around if _CAPITAL.search(each.text)}
        names = (find_names(each, self._names.extract(each)) for each in texts)
        return frozenset[str]().union(*names)

    def _tells_time(self, said: str, said_at: datetime) -> bool:
        """Return whether words tell a time other than the day they are said on."""
        tonight = said_at.date() + timedelta(days=1)
        times = self._dates.read(said, said_at)
        if any(
            not said_at.date() <= each.since.date() < each.until.date() <= tonight for each in times
        ):
            return True
        return not times and self._dates.resolve(said, said_at) != said

    def _claim(self, draft: ClaimDraft, turn: Turn) -> Claim | None:
        if draft.score < self._threshold - _WORTH_DATING:
            return None
        own = draft.fact is not None and draft.content == draft.fact.content
        timeless = own and not (draft.fact and attributes()[draft.fact.attribute].dated)
        times = [] if timeless else self._dates.read(draft.content, turn.at)
        content = draft.content if timeless else self._dates.resolve(draft.content, turn.at)
        score = draft.score
        if times or content != draft.content:
            score += _DATED_PLAN if draft.category is Category.PLAN else _DATED
        if round(score, 3) < self._threshold:
            return None
        content = " ".join(_PICTURE.sub(" ", content).split()).replace(" .", ".")
        # A statement that still holds a "my" or "I" of the speaker was misread.
        told = _QUOTES.sub("", content).replace(turn.speaker, "")
        points = own and draft.fact is not None and draft.fact.attribute == SAME
        misread = not points and _EN.pattern("own_words", 0).search(told) is not None
        sure = draft.fact is not None and not draft.fact.needs_known
        if not draft.own_words and (misread or (not sure and not points and leans_on_talk(told))):
            return None
        event_time, event_until = _happened(times, turn.at)
        return Claim(
            content=content,
            subject=draft.subject,
            category=draft.category,
            sources=(turn.id,),
            speaker=turn.speaker,
            person=turn.person,
            said_at=turn.at,
            event_time=event_time,
            event_until=event_until,
            confidence=round(min(_MOST, score), 2),
            fact=draft.fact,
            stands_alone=not own,
        )


class _TurnReader:
    """Reads the sentences of a turn, with what it and those around it have brought up."""

    def __init__(self, turn: Turn, around: Iterable[Turn], mentions: Sequence[Mention]) -> None:
        """Read ``turn``.

        Args:
            turn: what is read.
            around: the turns said before it, and those of its page.
            mentions: the named things in it.
        """
        others = {each.speaker for each in around} - {turn.speaker}
        self.turn = turn
        self.chat = turn.speaker in ROLES  # It is said to an assistant.
        self.speaker = Speaker("" if self.chat else turn.speaker.strip())
        self.hearers = frozenset(others - ROLES)
        # Where an assistant listens, "you" may be the assistant.
        hearer = next(iter(self.hearers)) if len(others) == 1 and self.hearers else ""
        self.person = Person("the user" if self.chat else turn.speaker.strip(), hearer)
        names = [mention.text for mention in mentions if mention.type == "person"]
        if self.chat:
            names += name_relatives(mask_halves(turn.text))
        self.people = {
            name.split()[0].lower(): name
            for name in names
            if name.strip()
            and not any(each.startswith(name) or name.startswith(each) for each in self.hearers)
        }
        self.stated: FactStatement | None = None  # What had a value last.
        self.asked = ""  # What the assistant asked before.
        self.requests = TurnRequests()
        self.tells_time: Callable[[str], bool] = bool
        self.last = ""  # The person spoken of last; empty where it is not clear.
        self.lead: tuple[TurnPart, ...] = ()  # The sentences just before, of the same turn.
        self.spanning: frozenset[FactStatement] = frozenset()  # Read with those before.

    def drafts(self) -> Iterator[ClaimDraft]:
        """Yield what the sentences state."""
        yield from self.requests.drafts
        for place, sentence in enumerate(split_sentences(self.turn.text)):
            if place not in self.requests.covered:
                yield from self._sentence(sentence)
            elif place in self.requests.reasons:
                yield from self._sentence(self.requests.reasons[place])
            self.lead = () if sentence.question else (*self.lead, sentence)[-_LEADING:]

    def _is_copy(self, draft: ClaimDraft) -> bool:
        """Return whether a sentence is no more than the message."""
        return draft.content.rstrip(".").casefold() == self.turn.text.strip(" .!").casefold()

    def _said(self, part: TurnPart) -> str:
        return self.turn.text[part.start : part.start + len(part.shown)]

    def _sentence(self, sentence: TurnPart) -> Iterator[ClaimDraft]:
        said = self._said(sentence)
        corrected = _EN.pattern("correction").match(sentence.shown)
        if (
            has_secret(said)
            or is_joke(said)
            or is_unreal(sentence.shown)
            or (corrected and is_order(said))
        ):
            return
        facts = self._facts(sentence, said)
        placed = [
            replace(each, start=each.start + sentence.start, end=each.end + sentence.start)
            for each in facts
        ]
        foreign = any(each.language != "en" for each in facts) or not _is_english(sentence.shown)
        if corrected is None and foreign:
            yield from (_of_fact(each, self.person) for each in facts)
            return
        if corrected is not None:
            begin = corrected.end()
            sentence = TurnPart(sentence.shown[begin:], sentence.start + begin, sentence.question)
        sure = corrected is not None and _EN.pattern("sure_correction").search(corrected[0])
        kind = Category.CORRECTION if sure else None
        drafts = self._clauses(sentence, placed, kind)
        # What names a known value comes before what may end that.
        yield from sorted(self._own(sentence, drafts), key=lambda each: not _names_known(each))

    def _clauses(
        self, sentence: TurnPart, facts: Sequence[FactStatement], kind: Category | None
    ) -> Iterator[ClaimDraft]:
        """Yield what the clauses of a sentence state: known attributes first, then the rest."""
        before: TurnPart | None = None
        left = list(facts)
        spanning = {
            replace(each, start=each.start + sentence.start, end=each.end + sentence.start)
            for each in self.spanning
        }
        for clause in split_clauses(sentence, self.hearers):
            said = self._said(clause)
            if is_refused(said):
                before = None
                continue
            inside = [each for each in facts if each.start < clause.end and clause.start < each.end]
            if self.chat and not inside:
                yield from find_values(clause.shown, said, self.person)
            draft = self._stated(clause, said, before, kind)
            before = clause
            if not inside:
                if draft is not None:
                    yield draft
                continue
            # In the words of the clause where that is all it says, else in a sentence of its own.
            # Whom it names on the way ("my sister Ana") is a fact beside it.
            named = {each.subject for each in inside}
            main = [each for each in inside if (each.value or "").casefold() not in named]
            alone = len(main) == 1 and main[0] in left
            own = alone and (main[0] in spanning or self._has_own_sentence(main[0], draft, clause))
            if own or (draft is not None and leans_on_talk(draft.content)):
                continue
            # "I see my therapist on Monday, Dr Mutua": the name only hangs on.
            if draft is not None and alone and draft.content.endswith(f", {main[0].value}."):
                continue
            dated = alone and (main[0].value is None or attributes()[main[0].attribute].dated)
            least = THRESHOLD - _DATED_PLAN * dated
            if draft is not None and alone and draft.score >= least and _says(draft, main[0]):
                left.remove(main[0])
                yield draft._replace(fact=main[0], score=max(draft.score, THRESHOLD))
            elif draft is not None and not any(
                _is_told_by(each, draft) for each in inside if not _names_on_the_way(each, clause)
            ):
                yield draft
        yield from (_of_fact(each, self.person, kind) for each in left)

    def _has_own_sentence(
        self, stated: FactStatement, draft: ClaimDraft | None, clause: TurnPart
    ) -> bool:
        """Return whether the sentence of an attribute tells a fact better than its clause does."""
        dated = stated.value is None or attributes()[stated.attribute].dated
        # "My day off is Monday" tells of each one, not of the next.
        if not dated and self.tells_time(f"on {stated.value}"):
            return True
        if draft is None:
            return False
        # What stands in the words of the message becomes the sentence of its attribute.
        copied = self._is_copy(draft) and not _same(draft, stated)
        return copied or _fills(stated, clause)

    def _facts(self, sentence: TurnPart, said: str) -> list[FactStatement]:
        """Return what a sentence states of known attributes, unless it asks or gives orders."""
        if has_secret(said) or is_injection(said):
            return []
        if sentence.question and not tells_by_asking(sentence.shown):
            told = self._before_question(sentence)
            sentence, said = sentence._replace(shown=told), said[: len(told)]
        facts: list[FactStatement] = []
        shown = sentence.shown
        named = name_last(shown, self.stated) if self.stated is not None and self.chat else None
        if named is None and self.asked and not self.turn.text[: sentence.start].strip():
            named = complete_answer(self.asked, shown)
        if named is not None:
            lead, begin = named
            shown, said = lead + shown[begin:], lead + said[begin:]
        read = read_facts(shown, said, speaker=self.speaker)
        if self._goes_on_with_other(sentence):
            named_people = relation_attributes()
            read = [
                each for each in read if each.subject != "user" or each.attribute in named_people
            ]
        for each in read if named is not None else self._spanning(sentence, said, read):
            of_last = None
            if each.attribute == SAME and self.stated is not None:
                of_last = each.correct(self.stated)
            # Another value of what is not spoken of here may be one of something known.
            if of_last is not None or each.attribute != SAME or each.ended:
                facts.append(of_last or each)
            if facts and facts[-1].value and facts[-1].attribute != SAME:
                self.stated = facts[-1]
        return facts

    def _before_question(self, sentence: TurnPart) -> str:
        """Return what a question states before it asks: ``I'm 63, which size do I take?``."""
        clauses = list(split_clauses(sentence, self.hearers))
        asking = next((each for each in clauses if each.question), None)
        told = sentence.shown[: asking.start - sentence.start] if asking else ""
        return "" if compile_form(_EN.source("at_times")).search(told) else told

    def _own(self, sentence: TurnPart, drafts: Iterable[ClaimDraft]) -> Iterator[ClaimDraft]:
        """Yield what a sentence states, without what it would say of the speaker for another."""
        others = self.chat and self._goes_on_with_other(sentence)
        for each in drafts:
            if each.fact is not None or not others or each.subject != self.person.name:
                yield each

    def _goes_on_with_other(self, sentence: TurnPart) -> bool:
        """Return whether a sentence without subject follows one about somebody else."""
        before = split_tokens(self.lead[-1].shown) if self.lead else []
        first = _APOSTROPHE.split(before[0].low)[0] if before else ""
        # A name alone is how somebody says who they are: "Leonard Kowalchuk. Go by Len."
        tells = any(each.text[0].islower() for each in before)
        other = (tells and first in self.people) or first in {"he", "she", "they"}
        return other and {"i", "im", "we", "my", "our", "me"}.isdisjoint(
            _APOSTROPHE.split(each.low)[0] for each in split_tokens(sentence.shown)
        )

    def _spanning(
        self, sentence: TurnPart, said: str, read: Sequence[FactStatement]
    ) -> list[FactStatement]:
        """Return what a sentence states, also with those just before: "New bank. It's Monzo".

        Between them then stands what parts two clauses; what begins before the sentence and ends
        in it is stated by both.
        """
        lead, led = "", ""
        for each in reversed(self.lead):
            told = each.shown.rstrip(" .!\u2026\n")
            if len(told) + len(lead) > _LONGEST_LEAD or has_secret(told):
                break
            begin = len(told) - len(told.lstrip())
            lead = f"{told[begin:]}; {lead}"
            led = f"{self._said(each)[begin : len(told)]}; {led}"
        if not lead:
            return list(read)
        gap = len(sentence.shown) - len(sentence.shown.lstrip())
        shown = lead + sentence.shown[gap:]
        found = [
            replace(each, start=0, end=each.end - len(lead) + gap)
            for each in read_facts(shown, led + said[gap:], speaker=self.speaker)
            if each.start < len(lead) < each.end and each.attribute != OVER
        ]
        self.spanning = frozenset(found)
        return [
            *found,
            *(
                each
                for each in read
                if not any(_tells_same(other, each) for other in found)
                and not (found and each.attribute == SAME)
            ),
        ]

    def _stated(
        self, clause: TurnPart, said: str, before: TurnPart | None, kind: Category | None
    ) -> ClaimDraft | None:
        """Return what a clause states.

        Args:
            clause: what is read.
            said: its text as it is written.
            before: the clause before it, if that may be kept.
            kind: what its statement is whatever it says, where somebody asks to remember it or
                surely corrects something.
        """
        words = split_tokens(clause.shown)
        asking = words[:1] and words[0].low in _EN.words("asking_words")
        telling = asking and tells_without_subject([word.low for word in words])
        if clause.question or len(words) < _SHORTEST or (asking and not telling):
            return None
        if kind is None and is_momentary(clause.shown):
            return None
        if before is not None and self._goes_on_supposing(before, clause):
            return None
        setting = ClauseContext(self.chat, frozenset(self.people), kind, opens=before is None)
        pronoun = _EN.pattern("he_or_she").match(clause.shown)
        if pronoun and self.last:
            return self._of_last(clause, said, pronoun, setting)
        stated = read_statement(words, setting)
        if stated is not None and _is_doubtful(words, stated):
            stated = None
        self._note_person(words, stated)
        # "…, so the cat has a butler": what somebody concludes of others is no news of them.
        own = stated is not None and words[stated.first].low.partition("'")[0] in {"i", "we"}
        if stated is not None and not own and self._concludes(before, clause):
            stated = None
        draft = self._draft(said, clause.shown, stated, kind) if stated else None
        if draft is None or draft.score < THRESHOLD - _DATED:
            draft = self._dated(clause, said, setting) or draft
        if draft is None:
            return None
        if before is not None and self.chat:
            told = rewrite(before.shown, before.shown, self.person)
            draft = draft._replace(content=complete_percent(draft.content, told))
        return draft

    def _goes_on_supposing(self, before: TurnPart, clause: TurnPart) -> bool:
        """Return whether a clause belongs to a condition: ``if I win and I buy a boat``."""
        between = self.turn.text[before.end : clause.start].strip(" ,").lower()
        first = before.shown.lower().removeprefix("like ").partition(" ")[0]
        return between in {"and", "or"} and first in _EN.words("conditions")

    def _concludes(self, before: TurnPart | None, clause: TurnPart) -> bool:
        """Return whether a clause draws a conclusion from the one before it: ``…, so …``."""
        between = "" if before is None else self.turn.text[before.end : clause.start]
        return self.chat and between.strip(" ,").lower() == "so"

    def _dated(self, clause: TurnPart, said: str, setting: ClauseContext) -> ClaimDraft | None:
        """Return what a clause states that is worth knowing for the time that it tells."""
        # "My viva's in a fortnight": the verb stands alone in what is kept.
        short = _EN.pattern("short_is").search(clause.shown)
        shown = clause.shown
        if short is not None:
            said, shown = (
                f"{each[: short.end()]} is{each[short.end() + 2 :]}" for each in (said, shown)
            )
        stated = read_dated(split_tokens(shown), setting)
        if stated is None or not self.tells_time(said):
            return None
        return self._draft(said, shown, stated, setting.kind, dated=True)

    def _of_last(
        self, clause: TurnPart, said: str, pronoun: LinearMatch, setting: ClauseContext
    ) -> ClaimDraft | None:
        """Read ``She works at Siemens`` where it is clear who she is."""
        pointing = pronoun[0].lower().partition("'")[0]
        if not nouns_against(pointing).isdisjoint(self.last.lower().split()):
            return None
        name = self.last + (" is" if pronoun[0].endswith("'s") else "")
        shown, said = name + clause.shown[pronoun.end() :], name + said[pronoun.end() :]
        first = self.last.split()[0].lower().removesuffix("'s")
        stated = read_statement(split_tokens(shown), replace(setting, people=frozenset({first})))
        if stated is None or not stated.third:
            return None
        draft = self._draft(said, shown, stated, setting.kind, whole=True)
        told = [each for each in read_facts(shown, said) if not each.needs_known] if draft else []
        return draft._replace(fact=told[0]) if draft and len(told) == 1 else draft

    def _draft(
        self,
        said: str,
        shown: str,
        stated: ClauseStatement,
        kind: Category | None,
        *,
        whole: bool = False,
        dated: bool = False,
    ) -> ClaimDraft | None:
        """Return what can stand alone of a statement, in the third person; ``None`` if too little.

        Args:
            said: the clause as it is written.
            shown: the same, masked.
            stated: what it states.
            kind: what its statement is whatever it says, if given.
            whole: keep the clause from its beginning on.
            dated: it is kept for the time that it tells, so that a verb alone will do.
        """
        tokens = split_tokens(shown)
        words, rest = tokens[stated.first :], stated.rest - stated.first
        length = measure_kept(words, rest, hearer=bool(self.person.hearer), persons=stated.third)
        told = words[rest:length]
        count, bonus = weigh_words(told, lasting=stated.category in _LASTING)
        if length <= rest or count == 0:
            return None
        if not dated and stated.category is not Category.PREFERENCE and _is_bare(told):
            bonus -= _BARE
        score = round(stated.score + bonus, 3)
        if any(word.low in _EN.words("second") for word in words[:length]):
            score -= _HEARER_COST
        begin, end = 0 if whole else words[0].start, words[length - 1].end
        return ClaimDraft(
            content=rewrite(said[begin:end], shown[begin:end], self.person, stated.prefix),
            subject=self._subject(said, tokens, stated),
            category=kind or stated.category,
            score=score if kind is None else max(score, _SURE),
        )

    def _subject(self, said: str, words: Sequence[ClauseToken], stated: ClauseStatement) -> str:
        own = words[stated.first].low in {"my", "our"}
        if not stated.subject or (own and not stated.third):
            return self.person.name
        group = said[words[stated.first].start : words[stated.subject - 1].end]
        spoken = rewrite(group, group, self.person).rstrip(".").removesuffix("'s")
        return lower_first_word(spoken)

    def _note_person(self, words: Sequence[ClauseToken], stated: ClauseStatement | None) -> None:
        """Remember the one person that a clause brings up, for a ``she`` that follows."""
        found = {self.people[word.low] for word in words if word.low in self.people}
        if found:
            self.last = found.pop() if len(found) == 1 else ""
        elif stated is not None and stated.third:
            self.last = _find_person(words[stated.first : stated.subject])


def _last_sentences(text: str) -> str:
    """Return the end of what somebody said: what "he" may mean in what they say next."""
    ends = [found.end() for found in _END.finditer(text.rstrip())]
    return text[ends[-_NEAR] :] if len(ends) >= _NEAR else text


def _happened(times: Sequence[DateMention], said_at: datetime) -> tuple[datetime, datetime | None]:
    """Return when something happened by the times it tells, and the first moment after it.

    What goes on, or began nobody says when, has no end, or no beginning, of its own.
    """
    time = min(times, key=lambda each: _PRECISION.get(each.precision, 9), default=None)
    if time is None:
        return said_at, None
    if time.since.year == EARLIEST_YEAR:
        return time.until - timedelta(days=1), None
    goes_on = time.precision == "span" and time.until.date() == said_at.date() + timedelta(days=1)
    return time.since, None if goes_on else time.until


def _asked_before(turn: Turn, earlier: Sequence[Turn]) -> str:
    """Return the question with which an assistant ended what it said just before a turn."""
    before = earlier[-1] if earlier else turn
    if turn.speaker not in ROLES or before.person or not before.text.rstrip().endswith("?"):
        return ""
    return list(split_sentences(before.text))[-1].shown


def _requests_of(turn: Turn, earlier: Sequence[Turn]) -> TurnRequests:
    """Return what a turn asks of memory: only what is said to an assistant can."""
    if not turn.person or turn.speaker not in ROLES or not asks_to_keep(turn.text):
        return TurnRequests()
    before = next((each.text for each in reversed(earlier) if each.speaker == turn.speaker), "")
    text = mask_halves(turn.text)
    return read_requests(text, list(split_sentences(text)), mask_halves(before))


def _of_fact(stated: FactStatement, person: Person, kind: Category | None = None) -> ClaimDraft:
    """Return a fact in the sentence that its language has for its attribute."""
    return ClaimDraft(
        content=stated.content,
        subject=person.name if stated.subject == "user" else stated.subject,
        category=kind or Category(attributes()[stated.attribute].category),
        score=_SURE,
        fact=stated,
    )


def _names_known(draft: ClaimDraft) -> bool:
    """Return whether a statement gives another value to what has a known one."""
    return draft.fact is not None and draft.fact.attribute == SAME


def _says(draft: ClaimDraft, stated: FactStatement) -> bool:
    """Return whether a sentence tells the value of a fact; of what only ended, its last word."""
    last = stated.content.rstrip(".").rpartition(" ")[2]
    told = str(stated.value or stated.ended or last).casefold()
    content = draft.content.casefold()
    if attributes()[stated.attribute].dated and not any(
        each in content for each in (stated.subject, *stated.subject.split())
    ):
        return False
    # Of "my wife Ana's sister" only the sister is spoken of.
    return bool(told) and told in content and f"{told}'s " not in content


def _same(draft: ClaimDraft, stated: FactStatement) -> bool:
    """Return whether the sentence of an attribute is the one that was said."""
    return draft.content.casefold() == stated.content.casefold()


def _tells_same(one: FactStatement, other: FactStatement) -> bool:
    """Return whether two readings of the same words give an attribute the same value."""
    if one.attribute != other.attribute:
        return False
    return one.value == other.value or same_value(one.value or "", other.value or "")


def _fills(stated: FactStatement, clause: TurnPart) -> bool:
    """Return whether a clause says no more than a fact in fixed words: "I eat everything"."""
    told = min(stated.end, clause.end) - max(stated.start, clause.start)
    fixed = value_key(stated.value or "").isdisjoint(value_key(clause.shown))
    return bool(stated.value) and fixed and told >= _MOST_OF * len(clause.shown)


def _names_on_the_way(stated: FactStatement, clause: TurnPart) -> bool:
    """Return whether a fact only names whom its clause tells of: "my boys Arlo and Jude are …"."""
    kind = Category(attributes()[stated.attribute].category)
    relation = kind is Category.RELATION or stated.attribute == "pet"
    told = min(stated.end, clause.end) - max(stated.start, clause.start)
    return relation and told < _MOST_OF * len(clause.shown)


def _is_told_by(stated: FactStatement, draft: ClaimDraft) -> bool:
    """Return whether a sentence speaks of what a fact says, in whatever words."""
    told = value_key(draft.content)
    # "The concert's not happening on Saturday", beside its new date.
    dated = attributes()[stated.attribute].dated and not told.isdisjoint(value_key(stated.subject))
    return dated or not told.isdisjoint(value_key(stated.value or stated.ended or stated.content))


def _is_english(shown: str) -> bool:
    words = shown.lower().split()
    if not _EN.words("surely_english").isdisjoint(each.replace("\u2019", "'") for each in words):
        return True
    known = sum(word.strip(".,!?;:'\"").partition("'")[0] in _EN.words("english") for word in words)
    return known > len(words) * _LEAST_ENGLISH


def _find_person(group: Sequence[ClauseToken]) -> str:
    """Return the person that ``group`` brings up, for a ``he`` that follows; empty in doubt.

    A thing is no person, but whose it is may be one: ``my husband`` of ``my husband's birthday``.
    """
    owners = [place for place, word in enumerate(group) if word.low.endswith("'s")]
    if not owners:
        return " ".join(word.text for word in group)
    relative = group[-1].low.removesuffix("'s") in _EN.words("relatives")
    if len(owners) > 1 or (relative and owners[0] < len(group) - 1):
        return ""
    return " ".join(word.text for word in group[: owners[0] + 1]).removesuffix("'s")


def _is_bare(words: Sequence[ClauseToken]) -> bool:
    """Return whether all that is said is a verb: ``we talked``."""
    told = [word.low for word in words if carries_content(word)]
    told = [each for each in told if each not in _EN.words("shells", "undertakings")]
    if len(told) == 1 and told[0].endswith("ing"):
        return told[0] not in _EN.words("complete")
    return all(is_past(each) and each not in _EN.words("complete") for each in told)


def _is_doubtful(words: Sequence[ClauseToken], stated: ClauseStatement) -> bool:
    """Return whether a clause is supposed or wished rather than said."""
    lead = words[stated.first : stated.rest]
    return any(word.low in _EN.words("hypothetical") for word in lead) or words[0].low == "if"

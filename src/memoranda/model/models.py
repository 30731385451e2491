"""The things memoranda keeps and returns. All of them are immutable values."""

from __future__ import annotations

import copyreg
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, Self

from memoranda.model.checks import EPOCH, content_hash

# Speakers that are no names.
ROLES = frozenset({"user", "assistant", "system", "tool", "developer", "agent"})
NO_METADATA: Mapping[str, Any] = MappingProxyType({})


def _read_only(values: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(values)


# So that records can be sent to another process.
copyreg.pickle(MappingProxyType, lambda values: (_read_only, (dict(values),)))


class Unset(Enum):
    """The type of ``UNSET``."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        """Return the name under which it is exported."""
        return self.value


# Characters of a record's text that its repr shows.
SHOWN = 60
PDF_URL = "data:application/pdf;base64,"
# Says that an argument was not given, where ``None`` clears a field.
UNSET = Unset.UNSET


class Kind(StrEnum):
    """What a record is (requirements S1.04 to S1.06, S4.42).

    All but ``item`` are kinds of memory; an item is an application's own value under a namespace
    and a key, which nobody sees who does not ask for items.
    """

    EPISODE = "episode"
    FACT = "fact"
    CONTEXT = "context"
    REFLECTION = "reflection"
    ITEM = "item"

    @property
    def prefix(self) -> str:
        """The start of the ids of this kind."""
        return {"episode": "ep", "context": "ctx", "reflection": "ref"}.get(self, self._value_)


MEMORY_KINDS = tuple(kind for kind in Kind if kind is not Kind.ITEM)


class Trust(StrEnum):
    """Who stands behind a text; what is external never acts as an instruction."""

    PERSON = "person"
    AGENT = "agent"
    EXTERNAL = "external"


@dataclass(slots=True, kw_only=True)  # Not frozen, which would take five times as long to make.
class Record:
    """One unit of long-term memory; nothing changes it once it is made.

    Attributes:
        id: ``ep_…``, ``fact_…``, ``ctx_…``, ``ref_…`` or ``item_…``; sorts by creation, or by the
            time that a file tells of what was imported, without one before all others.
        kind: episode, fact, context, reflection or item.
        content: the text, exactly as it was given.
        user: whose memory it is.
        agent: which agent of the user wrote it, if that was said.
        session_id: the conversation it belongs to.
        position: its place in that session, from 0 in the order of arrival.
        event_time: when it happened; of an item, when its value was last written.
        event_until: of what takes a day or longer, the first moment after it: the end of the
            stretch that its text tells, its notes name and a search for a time meets.
        created_at: when it was recorded; of an item, when its key was first written.
        valid_until: when it stopped, or will stop, being believed; ``None`` is open.
        superseded_by: id of the record that replaced it.
        supersedes: id of the record that it replaced.
        confidence: 0 to 1.
        access_count: how often it was recalled.
        last_accessed: when it was last recalled.
        decay_rate: per day, for the forgetting curve; 0 never fades.
        strength, strength_at: the confidence from which it fades, ``None`` is ``confidence``,
            and since when: when it was last said or recalled.
        source_ids: the records it was derived from.
        source_role: who said it: ``user``, ``assistant``, an agent or a speaker.
        origin: how it came in: ``api``, ``conversation``, ``import:…``.
        trust: who stands behind it.
        tags: labels to filter by.
        metadata: any JSON the caller attached.
        enriched_at: when its entities were last looked for by a better extractor.
        content_hash: hash of the content.
        namespace: where an item is: texts from the widest to the narrowest.
        key: the name of an item in its namespace; ``None`` for all that is no item.
        subject: of a fact whose attribute is known, whom or what it is about: ``user``, or a
            name in small letters.
        attribute: which one: ``home``; ``None`` where it could not be read.
        value: its value: ``Delft``; ``None`` where it has none any more.
    """

    id: str
    kind: Kind
    content: str
    user: str
    event_time: datetime
    created_at: datetime
    content_hash: str
    agent: str | None = None
    session_id: str | None = None
    position: int | None = None
    valid_until: datetime | None = None
    superseded_by: str | None = None
    supersedes: str | None = None
    confidence: float = 1.0
    access_count: int = 0
    last_accessed: datetime | None = None
    decay_rate: float = 0.0
    strength: float | None = None
    strength_at: datetime | None = None
    source_ids: tuple[str, ...] = ()
    source_role: str | None = None
    origin: str = "api"
    trust: Trust = Trust.PERSON
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA)
    enriched_at: datetime | None = None
    namespace: tuple[str, ...] = ()
    key: str | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    event_until: datetime | None = None

    def __repr__(self) -> str:
        """Return the record as one line, with the beginning of its text."""
        text = self.content if len(self.content) <= SHOWN else f"{self.content[: SHOWN - 1]}…"
        return f"Record(id={self.id!r}, kind={self.kind.value!r}, content={text!r})"

    @property
    def version(self) -> str:
        """What a person may change of it, in short: another after each change, not by fading."""
        until = None if self.valid_until is None else self.valid_until.isoformat()
        held = [self.content, self.tags, dict(self.metadata), until, self.decay_rate]
        return content_hash(json.dumps([*held, self.superseded_by], sort_keys=True))[:16]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the assistant made: ``arguments`` is the JSON text it wrote."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to the call ``call_id``; its text is the message's content."""

    call_id: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A picture or a PDF in a message. It is sent whole or not at all.

    Attributes:
        url: where a picture is: ``https://…``; or the file itself: ``data:image/png;base64,…``,
            ``data:application/pdf;base64,…``.
        detail: OpenAI's ``low``, ``high`` or ``auto``; decides what a picture costs.
    """

    url: str
    detail: str = "auto"

    @property
    def is_pdf(self) -> bool:
        """Whether it is a PDF, which counts by its pages."""
        return self.url.startswith(PDF_URL)

    @property
    def label(self) -> str:
        """What stands for it where it cannot be shown."""
        return "[PDF]" if self.is_pdf else "[image]"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that is not yet in a transcript; :class:`Message` explains its fields."""

    role: str
    content: str
    timestamp: datetime | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    images: tuple[Image, ...] = ()
    task: str | None = None
    raw: Mapping[str, Any] | None = field(default=None, hash=False)
    part: int = 0

    @property
    def name(self) -> str | None:
        """Who of several speakers says it, as a message of OpenAI's chat form has it."""
        if self.raw is None or self.role == "tool" or "type" in self.raw:
            return None
        name = self.raw.get("name")
        return name if isinstance(name, str) and name.strip() else None

    @property
    def speaker(self) -> str:
        """Who says it: the role, or which person it is in that of the user."""
        return (self.name if self.role == "user" else None) or self.role


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(NewMessage):
    """One turn of a conversation (requirement R1.2).

    Attributes:
        id: ``msg_…``; sorts by arrival.
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        content: the text; may be empty where there are tool calls or images.
        timestamp: when it was said.
        tokens: its length for a model, counted once when it was added.
        importance: 0 to 1: what its content alone says, without age or place.
        pinned: stays in every view.
        tool_calls: the calls it makes (assistant only).
        tool_result: the call it answers (tool only).
        images: the pictures in it.
        task: the title of the task that starts with it, where the caller said so.
        position: its place in the transcript, from 0; ``None`` until it is in one.
        record_id: the episode under which it is found later.
        raw: what a provider gave, as JSON, where the fields do not say it exactly: reasoning with
            its signature, files, calls of a provider's own tools, whatever is not known here.
        part: 0 for what is a whole item; from 1 on, which of the messages this is that one given
            item became, as Anthropic's message with several results does. ``raw`` is its part.
    """

    id: str
    timestamp: datetime
    tokens: int
    importance: float | None = None
    pinned: bool = False
    position: int | None = None
    record_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSpan:
    """A run of messages that are out of view.

    Attributes:
        first: position of the first of them.
        last: position of the last one.
        messages: how many they are.
        tokens: how many tokens they take.
        since, until: when the first and the last was said.
        why: why they are out.
    """

    first: int
    last: int
    messages: int
    tokens: int
    since: datetime
    until: datetime
    why: str

    @property
    def place(self) -> str:
        """The positions, as ``Conversation.expand`` takes them: ``12-26``, or ``12``."""
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedSpan(MessageSpan):
    """A run of messages without gaps that one pruning took out of view.

    Attributes:
        summary: rules, decisions and the like among them, quoted; ``None`` where there are none.
        named: codes, numbers and names that they hold, the most telling first.
    """

    summary: str | None = None
    named: tuple[str, ...] = ()

    def tear(self) -> Self:
        """Return the span without all that may quote messages of it that are gone."""
        return replace(self, summary=None, named=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """The receipt of one pruning (requirement R7.2). The messages stay in the transcript.

    Attributes:
        id: ``prn_…``; sorts by time.
        at: when it was done.
        trigger: ``automatic``, ``aggressive``, ``manual``, ``task_boundary`` or
            ``session_start`` (requirements R6.1 to R6.5).
        why: what set it off, with its figures.
        strategy: how the messages were chosen.
        before, after: tokens of a request with all that is in view, before and after it.
        cuts: what it took out, in order.
    """

    id: str
    at: datetime
    trigger: str
    why: str
    strategy: str
    before: int
    after: int
    cuts: tuple[PrunedSpan, ...]

    @property
    def messages(self) -> int:
        """How many messages it took out of view."""
        return sum(cut.messages for cut in self.cuts)

    @property
    def tokens(self) -> int:
        """How many tokens it freed."""
        return sum(cut.tokens for cut in self.cuts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What is left of messages that were removed from a transcript together.

    Attributes:
        id: ``tmb_…``; sorts by time.
        at: when they were removed.
        count: how many they were.
        messages: those of them whose text was not erased since, in order, as they were.
    """

    id: str
    at: datetime
    count: int
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker(MessageSpan):
    """Stands in a view for the messages that were pruned (requirement R3.6).

    Attributes:
        id: ``cut_12-26``, by the positions of the first and the last message;
            ``Conversation.expand`` takes it.
        text: what the model reads in their place.
        cost: tokens of ``text`` as a message.
        quotes: whether ``text`` tells what messages said: then it is sent as data, in the
            user's role, and never as an instruction.
    """

    id: str
    text: str
    cost: int
    quotes: bool = False


@dataclass(frozen=True, slots=True)
class Calibration:
    """How counts of tokens become what the provider bills.

    Attributes:
        scale: factor on an estimate; 1 where counts are exact.
        overhead: tokens that come on top in every call; negative where the definitions of tools
            cost less than they are counted.
    """

    scale: float = 1.0
    overhead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInfo:
    """A stored conversation: its settings and how far it is cleared.

    Attributes:
        id: the caller's name for it, unique for the user.
        system: the system prompt.
        model: the model whose tokens count.
        context_limit: the model's context window, in tokens.
        created_at: when it was first opened.
        ended_at: when ``end()`` was called.
        cleared_through: messages up to this one are out of every view.
        start: position of the first message that is not cleared.
        messages: how many messages the transcript holds.
        revision: a number that grows whenever what was in the transcript changes: a pin, an
            erasure, a pruning, a summary. Messages added at the end leave it as it is.
        calibration: what the provider's own counts taught.
    """

    id: str
    created_at: datetime
    system: str | None = None
    model: str | None = None
    context_limit: int | None = None
    ended_at: datetime | None = None
    cleared_through: str | None = None
    start: int = 0
    messages: int = 0
    revision: int = 0
    calibration: Calibration = Calibration()


@dataclass(frozen=True, slots=True)
class Mention:
    """A named thing in a text.

    Attributes:
        text: as it is written there.
        type: person, organization, location, project, date, email, url, mention,
            hashtag or other.
        start, end: first character of it in the text, and the character after it.
        confidence: 0 to 1.
    """

    text: str
    type: str
    start: int
    end: int
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person, place or thing that records speak of, under one name.

    Attributes:
        id: ``ent_…``.
        name: the canonical name.
        type: as in :class:`Mention`.
        aliases: the other names under which it occurs.
        mention_count: how many records mention it.
        summary: what facts say of it, in short, where a profile was asked for.
        records: the newest of those records, where a profile was asked for.
    """

    id: str
    name: str
    type: str
    aliases: tuple[str, ...] = ()
    mention_count: int = 0
    summary: str | None = None
    records: tuple[Record, ...] = ()


class ChangeAction(StrEnum):
    """What can be done to a record, as its history tells it."""

    INSERT = "insert"
    CLOSE = "close"
    SUPERSEDE = "supersede"
    REWEIGH = "reweigh"
    CREDIT = "credit"
    ENRICH = "enrich"
    RETIRE = "retire"
    UPDATE = "update"
    ERASE = "erase"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of a record's history: what was done to which version, when and why."""

    at: datetime
    action: ChangeAction
    reason: str
    record: str
    detail: Mapping[str, Any] = field(default_factory=lambda: NO_METADATA)


@dataclass(slots=True)  # Not frozen, as Record, and nothing changes it: a search makes a hundred.
class ArmEvidence:
    """The evidence that one retrieval method gives for a record.

    Attributes:
        rank: its place in that arm's list, from 1.
        score: in the arm's own unit (BM25, cosine, …).
        share: what it adds to the fused score.
    """

    rank: int
    score: float
    share: float


@dataclass(slots=True, kw_only=True)
class Why:
    """Why a record was found: its score is the arms' shares, times the two factors.

    Attributes:
        arms: evidence by the arm's name: lexical, vector, entity, temporal, …
        confidence: factor for how far the record is believed.
        precedence: above 1, it brings another hit up to date; below 1, one does so with it.
        when, speaker: when it happened, and who said it.
        before, after: the turns around it in its session, shortened.
        unread: ``question`` or ``record``, whichever the embedding model cannot read, so that
            words, names and times stand for its meaning; ``None`` where it reads both.
    """

    arms: Mapping[str, ArmEvidence]
    confidence: float = 1.0
    precedence: float = 1.0
    when: datetime
    speaker: str | None = None
    before: str | None = None
    after: str | None = None
    unread: str | None = None

    def __str__(self) -> str:
        """One line: the arms, largest share first."""
        parts = sorted(self.arms.items(), key=lambda item: -item[1].share)
        return " · ".join(
            f"{name} #{arm.rank} ({arm.score:.2f}) +{arm.share:.3f}" for name, arm in parts
        )


@dataclass(slots=True)
class Hit:
    """A record that answers a query, best first by ``score``, with the reasons."""

    record: Record
    score: float
    why: Why

    def __repr__(self) -> str:
        """Return the hit as one line, without the reasons."""
        return f"Hit(score={self.score:.3f}, record={self.record!r})"


@dataclass(frozen=True, slots=True)
class Recall:
    """Memory for a prompt.

    Attributes:
        text: a Markdown block that fences the memories as data; empty if none fit.
        hits: the records in it, best first.
        tokens: the length of ``text``.
    """

    text: str
    hits: tuple[Hit, ...]
    tokens: int


NO_RECALL = Recall("", (), 0)


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """One line of a receipt: a part of the context, its tokens, and why it is in or out."""

    what: str
    tokens: int
    why: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ContextReceipt:
    """What went into a context and what stayed out.

    Attributes:
        budget: the tokens that were allowed.
        tokens: the tokens it takes.
        exact: whether these are the model's own counts rather than estimates.
        included: the parts that went in, in order; their tokens add up to ``tokens``.
        left_out: the messages that stayed out, those that an earlier pruning took out by
            runs. They remain in the transcript, and their episodes can still be found.
        markers: what stands for them in the context; ``Conversation.expand`` gives them back.
    """

    budget: int
    tokens: int
    exact: bool
    included: tuple[ReceiptLine, ...]
    left_out: tuple[ReceiptLine, ...]
    markers: tuple[Marker, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A context ready for a call to a model.

    Attributes:
        messages: dicts in the form that was asked for: OpenAI's chat completions, OpenAI's
            responses, or Anthropic's messages.
        tokens: how many tokens they take; never more than the budget.
        receipt: what went in, what stayed out, and why.
        recall: the memory that went in.
        system: the system prompt, for forms where it is an argument of its own: a text
            (``instructions`` of OpenAI's responses), or blocks of text with a breakpoint of the
            prompt cache (``system`` of Anthropic); ``None`` where it is among the messages.
    """

    messages: list[dict[str, Any]]
    tokens: int
    receipt: ContextReceipt
    recall: Recall
    system: str | list[dict[str, Any]] | None = None


class PlaceKind(StrEnum):
    """What holds a text."""

    RECORD = "record"
    MESSAGE = "message"
    SYSTEM = "system prompt"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class TextPlace:
    """A place that holds a text.

    Attributes:
        kind: what it is.
        id: of the record, the message, the conversation or the pruning; the path of a file.
        conversation: the conversation it belongs to, if it does to one.
    """

    kind: PlaceKind
    id: str
    conversation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """What a forgetting did, as the store counted it.

    Attributes:
        id: the record, the conversation or the user that was forgotten; of several records the
            first.
        records: how many records in all.
        versions: other versions of what was named, which went with it, and what had been believed
            less for one of them, which is not believed again.
        copies: other records with the same text of five words or more, which went, too.
        derived: records derived from any of these that went with them.
        messages: how many messages of transcripts.
        conversations: how many conversations.
        erased: whether the text was removed for good, not only retired.
        notes: how many lines, entries and files of the Markdown notes were cleaned or removed.
        places: where the text was cut out of something that stays otherwise.
        independent: ids of records and messages that say the same and stay: they were stated on
            their own.
        likely: ids of records that may tell it in other words, the likeliest first. Nothing finds
            all of these: they are for a person to look at.
        purged: whether the free space was overwritten and none of the files holds the text.
        unpurged: why it is not so, and what to do about it.
    """

    id: str
    records: int = 0
    versions: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    messages: int = 0
    conversations: int = 0
    erased: bool
    notes: int = 0
    places: tuple[TextPlace, ...] = ()
    independent: tuple[str, ...] = ()
    likely: tuple[str, ...] = ()
    purged: bool = False
    unpurged: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of what is stored and found.

    Attributes:
        user: whose memory it is. Nothing of one user is visible to another.
        agent: which of the user's agents. An agent sees its own records and those
            without an agent; ``None`` sees all of the user's.
        deletions: how often the user had been deleted when the scope was opened. Where that has
            changed, the scope can no longer be used; ``None`` can always be.
    """

    user: str
    agent: str | None = None
    deletions: int | None = field(default=None, compare=False, repr=False)

    @property
    def whole_user(self) -> Scope:
        """The user with all agents."""
        return replace(self, agent=None)

    def owns(self, record: Record) -> bool:
        """Return whether a record is the user's, and no other agent's."""
        agents = {None, self.agent or record.agent}
        return record.user == self.user and record.agent in agents


def is_active(record: Record, at: datetime) -> bool:
    """Return whether the validity of ``record`` has not ended at ``at``."""
    return record.valid_until is None or record.valid_until > at


def ended(record: Record) -> str:
    """Return what to say of a record that is no longer believed."""
    after = f"; {record.superseded_by} took its place" if record.superseded_by else ""
    if not after and record.valid_until == EPOCH:
        return f"{record.id} is not believed: it waits for a person's approval, or was dropped"
    return f"{record.id} is no longer believed{after}"


def says_all(known: Record, new: Record) -> bool:
    """Return whether an active fact says all that a new one of the same text would.

    It has more trust, or as much and the same speaker; the same metadata or more; the session and
    time of the new one, where these were given; and an end exactly where the new one has one. Tags
    do not count.
    """
    ranks = list(Trust)
    behind = ranks.index(new.trust) - ranks.index(known.trust)
    return (
        (behind > 0 or (behind == 0 and new.source_role in {None, known.source_role}))
        and known.superseded_by is None
        and (known.valid_until is None) == (new.valid_until is None)
        and new.event_time in {new.created_at, known.event_time}
        and new.session_id in {None, known.session_id}
        and all(
            name in known.metadata and _as_json(known.metadata[name]) == _as_json(value)
            for name, value in new.metadata.items()
        )
    )


def _as_json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


@dataclass(frozen=True, slots=True)
class DateMention:
    """A time expression in a text, and the span of time it means.

    Attributes:
        text: as it is written there: ``yesterday``, ``in May``.
        start: first character of it in the text.
        end: the character after it.
        since: where the time meant begins, in the zone of the moment it was said.
        until: where it ends; the first moment that is not part of it.
        precision: ``day``, ``week``, ``month``, ``year`` or ``span``.
    """

    text: str
    start: int
    end: int
    since: datetime
    until: datetime
    precision: str

"""The groups of settings, each a fixed value whose unknown names are errors.

What the docstring of a group says about a setting is what ``memoranda config explain`` says; the
first sentence of it stands in its list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)

from memoranda.model.passwords import hide_password
from memoranda.settings.parsing import check_span

# Names with commas between them.
LIST = r"^ *({0})( *, *({0}))* *$"
TOKEN = re.compile(r"[!-~]+")
SHORTEST_TOKEN = 16  # characters; a token of fewer can be guessed


def check_name(value: str) -> str:
    """Return a name that is not blank."""
    if not value.strip():
        raise ValueError(f"{value!r} names nothing; write a name, or leave it out")
    return value


def users_by_token(tokens: SecretStr) -> dict[str, str]:
    """Return the user of each token.

    Raises:
        ValueError: the text is not of the form of the setting. It never quotes a token.
    """
    found: dict[str, str] = {}
    for place, pair in enumerate(tokens.get_secret_value().split(","), 1):
        token, _, user = (each.strip() for each in pair.rpartition("="))
        problems = {
            "is not TOKEN=USER": not (token and user),
            f"has a token of {len(token)} characters": len(token) < SHORTEST_TOKEN,
            "has a token with spaces or letters beyond ASCII": not TOKEN.fullmatch(token),
            "has the token of an entry before it": token in found,
        }
        if problem := next(filter(problems.get, problems), None):
            raise ValueError(
                f"entry {place} {problem}; give each user a token of {SHORTEST_TOKEN} or more "
                f"ASCII characters, such as openssl rand -hex 32 prints: TOKEN=USER,TOKEN=USER"
            )
        found[token] = user
    return found


def _check_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ValueError, OSError, KeyError) as error:
        message = f"{value!r} is not a time zone; use a name such as Europe/Lisbon"
        raise ValueError(message) from error
    return value


Name = Annotated[str, AfterValidator(check_name)]
Share = Annotated[float, Field(gt=0, le=1)]
Span = Annotated[str, AfterValidator(check_span)]
# A shell expands ~ in an argument, but nobody does in a file or a variable.
Folder = Annotated[Path, AfterValidator(lambda path: Path(os.path.expanduser(path)))]  # noqa: PTH111 - takes an unknown user as it is
Tokenizer = Annotated[str, Field(pattern=r"^(o200k_base|cl100k_base|estimate|.*\.json)$")]
Tokens = Annotated[SecretStr, AfterValidator(lambda value: users_by_token(value) and value)]
Zone = Annotated[str, AfterValidator(_check_zone)]


class SettingsSection(BaseModel):
    """A group of settings: fixed once made, and unknown names are errors."""

    model_config = {"frozen": True, "extra": "forbid"}

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        """Yield what is shown of the group, without the passwords of addresses."""
        for name, value in super().__repr_args__():
            yield name, hide_password(value) if isinstance(value, str) else value


class MemorySettings(SettingsSection):
    """A small agent's memory in four names. Each of them brings the whole of it.

    Attributes:
        path: Folder of a Chroma store that holds everything. ``~/.reachy/memory`` where only others
            of this section are set.
        context_window_size: How many turns a model sees. ``5`` where only others of this section
            are set.
        embedding_model: Which model turns texts into vectors. ``all-MiniLM-L6-v2``, the local one,
            where only others of this section are set; another one is written like
            ``embedding.model``.
        cleanup_interval: Seconds from one clean-up to the next. ``3600`` where only others of this
            section are set.
    """

    path: Name | None = None
    context_window_size: PositiveInt | None = None
    embedding_model: Name | None = None
    cleanup_interval: PositiveInt | None = None


class StorageSettings(SettingsSection):
    """How the database file is written.

    Attributes:
        busy_timeout: Seconds to wait while another process writes.
        durability: What a stored write survives. ``process``: that the process is killed;
            ``power``: also that the power fails, which makes each write wait for the disk.
        key: Passphrase that encrypts an SQLite file. It needs apsw-sqlite3mc in place of apsw, and
            leaves notes and exports readable.
    """

    busy_timeout: PositiveFloat = 60.0
    durability: Literal["process", "power"] = "process"
    key: Annotated[SecretStr, Field(min_length=1)] | None = None


class EmbeddingSettings(SettingsSection):
    """Which model turns texts into vectors.

    Attributes:
        model: The model, or that there is none. ``auto`` (local, if its files are there),
            ``local`` for English, ``multilingual`` for other languages and several, ``none`` or
            ``openai:NAME``.
        dimensions: Length of the vectors, such as ``256``. Only ``openai:`` models can cut them;
            without it, the models text-embedding-3 are cut to 256.
        base_url: Address of a server that speaks OpenAI's format. Such as
            ``http://localhost:11434/v1``.
        api_key: Key for that server, where it wants one.
        timeout: Seconds that a search waits for that server. A server that took longer, or failed,
            is not asked for a while, and words answer alone.
        folder: Where the local model's files are, if not as usual. Such as ``~/models/minilm``.
        threads: Threads of the local model.
        background: Whether vectors are computed in the background. Otherwise they are computed
            before the next search.
    """

    model: str = "auto"
    dimensions: PositiveInt | None = None
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout: PositiveFloat = 2.0
    folder: Folder | None = None
    threads: PositiveInt = 1
    background: bool = True


class RetrievalSettings(SettingsSection):
    """How hits are ranked, and which are recalled.

    Attributes:
        fusion: How search methods are combined. ``blend``: weighted sum of the evidence; ``rrf``:
            reciprocal rank fusion; ``cosine``: by meaning alone, the score being the cosine.
        rrf_k: The constant of reciprocal rank fusion.
        token_vectors: Whether each word gets a vector of its own. That finds better and takes about
            2.5 kB a record; with the local model and ``blend`` alone. What was stored while it was
            off has none until ``memoranda doctor --reembed``.
        min_score: Minimum score of a hit, if the caller gives none. Such as ``0.3``.
        recall: What recall gives a model. ``all``: whatever answers the prompt, as far as it fits;
            ``facts``: the five best facts of other sessions.
        wait: Seconds that a search waits for the vectors of new records. After that, words find
            them.
        cache_size: Megabytes of memory for the records of searched users. Beyond that, those of
            users asked the longest ago are dropped; the user who is asked always fits.
    """

    fusion: Literal["blend", "rrf", "cosine"] = "blend"
    rrf_k: PositiveInt = 60
    token_vectors: bool = True
    min_score: float | None = Field(default=None, ge=0, le=1)  # S1.13
    recall: Literal["all", "facts"] = "all"
    wait: NonNegativeFloat = 0.3
    cache_size: PositiveInt = 1_024


class RetentionSettings(SettingsSection):
    """How long each kind of memory is kept.

    Attributes:
        episode: How long what was said is kept. ``forever``, ``day`` (until the user's midnight),
            or a number with ``s``, ``m``, ``h``, ``d`` or ``w``, such as ``30d``.
        fact: How long facts are kept. Written like ``retention.episode``.
        context: How long the context of a day is kept. Written like ``retention.episode``.
        reflection: How long reflections are kept. Written like ``retention.episode``.
        remove: Whether what expired or was forgotten is removed for good. The clean-up does that,
            and takes the messages along; otherwise it is only no longer found, and history still
            has it.
    """

    episode: Span = "forever"
    fact: Span = "forever"
    context: Span = "day"
    reflection: Span = "forever"
    remove: bool = False  # S1.18


class TokenSettings(SettingsSection):
    """How tokens are counted, and how many a model takes.

    Attributes:
        limits: Context windows, in tokens, by model. Each name is that of a model or a pattern
            (``my-model*``); these win over the ones that are known.
        tokenizers: What counts tokens, by model. Each name is that of a model or a pattern
            (``my-model*``); each value is ``o200k_base``, ``cl100k_base``, the path of a
            ``tokenizer.json``, or ``estimate``.
    """

    limits: dict[str, PositiveInt] = {}
    tokenizers: dict[str, Tokenizer] = {}


class ConversationSettings(SettingsSection):
    """Defaults of conversations that do not say otherwise.

    Attributes:
        context_limit: Context window, in tokens, whatever the model. Such as ``32000``;
            ``tokens.limits`` comes first. Otherwise the model's own; for an unknown model 8,192 is
            assumed, to be on the safe side, and 128,000 if no model is named.
        max_tokens: Most tokens of a context. Such as ``8000``; otherwise the share of the window
            that ``budget_share`` says.
        budget_share: Share of the window that a context may take.
        max_messages: Most messages in a view from which some were pruned.
        keep_recent: How many of the newest messages always stay.
        window: How many turns ``Conversation.window`` returns by itself.
        strategy: Which messages stay in view. ``rolling_window``: the newest, question and answer
            together; ``recency``: the newest, message by message; ``importance``: what scores
            highest; ``hybrid``: both new and important; or the name of an installed one.
        warn_at: Share of the window at which approaching_limit is sent.
        prune_from: Share of the window below which nothing leaves by itself. Whatever the number of
            messages, the task and the strategy.
        prune_at: Share of the window at which pruning starts.
        prune_to: Share of a context that pruning leaves. Less than where it starts, so that the
            next is not due at once.
        aggressive_at: Share of the window from which pruning goes further.
        aggressive_to: Share of a context that the further pruning leaves.
        at_task_boundary: What a finished task's messages do when the next starts. ``prune``: they
            leave the view; ``keep``: they stay.
        at_session_start: What earlier sessions' messages do when one begins. ``prune``: they leave
            the view; ``keep``: they stay.
    """

    context_limit: PositiveInt | None = None
    max_tokens: PositiveInt | None = None  # R8.2
    budget_share: Share = 0.8
    max_messages: PositiveInt = 50  # R8.1
    keep_recent: PositiveInt = 10  # R8.4
    window: PositiveInt = 5  # S1.37: context_window_size
    strategy: Literal["rolling_window", "recency", "importance", "hybrid"] = "rolling_window"
    warn_at: Share = 0.8  # R2.4
    prune_from: float = Field(default=0.5, ge=0, le=1)  # W1
    prune_at: Share = 0.8  # R6.1
    prune_to: Share = 0.5
    aggressive_at: Share = 0.9  # R6.2
    aggressive_to: Share = 0.4
    at_task_boundary: Literal["prune", "keep"] = "prune"  # R6.4
    at_session_start: Literal["prune", "keep"] = "keep"  # R6.5

    @model_validator(mode="after")
    def _in_order(self) -> ConversationSettings:
        names = ("aggressive_to", "prune_to", "prune_at", "aggressive_at")
        shares = [getattr(self, name) for name in names]
        if shares != sorted(shares):
            said = ", ".join(f"{name}={share}" for name, share in zip(names, shares, strict=True))
            raise ValueError(f"each of {said} must be at least the one before")
        return self


class LLMSettings(SettingsSection):
    """Which language model helps, if any.

    Attributes:
        model: The model, such as ``anthropic:claude-haiku-4-5``. Written ``anthropic:NAME``,
            ``openai:NAME``, or ``openai:NAME@URL`` for any server that speaks OpenAI's format, such
            as ``openai:qwen3@http://localhost:11434/v1``; without it there is none.
        api_key: Key for the model. Otherwise the provider's own variable, such as
            ``ANTHROPIC_API_KEY``.
        timeout: Seconds that one call may take, retries included.
        retries: How often a failing or unreachable server is asked again.
    """

    model: str | None = None
    api_key: SecretStr | None = None
    timeout: PositiveFloat = 30.0  # S2.30: consolidationTimeout
    retries: NonNegativeInt = 2


class ConsolidationSettings(SettingsSection):
    """How sessions become facts.

    Attributes:
        automatic: Whether sessions become facts automatically. When one ends, and when the next
            begins; otherwise only by ``consolidate``, the nightly job, and where an agent ends a
            session or makes room in it.
        extractor: What extracts facts from a conversation. ``auto``: the language model, if there
            is one; ``none``: nothing; only what is stored explicitly becomes a fact.
        timeout: Seconds that ending a conversation waits for its facts. They are extracted in any
            case.
        duplicate_at: Share of common words from which two facts are one. The Jaccard index of their
            words.
        decay_rate: How fast a fact fades, per day, that nobody asked to keep. 0 is never.
        approve: Whether facts wait until a person keeps them. Those that were learned, or stored by
            an agent's tool; not what a person asked to keep.
    """

    automatic: bool = True
    extractor: Literal["auto", "rules", "llm", "none"] = "auto"
    timeout: PositiveFloat = 30.0  # S2.30
    duplicate_at: Share = 0.75  # S4.22
    decay_rate: NonNegativeFloat = 0.1  # S4.53
    approve: bool = False


class NotesSettings(SettingsSection):
    """The Markdown notes that a person can read and edit.

    Attributes:
        automatic: Whether notes are written automatically. With every session that became facts;
            otherwise only where ``Memory.notes`` is used.
        folder: Where they are, such as ``~/workspace/memory``. Otherwise in a folder beside the
            database, ``agent.notes`` for ``agent.db``; inside a folder of Chroma in ``notes``; of a
            server nowhere. ``{user}`` in it is the user's name; without it, users other than the
            configured one get folders inside.
        max_memory_size: Bytes from which MEMORY.md is made smaller.
        in_context: Whether MEMORY.md is part of every context. As far as a quarter of its budget
            allows.
    """

    automatic: bool = True
    folder: Name | None = None
    max_memory_size: int = Field(default=8_192, ge=256)  # S2.06: maxMemorySize
    in_context: bool = True


class AgentSettings(SettingsSection):
    """The reference agent: ``Agent`` and ``memoranda chat``.

    Attributes:
        system: Its system prompt.
        memory_window: Messages after which the oldest are consolidated. They stay in view.
        max_steps: How often it may call tools before it has to answer.
        tools: Which tools it has. ``all``, ``none``, or the names of those of memory, such as
            ``search_memories, store_memory``. Your own tools are always there.
        spend_limit: What a session may cost, in US dollars. What is done for it in the background
            counts, too. No call of a model begins beyond it. Only calls whose price is known count.
    """

    system: str = (
        "You are a helpful assistant with a long-term memory. Look things up with "
        "search_memories before you say that you do not know them, and keep with store_memory "
        "what the user wants kept."
    )
    memory_window: int = Field(default=50, ge=2)  # S2.26: memoryWindow
    max_steps: PositiveInt = 8
    tools: str = "all"
    spend_limit: float | None = Field(default=None, gt=0)

    @field_validator("tools", mode="before")
    @classmethod
    def _join(cls, given: object) -> object:
        return ", ".join(map(str, given)) if isinstance(given, list | tuple) else given


class SecretSettings(SettingsSection):
    """What becomes of passwords, keys, card numbers and other secrets, at each door.

    Attributes:
        remember: What a program stores. With ``remember``, ``correct``, ``update`` and
            ``set_context``, and what it imports, but for an export of memoranda. ``keep``: as it
            is; ``mask``: with ``[…]`` in the place of a secret; ``refuse``: not at all, and an
            import says what it left out.
        tools: What a model stores by the tools of ``Memory.tools`` and ``Agent``. Written like
            ``secrets.remember``.
        mcp: What a model stores over MCP. Written like ``secrets.remember``.
        search: What ``search`` shows of secrets. ``mask``: ``[…]``; ``keep``: all of them. What is
            asked for by its id is always shown as it is, and so are items.
        recall: What models are shown of secrets. By recall, in a context, by tools, in what stages
            such as consolidation ask, and what a server of embeddings is sent; written like
            ``secrets.search``.
    """

    remember: Literal["mask", "refuse", "keep"] = "keep"
    tools: Literal["mask", "refuse", "keep"] = "refuse"
    mcp: Literal["mask", "refuse", "keep"] = "refuse"
    search: Literal["mask", "keep"] = "mask"
    recall: Literal["mask", "keep"] = "mask"


class DecaySettings(SettingsSection):
    """When facts that nobody asks for fade away.

    Attributes:
        threshold: Confidence below which a fact is retired.
    """

    threshold: float = Field(default=0.05, ge=0, lt=1)  # S4.54


class EntitySettings(SettingsSection):
    """Which providers find the names in a text.

    Attributes:
        fast: Which providers of names read each text as it arrives. ``regex`` or ``regex, spacy``,
            in the order that counts.
        accurate: Which providers of names read it again at night. Of ``regex``, ``spacy`` and
            ``llm``; those that are not set up are skipped.
        spacy_model: An installed spaCy pipeline, such as ``en_core_web_sm``. Or the folder of one.
    """

    fast: Annotated[str, Field(pattern=LIST.format("regex|spacy"))] = "regex"
    accurate: Annotated[str, Field(pattern=LIST.format("regex|spacy|llm"))] = "regex, spacy, llm"
    spacy_model: str | None = None


class ScheduleSettings(SettingsSection):
    """When upkeep runs: five fields of cron in the user's time zone, a time span, or ``off``.

    Attributes:
        enrich: When the accurate providers read names again.
        consolidate: When sessions that wait become facts.
        decay: When facts fade.
        reflect: When the weekly insight is written.
        expire: When expired records are retired. Also when the process starts; ``3600s`` is each
            full hour.
        expire_at_start: Whether opening a memory retires expired records. Commands that end at once
            do not.
        in_background: Whether upkeep runs in the background of what serves people. That is
            ``memoranda chat``, ``memoranda tui``, ``memoranda mcp``, and an ``Agent`` with
            ``upkeep=True``; several on one store divide the users.
    """

    enrich: str = "0 2 * * *"  # S4.15
    consolidate: str = "0 3 * * *"
    decay: str = "0 4 * * *"
    reflect: str = "0 3 * * sun"
    expire: str = "0 * * * *"  # S1.39: cleanup_interval
    expire_at_start: bool = False  # S1.38
    in_background: bool = True


class HttpSettings(SettingsSection):
    """Names and limits of what is served over HTTP; slow headers are for a reverse proxy to end.

    Attributes:
        allowed_hosts: Names of the server beside the address it listens on. As clients write them,
            such as ``memory.example.org``, with a comma between them; ``NAME:*`` is any port.
        allowed_origins: Origins of web pages that may ask, beside its own. Such as
            ``https://app.example.org``, with a comma between them.
        keep_alive: Seconds that a connection stays open without a request.
        connections: Most connections at once. Beyond that, requests are answered with 503.
        header_size: Bytes of the header of a request at most. More is answered with 400.
        body_size: Bytes of the body of a request at most. More is answered with 413.
        body_seconds: Seconds in which the body of a request has to arrive. Later ones are answered
            with 408; of ``memoranda serve`` alone.
        rate: Requests that one token may send a second. More are answered with 429; of
            ``memoranda serve`` alone.
    """

    allowed_hosts: str | None = None
    allowed_origins: str | None = None
    keep_alive: PositiveFloat = 5.0
    connections: int = Field(default=512, ge=16)
    header_size: int = Field(default=16_384, ge=1_024)
    body_size: int = Field(default=4_194_304, ge=1_024)
    body_seconds: PositiveFloat = 30.0
    rate: PositiveFloat = 200.0


class McpSettings(SettingsSection):
    """The MCP server: ``memoranda mcp``.

    Attributes:
        tools: Which tools clients are offered. ``basic``: search, store and forget; ``full``:
            recalling, correcting, confirming, figures and entities, too.
        tokens: Who may ask over HTTP, as ``TOKEN=USER, TOKEN=USER``. Each token opens the memory of
            its user and no other; without any, only this machine can ask.
    """

    tools: Literal["full", "basic"] = "full"
    tokens: Annotated[Tokens | None, BeforeValidator(lambda value: value or None)] = None


class AllSettings(SettingsSection):
    """What can be set.

    Attributes:
        location: Where the memory is, if the caller does not say. A file such as ``~/agent.db``,
            ``postgresql://HOST/DATABASE``, or ``chroma:///FOLDER``; otherwise a file in the user's
            data folder.
        user: Whose memory, if the caller does not say.
        timezone: The user's time zone, such as ``Europe/Lisbon``. Otherwise the machine's.
    """

    location: str | None = None
    user: Name = "default"
    timezone: Zone | None = None
    memory: MemorySettings = MemorySettings()
    storage: StorageSettings = StorageSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    retention: RetentionSettings = RetentionSettings()
    conversation: ConversationSettings = ConversationSettings()
    tokens: TokenSettings = TokenSettings()
    llm: LLMSettings = LLMSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    notes: NotesSettings = NotesSettings()
    agent: AgentSettings = AgentSettings()
    secrets: SecretSettings = SecretSettings()
    decay: DecaySettings = DecaySettings()
    entities: EntitySettings = EntitySettings()
    schedule: ScheduleSettings = ScheduleSettings()
    http: HttpSettings = HttpSettings()
    mcp: McpSettings = McpSettings()

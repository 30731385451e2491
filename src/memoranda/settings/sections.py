"""The groups of settings, each a fixed value whose unknown names are errors.

The docstrings below the settings are what ``memoranda config explain`` says about them; the
first sentence of each stands in its list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SecretStr, ValidationInfo, field_validator, model_validator

from memoranda.model.passwords import PasswordlessRepr
from memoranda.settings.one_of import STRATEGIES
from memoranda.settings.parsing import names, parse_span

# Characters of a token at least: shorter ones can be guessed.
LEAST_TOKEN = 16
FORM = "write TOKEN=USER, and a comma between several"


class Section(PasswordlessRepr, BaseModel):
    """A group of settings: fixed once made, and unknown names are errors."""

    model_config = {"frozen": True, "extra": "forbid"}


class MemorySettings(Section):
    """A small agent's memory in four names. Each of them brings the whole of it."""

    path: str | None = Field(default=None, examples=["~/.reachy/memory"])
    """Folder of a Chroma store that holds everything. ``~/.reachy/memory`` where only others of
    this section are set."""
    context_window_size: int | None = Field(default=None, ge=1, examples=[5])
    """How many turns a model sees. 5 where only others of this section are set."""
    embedding_model: str | None = Field(default=None, examples=["all-MiniLM-L6-v2"])
    """Which model turns texts into vectors. ``all-MiniLM-L6-v2``, the local one, where only
    others of this section are set; another name is one of sentence-transformers, or written like
    ``embedding.model``."""
    cleanup_interval: int | None = Field(default=None, ge=1, examples=[3600])
    """Seconds from one clean-up to the next. 3600 where only others of this section are set."""

    @field_validator("path", "embedding_model")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError(f"{value!r} names nothing; write a name, or leave it out")
        return value


class StorageSettings(Section):
    """How the database file is written."""

    busy_timeout: float = Field(default=60.0, gt=0)
    """Seconds to wait while another process writes."""
    durability: Literal["process", "power"] = Field(default="process", examples=["power"])
    """What a stored write survives. ``process``: that the process is killed; ``power``: also
    that the power fails, which makes each write wait for the disk."""


class EmbeddingSettings(Section):
    """Which model turns texts into vectors."""

    model: str = Field(default="auto", examples=["local"])
    """The model, or that there is none. ``auto`` (local, if its files are there), ``local``,
    ``none``, ``openai:NAME`` or ``sentence-transformers:NAME``."""
    dimensions: int | None = Field(default=None, gt=0, examples=[256])
    """Length of the vectors, for models that can cut them. Only ``openai:`` models can; without
    it, the models text-embedding-3 are cut to 256."""
    base_url: str | None = Field(default=None, examples=["http://localhost:11434/v1"])
    """Address of a server that speaks OpenAI's format."""
    api_key: SecretStr | None = Field(default=None, examples=["-"])
    """Key for that server, where it wants one."""
    timeout: float = Field(default=2.0, gt=0, examples=[1.0])
    """Seconds that a search waits for that server. A server that took longer, or failed, is not
    asked for a while, and words answer alone."""
    folder: Path | None = Field(default=None, examples=["~/models/minilm"])
    """Where the local model's files are, if not as usual."""
    threads: int = Field(default=1, ge=1, examples=[2])
    """Threads of the local model."""
    background: bool = Field(default=True, examples=[False])
    """Whether vectors are computed in the background. Otherwise they are computed before the
    next search."""

    @field_validator("folder")
    @classmethod
    def _at_home(cls, value: Path | None) -> Path | None:
        # A shell expands ~ in an argument, but nobody does in a file or a variable.
        return None if value is None else Path(os.path.expanduser(value))  # noqa: PTH111 - takes an unknown user as it is


class RetrievalSettings(Section):
    """How hits are ranked, and which are recalled."""

    fusion: Literal["blend", "rrf", "cosine"] = Field(default="blend", examples=["rrf"])
    """How search methods are combined. ``blend``: weighted sum of the evidence; ``rrf``:
    reciprocal rank fusion; ``cosine``: by meaning alone, the score being the cosine."""
    rrf_k: int = Field(default=60, ge=1)
    """The constant of reciprocal rank fusion."""
    token_vectors: bool = Field(default=True, examples=[False])
    """Whether each word gets a vector of its own. That finds better and takes about 2.5 kB a
    record; with the local model and ``blend`` alone. What was stored while it was off has none
    until ``memoranda doctor --reembed``."""
    min_score: float | None = Field(default=None, ge=0, le=1, examples=[0.3])  # S1.13
    """Minimum score of a hit, if the caller gives none."""
    recall: Literal["all", "facts"] = Field(default="all", examples=["facts"])
    """What recall gives a model. ``all``: whatever answers the prompt, as far as it fits;
    ``facts``: the five best facts of other sessions."""  # S4.31
    wait: float = Field(default=0.3, ge=0, examples=[2.0])
    """Seconds that a search waits for the vectors of new records. Then words find these."""
    cache_size: int = Field(default=1_024, ge=1, examples=[256])
    """Megabytes of memory for the records of searched users. Beyond that, those of users asked the
    longest ago are dropped; the user who is asked always fits."""
    exact_up_to: int = Field(default=100_000, ge=0, examples=[20_000])
    """Vectors of a user up to which all records are ranked. Of more, candidates come from the
    database, which bounds time and memory. On PostgreSQL alone."""


class RetentionSettings(Section):
    """How long each kind of memory is kept."""

    episode: str = Field(default="forever", examples=["30d"])
    """How long what was said is kept. ``forever``, ``day`` (until the user's midnight), or a
    number with ``s``, ``m``, ``h``, ``d`` or ``w``, such as ``30d``."""
    fact: str = Field(default="forever", examples=["52w"])
    """How long facts are kept. Written like ``retention.episode``."""
    context: str = Field(default="day", examples=["12h"])
    """How long the context of a day is kept. Written like ``retention.episode``."""
    reflection: str = Field(default="forever", examples=["90d"])
    """How long reflections are kept. Written like ``retention.episode``."""
    remove: bool = Field(default=False, examples=[True])  # S1.18
    """Whether what expired or was forgotten is removed for good. The clean-up does that, and takes
    the messages along; otherwise it is only found no more, and history still tells it."""

    @field_validator("episode", "fact", "context", "reflection")
    @classmethod
    def _readable(cls, value: str) -> str:
        if value not in {"forever", "day"}:
            parse_span(value)
        return value


class TokenSettings(Section):
    """How tokens are counted, and how many a model takes."""

    limits: dict[str, int] = Field(default_factory=dict, examples=[{"my-model": 32_000}])
    """Context windows, in tokens, by model. Each name is that of a model or a pattern
    (``my-model*``); these win over the ones that are known."""
    tokenizers: dict[str, str] = Field(default_factory=dict, examples=[{"my-model": "o200k_base"}])
    """What counts tokens, by model. Each name is that of a model or a pattern (``my-model*``);
    each value is ``o200k_base``, ``cl100k_base``, the path of a ``tokenizer.json``, or
    ``estimate``."""
    load_timeout: float = Field(default=5.0, gt=0)
    """Seconds to wait for a tokenizer's download. After that, counts are estimates."""


class ConversationSettings(Section):
    """Defaults of conversations that do not say otherwise."""

    context_limit: int | None = Field(default=None, gt=0, examples=[32_000])
    """Context window, in tokens, of a model that is not known. Without it 8,192 is assumed, to be
    on the safe side; and 128,000 where no model is named."""
    budget_share: float = Field(default=0.8, gt=0, le=1)  # R8.2
    """Share of the window that a context may take."""
    max_messages: int = Field(default=50, ge=1)  # R8.1
    """Most messages in a view."""
    keep_recent: int = Field(default=10, ge=1)  # R8.4
    """How many of the newest messages always stay."""
    window: int = Field(default=5, ge=1, examples=[3])  # S1.37: context_window_size
    """How many turns ``Conversation.window`` returns by itself."""
    strategy: Annotated[str, STRATEGIES] = Field(default="rolling_window", examples=["hybrid"])
    """Which messages stay in view. ``rolling_window``: the newest, question and answer together;
    ``recency``: the newest, message by message; ``importance``: what scores highest; ``hybrid``:
    both new and important; or the name of an installed one."""  # R8.3
    warn_at: float = Field(default=0.8, gt=0, le=1)  # R2.4
    """Share of the window at which approaching_limit is sent."""
    prune_at: float = Field(default=0.8, gt=0, le=1)  # R6.1
    """Share of the window at which pruning starts."""
    prune_to: float = Field(default=0.6, gt=0, le=1)
    """Share that pruning leaves. Less than where it starts, so that the next is not due at
    once."""
    aggressive_at: float = Field(default=0.9, gt=0, le=1)  # R6.2
    """Share of the window from which pruning goes further."""
    aggressive_to: float = Field(default=0.5, gt=0, le=1)
    """Share that the further pruning leaves."""
    at_task_boundary: Literal["prune", "keep"] = Field(default="prune", examples=["keep"])  # R6.4
    """What a finished task's messages do when the next starts. ``prune``: they leave the view;
    ``keep``: they stay."""
    at_session_start: Literal["prune", "keep"] = Field(default="keep", examples=["prune"])  # R6.5
    """What earlier sessions' messages do when one begins. ``prune``: they leave the view;
    ``keep``: they stay."""
    stable_prefix: bool = Field(default=False, examples=[True])
    """Whether to prune rarely, in large steps. That keeps a provider's prompt cache valid."""
    summaries: Literal["off", "extractive"] = Field(default="off", examples=["extractive"])
    """Whether markers summarise what they replace. ``extractive``: in the words of the messages."""

    @model_validator(mode="after")
    def _in_order(self) -> ConversationSettings:
        if not self.prune_to <= self.prune_at <= self.aggressive_at:
            raise ValueError(
                f"prune_to={self.prune_to}, prune_at={self.prune_at} and "
                f"aggressive_at={self.aggressive_at} must each be at least the one before"
            )
        if self.aggressive_to > self.prune_to:
            message = f"aggressive_to={self.aggressive_to} must be at most prune_to={self.prune_to}"
            raise ValueError(message)
        return self


class LLMSettings(Section):
    """Which language model helps, if any."""

    model: str | None = Field(default=None, examples=["anthropic:claude-haiku-4-5"])
    """The model, if there is one. ``anthropic:NAME``, ``openai:NAME``, or ``openai:NAME@URL`` for
    any server that speaks OpenAI's format, such as ``openai:qwen3@http://localhost:11434/v1``."""
    api_key: SecretStr | None = Field(default=None, examples=["-"])
    """Key for the model. Otherwise the provider's own variable, such as ``ANTHROPIC_API_KEY``."""
    timeout: float = Field(default=30.0, gt=0)  # S2.30: consolidationTimeout
    """Seconds that one call may take, retries included."""
    retries: int = Field(default=2, ge=0)
    """How often a failing or unreachable server is asked again."""


class ConsolidationSettings(Section):
    """How sessions become facts."""

    automatic: bool = Field(default=True, examples=[False])
    """Whether sessions become facts automatically. When one ends, and when the next begins;
    otherwise only by ``consolidate``, the nightly job, and where an agent ends a session or makes
    room in it."""
    extractor: Literal["auto", "rules", "llm"] = Field(default="auto", examples=["rules"])
    """What extracts facts from a conversation. ``auto``: the language model, if there is one."""
    timeout: float = Field(default=30.0, gt=0)  # S2.30
    """Seconds that ending a conversation waits for its facts. They are extracted in any case."""
    longest: float = Field(default=60.0, gt=0, examples=[5.0])
    """Seconds for which rules may read 30 messages at a time. A session that takes longer waits for
    another try; after the third its messages stay as they are, and ``doctor`` says so."""
    duplicate_at: float = Field(default=0.75, gt=0, le=1)  # S4.22
    """Share of common words from which two facts are one. The Jaccard index of their words."""
    decay_rate: float = Field(default=0.1, ge=0)  # S4.53
    """How fast a fact extracted from a session fades, per day. 0 is never."""


class NotesSettings(Section):
    """The Markdown notes that a person can read and edit."""

    automatic: bool = Field(default=True, examples=[False])
    """Whether notes are written automatically. With every session that became facts; otherwise
    only where ``Memory.notes`` is used."""
    folder: str | None = Field(default=None, examples=["~/workspace/memory"])
    """Where they are. Otherwise in a folder beside the database, ``agent.notes`` for
    ``agent.db``; inside a folder of Chroma in ``notes``; of a server nowhere. ``{user}`` in it is
    the user's name; without it, users other than the configured one get folders inside."""
    max_memory_size: int = Field(default=8_192, ge=256)  # S2.06: maxMemorySize
    """Bytes from which MEMORY.md is made smaller."""
    in_context: bool = Field(default=True, examples=[False])
    """Whether MEMORY.md is part of every context. As far as a quarter of its budget allows."""

    @field_validator("folder")
    @classmethod
    def _named(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not value.strip():
            raise ValueError(f"{value!r} names no folder; name one, or leave it out")
        for found in re.findall(r"\{[^{}]*\}", value):
            if found != "{user}":
                message = f"{value!r} has the unknown placeholder {found}; only {{user}} is known"
                raise ValueError(message)
        return value


class AgentSettings(Section):
    """The reference agent: ``Agent`` and ``memoranda chat``."""

    system: str = Field(
        default=(
            "You are a helpful assistant with a long-term memory. Look things up with "
            "search_memories before you say that you do not know them, and keep with store_memory "
            "what the user wants kept."
        ),
        examples=["You plan trips."],
    )
    """Its system prompt."""
    memory_window: int = Field(default=50, ge=2)  # S2.26: memoryWindow
    """Messages after which the oldest are consolidated."""
    max_steps: int = Field(default=8, ge=1)
    """How often it may call tools before it has to answer."""


class SecretSettings(Section):
    """What becomes of passwords, keys, card numbers and other secrets, at each door."""

    remember: Literal["mask", "refuse", "keep"] = Field(default="keep", examples=["refuse"])
    """What a program stores. With ``remember``, ``correct``, ``update`` and ``set_context``, and
    what it imports, but for an export of memoranda. ``keep``: as it is; ``mask``: with ``[…]`` in
    the place of a secret; ``refuse``: not at all, and an import says what it left out."""
    tools: Literal["mask", "refuse", "keep"] = Field(default="refuse", examples=["mask"])
    """What a model stores by the tools of ``Memory.tools`` and ``Agent``. Written like
    ``secrets.remember``."""
    mcp: Literal["mask", "refuse", "keep"] = Field(default="refuse", examples=["mask"])
    """What a model stores over MCP. Written like ``secrets.remember``."""
    search: Literal["mask", "keep"] = Field(default="mask", examples=["keep"])
    """What ``search`` shows of secrets. ``mask``: ``[…]``; ``keep``: all of them. What
    is asked for by its id is always shown as it is, and so are items."""
    recall: Literal["mask", "keep"] = Field(default="mask", examples=["keep"])
    """What models are shown of secrets. By recall, in a context, and by tools; written like
    ``secrets.search``."""


class DecaySettings(Section):
    """When facts that nobody asks for fade away."""

    threshold: float = Field(default=0.05, ge=0, lt=1)  # S4.54
    """Confidence below which a fact is retired."""


class EntitySettings(Section):
    """Which providers find the names in a text."""

    fast: str = Field(default="regex", examples=["regex, spacy"])
    """Which providers of names read each text as it arrives. ``regex`` or ``regex, spacy``, in the
    order that counts."""
    accurate: str = Field(default="regex, spacy, llm", examples=["regex, spacy"])
    """Which providers of names read it again at night. Of ``regex``, ``spacy`` and ``llm``; those
    that are not set up are skipped."""
    spacy_model: str | None = Field(default=None, examples=["en_core_web_sm"])
    """An installed spaCy pipeline, or the folder of one."""

    @field_validator("fast", "accurate")
    @classmethod
    def _providers(cls, value: str, info: ValidationInfo) -> str:
        quick = info.field_name == "fast"
        allowed = ("regex", "spacy") if quick else ("regex", "spacy", "llm")
        for name in names(value) or ("",):
            if name not in allowed:
                raise ValueError(f"{name!r} is none of {', '.join(allowed)}")
        return value


class ScheduleSettings(Section):
    """When upkeep runs: five fields of cron in the user's time zone, a time span, or ``off``."""

    enrich: str = Field(default="0 2 * * *", examples=["off"])  # S4.15
    """When the accurate providers read names again."""
    consolidate: str = Field(default="0 3 * * *", examples=["30 * * * *"])
    """When sessions that wait become facts."""
    decay: str = Field(default="0 4 * * *", examples=["off"])
    """When facts fade."""
    reflect: str = Field(default="0 3 * * sun", examples=["off"])
    """When the weekly insight is written."""
    expire: str = Field(default="0 * * * *", examples=["3600s"])  # S1.39: cleanup_interval
    """When expired records are retired. Also when the process starts; ``3600s`` is each full
    hour."""
    expire_at_start: bool = Field(default=False, examples=[True])  # S1.38
    """Whether opening a memory retires expired records. Commands that end at once do not."""
    in_background: bool = Field(default=True, examples=[False])
    """Whether upkeep runs in the background of what serves people. That is ``memoranda chat``,
    ``memoranda tui``, ``memoranda mcp``, and an ``Agent`` with ``upkeep=True``; several on one
    store divide the users."""


class HttpSettings(Section):
    """Limits of whatever is served over HTTP, against slow and greedy clients."""

    header_timeout: float = Field(default=10.0, gt=0)
    """Seconds to send the header of a request. Then the connection is closed."""
    body_timeout: float = Field(default=30.0, gt=0)
    """Seconds to send the body of a request. Then the connection is closed."""
    keep_alive: float = Field(default=5.0, gt=0)
    """Seconds that a connection stays open without a request."""
    connections: int = Field(default=512, ge=16)
    """Most connections at once. Fewer where the process may not open so many files; of too many,
    the one goes that has waited longest without asking."""
    connections_per_address: int = Field(default=128, ge=1)
    """Most connections from one address. All, behind a proxy."""
    header_size: int = Field(default=16_384, ge=1_024)
    """Bytes of the header of a request at most. More is answered with 400."""
    body_size: int = Field(default=4_194_304, ge=1_024)
    """Bytes of the body of a request at most. More is answered with 413."""
    requests_per_minute: int = Field(default=3_000, ge=1)
    """Requests of one token in a minute. Without a known token, of one address; more are
    answered with 429."""
    log_repeats: int = Field(default=10, ge=1)
    """How often one line may be logged in a minute. How many were left out is told later."""


class McpSettings(Section):
    """The MCP server: ``memoranda mcp``."""

    tools: Literal["full", "basic"] = Field(default="full", examples=["basic"])
    """Which tools clients are offered. ``basic``: search, store and forget; ``full``: recalling,
    correcting, confirming, figures and entities, too."""
    tokens: SecretStr | None = Field(default=None, examples=["0123456789abcdef=ana"])
    """Who may ask over HTTP, as ``TOKEN=USER, TOKEN=USER``. Each token opens the memory of its
    user and no other; without any, only this machine can ask."""
    allowed_hosts: str | None = Field(default=None, examples=["memory.example.org"])
    """Names of the server beside the address it listens on. As clients write them, with a comma
    between them; ``NAME:*`` is any port."""
    allowed_origins: str | None = Field(default=None, examples=["https://app.example.org"])
    """Origins of web pages that may ask, beside its own. With a comma between them."""

    @field_validator("tokens", mode="before")
    @classmethod
    def _joined(cls, value: Any) -> Any:
        """Take a mapping, too, as programs have it: token → user. What is blank is none."""
        if isinstance(value, str) and not value.strip():
            return None
        if isinstance(value, Mapping):
            return ", ".join(f"{token}={user}" for token, user in value.items())
        return value

    @field_validator("tokens")
    @classmethod
    def _readable(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            users_by_token(value)
        return value


def users_by_token(tokens: SecretStr) -> dict[str, str]:
    """Return the user of each token.

    Raises:
        ValueError: the text is not of the form of the setting. It never quotes a token.
    """
    found: dict[str, str] = {}
    pairs = [each.strip() for each in tokens.get_secret_value().split(",")]
    for place, pair in enumerate(pairs, 1):
        token, _, user = (part.strip() for part in pair.rpartition("="))
        if not token or not user:
            raise ValueError(f"entry {place} of {len(pairs)} is no token with its user; {FORM}")
        if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
            raise ValueError(
                f"the token of entry {place} has {len(token)} characters; use {LEAST_TOKEN} or "
                f"more of plain ASCII, such as openssl rand -hex 32 prints"
            )
        if token in found:
            message = f"the token of entry {place} stands twice; give each user one of their own"
            raise ValueError(message)
        found[token] = user
    return found

"""What each setting changes that is seen from outside: the table of the walk over all settings."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Timer
from typing import Any

import apsw
from model_server import Act, ModelServer, answered, failing, said, stalling, talked
from typer.testing import CliRunner

from memoranda import Agent, Memory, Settings
from memoranda.cli import app
from memoranda.errors import MemorandaError
from memoranda.testing.clocks import FrozenClock

PATIENCE = 60
LOOK, FIGURES = ("look",), ("figures",)
HELLO = ("say", "Hello there.")
DOG = ("remember", "I have a dog named Rex.")
WHICH = ("ask", "What is the name of my dog?")
HOME = (("say", "I live in Porto."), ("end",))
MUG = (("say", "I usually prefer the blue mug."), ("say", "I prefer the blue mug."), ("end",))
RAIN = ("keep", "context", "It rains today.")
POT = "The key lies under the red pot."
STAGES = ("enrich", "consolidate", "decay", "reflect", "expire")
MODEL, KNOWING = "openai:text-embedding-3-small", "{pipelines}/zora"
SMALL = {"llm.model": "openai:small@{server}/v1", "llm.api_key": "one", "llm.retries": 0}
EMBED = {"model": MODEL, "base_url": "{server}/v1", "api_key": "one"}
EMBED = {f"embedding.{name}": value for name, value in EMBED.items()}
NOTHING = said("{}")


def command(*arguments):
    """Run a command of the command line; return its document."""
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def visit(steps):
    """Do steps in the memory of the environment; return what is told, an error that ends it last.

    A step is a name with its arguments; the first may name the session.
    """
    told, session = [], "chat"
    if steps[0][0] == "session":
        (_, session), *steps = steps
    try:
        with Memory() as memory:
            settings = memory.settings
            model = (settings.llm.model or "").partition(":")[2].partition("@")[0] or None
            chat = memory.conversation(session, system=settings.agent.system, model=model)
            verbs = {
                "say": lambda text: [chat.add("user", text), chat.add("assistant", "Noted.")],
                "end": chat.end,
                "look": lambda: (
                    f"{chat.stats()} {chat.explain().counter} {chat.context().messages}"
                ),
                "process": lambda text: Agent(memory, session=session).process(text).text,
                "remember": memory.remember,
                "keep": lambda kind, text: memory.remember(text, kind=kind),
                "ask": lambda text: [hit.record.content for hit in memory.search(text)],
                "recall": lambda text: memory.recall(text).text,
                "figures": lambda: memory.stats().vectors,
                "upkeep": memory.run_upkeep,
                "wait": lambda until: until(),
            }
            for name, *arguments in steps:
                told.append(str(verbs[name](*arguments)))
    except MemorandaError as error:
        told.append(str(error))
    return "\n".join(told)


@dataclass(frozen=True)
class Sight:
    """What can be seen after the steps of an effect.

    Attributes:
        told: what was told in the last visit.
        folder: where everything is kept.
        server: a server of models, with what it was asked.
        made: what was done before returned.
    """

    told: str
    folder: Path
    server: ModelServer
    made: Any = None

    def files(self, name):
        """Return where the files of a name are."""
        return sorted(self.folder.rglob(name))

    def asked(self, name):
        """Return what the requests to the server say under a name, of the body or the headers."""
        return {each.body.get(name) or each.headers.get(name) for each in self.server.received}


@dataclass(frozen=True)
class Effect:
    """What a setting changes.

    Attributes:
        change: its value before and after; ``None`` leaves it at its default.
        see: what is compared: it differs.
        visits: the steps of each visit.
        beside: other settings, in both cases.
        first: what is done before, given the folder.
        play: what the server of models does.
    """

    change: tuple[Any, Any]
    see: Callable[[Sight], Any]
    visits: Sequence[Sequence[tuple[Any, ...]]]
    beside: Mapping[str, Any]
    first: Callable[[Path], object] | None
    play: Act


def effect(change, see, *visits, first=None, play=NOTHING, **beside):
    """Return an effect; the names of settings beside have ``__`` for a dot."""
    others = {name.replace("__", "."): value for name, value in beside.items()}
    return Effect(change, see, visits or ((DOG,),), others, first, play)


# Acts of the server


def embed(handler, body):
    """Answer with vectors of the length that is wanted."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    vector = [1.0] + [0.5] * ((body.get("dimensions") or 1536) - 1)
    data = [{"object": "embedding", "index": n, "embedding": vector} for n in range(len(texts))]
    whole = {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1}}
    handler.send(200, json.dumps(whole).encode())


def learn_slowly(handler, body):
    """Talk at once, and learn nothing, but not at once."""
    if not body.get("tools"):
        handler.server.state.closing.wait(0.4)
    answered({"claims": [], "history_entry": "They met.", "memory_update": ""})(handler, body)


# Steps


def wait_until(seen):
    """Wait until something is seen in the memory of the environment."""
    with Memory() as memory:
        for _ in range(100 * PATIENCE):
            if seen(memory):
                return
            Event().wait(0.01)
    raise AssertionError("it did not happen")


def wait_for_upkeep():
    """Wait until each stage that is on has run, where upkeep runs at all."""
    schedule = Settings().schedule
    wanted = {stage for stage in STAGES if getattr(schedule, stage) != "off"}
    if schedule.in_background:
        wait_until(lambda memory: {run.job for run in memory.stats().upkeep} >= wanted)


def wait_for_vectors():
    """Wait until vectors are there, where they are computed in the background."""
    if Settings().embedding.background:
        wait_until(lambda memory: not memory.stats().pending_vectors)


def wait_for_facts():
    """Wait until the first session was read, where that is done when the next one begins."""
    if Settings().consolidation.automatic:
        wait_until(lambda memory: memory.facts())


def lock_store():
    """Have another program write: for good, or for a moment where one waits for it."""
    settings = Settings()
    writing = apsw.Connection(settings.location)
    writing.execute("BEGIN IMMEDIATE")
    if settings.storage.busy_timeout >= 1:
        Timer(0.1, writing.close).start()
    else:
        LOCKS.append(writing)


LOCKS = []  # to be closed after the visit


def remembering(content, **more):
    """Return what remembers a fact in a memory of last week: each stage has been due since."""

    def first(folder):
        clock = FrozenClock(datetime.now(UTC) - timedelta(days=8))
        with Memory(folder / "agent.db", settings=Settings(), clock=clock) as memory:
            memory.remember(content, **more)

    return first


SHUT = remembering("The shop is shut")
FAINT = remembering("The shop is shut", confidence=0.5, decay_rate=0.1)
CAME = remembering("yesterday zora came")


def remember_expired(folder):
    """Remember a fact that holds no longer; return its id."""
    with Memory(folder / "agent.db", settings=Settings(schedule={"expire_at_start": False})) as it:
        return it.remember("The shop is shut", valid_until=datetime(2026, 1, 1, tzinfo=UTC)).id


# What is seen


def records(kind, name):
    """Return what sees a field of the active records of a kind."""
    return lambda _: sorted(str(each.get(name)) for each in command("list") if each["kind"] == kind)


def shown(pattern):
    """Return what sees what was told, as far as a pattern finds it."""
    return lambda sight: re.findall(pattern, sight.told)


def files(name):
    """Return what sees how many files of a name are in each folder."""
    return lambda sight: [each.relative_to(sight.folder) for each in sight.files(name)]


def asked(name):
    """Return what sees what the server was asked."""
    return lambda sight: sight.asked(name)


def requests(sight):
    """Return how often the server was asked."""
    return len(sight.server.received)


def names(*words):
    """Return what sees the names in a list that a command prints."""
    return lambda _: sorted(each["name"].lower() for each in command(*words))


def jobs(_):
    """Return which stages of upkeep have run."""
    return sorted(run["job"] for run in command("stats")["upkeep"])


def actions(sight):
    """Return what was done with the record that was made before."""
    return [each["action"] for each in command("history", sight.made)]


FACTS = records("fact", "content")
REX = shown("dog named Rex")
ZORA = (("remember", "yesterday zora came home"), WHICH)
GATES = [("remember", f"The code of gate {n} is {n}{n}{n}.") for n in range(9)]
TWO = ("session", "two")
PEOPLE = names("entities")


def embedded(change, see, **beside):
    """Return an effect that a server of embeddings sees."""
    return effect(change, see, (DOG, WHICH), play=embed, **EMBED | beside)


def learned(change, see, **more):
    """Return an effect that is seen after a session was read, with a model."""
    return effect(change, see, HOME, **SMALL | more)


def found(change, **beside):
    """Return an effect on what a search finds that is asked in a memory of yesterday."""
    return effect(change, REX, (DOG,), (WHICH,), **beside)


def kept_until(kind, change, *steps):
    """Return an effect on whether the records of a kind end."""
    return effect(change, records(kind, "valid_until"), steps or (DOG,))


def worked(change, *stages, first=SHUT, see=jobs, **beside):
    """Return an effect that is seen after upkeep with some stages."""
    off = {f"schedule.{stage}": "off" for stage in STAGES if stage not in stages}
    beside = {"schedule.in_background": True, **off, **beside}
    steps = (("upkeep",), ("wait", wait_for_upkeep))
    return effect(change, see, steps, first=first, **beside)


EFFECTS = {
    "location": effect((None, "{folder}/other.db"), files("other.db")),
    "user": effect((None, "ben"), names("users")),
    # A day apart, at any time.
    "timezone": effect(
        ("Pacific/Pago_Pago", "Pacific/Kiritimati"),
        records("context", "valid_until"),
        (RAIN, HELLO),
    ),
    "storage.busy_timeout": effect(
        (60, 0.05), shown("stayed locked by another process"), (("wait", lock_store), DOG)
    ),
    "storage.key": effect((None, "a secret"), shown("needs a build of SQLite with encryption")),
    "embedding.model": embedded(("none", MODEL), asked("model")),
    "embedding.dimensions": embedded((8, 16), asked("dimensions")),
    "embedding.base_url": embedded(
        ("{server}/v1", "{server}/v2"), lambda sight: {each.path for each in sight.server.received}
    ),
    "embedding.timeout": effect(
        (0.06, 0.05), shown(r"within [\d.]+ s"), (DOG, WHICH, FIGURES), play=stalling, **EMBED
    ),
    "embedding.api_key": embedded(("one", "two"), asked("authorization")),
    "embedding.folder": effect(
        ("{folder}/one", "{folder}/two"), shown("/two"), embedding__model="local"
    ),
    "embedding.background": effect(
        (True, False), requests, (DOG, ("wait", wait_for_vectors)), play=embed, **EMBED
    ),
    "retrieval.fusion": found(("blend", "rrf"), retrieval__min_score=0.1),
    "retrieval.rrf_k": found((60, 1), retrieval__min_score=0.1, retrieval__fusion="rrf"),
    "retrieval.token_vectors": effect(
        (True, False), shown("with token vectors"), (DOG, WHICH, FIGURES), embedding__model="local"
    ),
    "retrieval.min_score": found((None, 0.99)),
    "retrieval.recall": effect(
        ("all", "facts"),
        shown("red pot"),
        (("say", POT), ("keep", "conversation", POT)),
        (TWO, ("recall", "Where is the key?")),
        consolidation__automatic=False,
    ),
    "retention.episode": kept_until(
        "episode", ("forever", "30d"), ("say", POT), ("keep", "conversation", POT)
    ),
    "retention.fact": kept_until("fact", ("forever", "52w")),
    "retention.context": kept_until("context", ("day", "forever"), RAIN, HELLO),
    "retention.reflection": kept_until(
        "reflection", ("forever", "90d"), ("keep", "reflection", "Ana had a quiet week.")
    ),
    "retention.remove": effect(
        (False, True), actions, first=remember_expired, schedule__expire_at_start=True
    ),
    "tokens.limits": effect(
        (None, {"small": 5_000}), shown(r"token_limit=\d+|of [\d,]+ tokens"), (HELLO, LOOK), **SMALL
    ),
    "tokens.tokenizers": effect(
        (None, {"small": "o200k_base"}), shown("o200k_base"), (HELLO, LOOK), **SMALL
    ),
    "llm.model": learned(("openai:small@{server}/v1", "openai:other@{server}/v1"), asked("model")),
    "llm.api_key": learned(("one", "two"), asked("authorization")),
    "llm.timeout": learned(
        (None, 0.05), lambda _: command("stats")["pending_sessions"], play=learn_slowly
    ),
    "llm.retries": learned((0, 1), requests, play=failing(500)),
    "consolidation.automatic": effect(
        (True, False), FACTS, (HOME[0],), (TWO, HELLO, ("wait", wait_for_facts))
    ),
    "consolidation.extractor": learned(("rules", "none"), FACTS),
    "consolidation.timeout": learned(
        (None, 0.05),
        lambda sight: ["raw-fallback" in each.read_text() for each in sight.files("HISTORY.md")],
        play=learn_slowly,
    ),
    "consolidation.duplicate_at": effect((0.75, 1.0), FACTS, MUG),
    "consolidation.decay_rate": effect((None, 0.9), records("fact", "decay_rate"), MUG),
    "notes.automatic": effect((True, False), files("HISTORY.md"), HOME),
    "notes.folder": effect((None, "{folder}/elsewhere"), files("MEMORY.md"), (DOG, *HOME, LOOK)),
    "notes.max_memory_size": effect(
        (None, 256),
        lambda sight: [each.stat().st_size <= 256 for each in sight.files("MEMORY.md")],
        (*GATES, *HOME, LOOK),
    ),
    "notes.in_context": effect((True, False), shown("MEMORY.md"), (DOG, *HOME), (TWO, HELLO, LOOK)),
    "agent.max_steps": effect(
        (8, 2),
        requests,
        (("process", "Hello there."),),
        play=talked("", ("c1", "memory_stats", "{}")),
        **SMALL,
    ),
    "agent.memory_window": effect(
        (100, 10),
        files("HISTORY.md"),
        [("process", f"Number {n} is about cats.") for n in range(8)],
        conversation__keep_recent=2,
    ),
    "decay.threshold": worked((None, 0.6), "decay", first=FAINT, see=FACTS),
    "entities.fast": effect(("regex", "regex, spacy"), PEOPLE, ZORA, entities__spacy_model=KNOWING),
    "entities.accurate": worked(
        ("regex", "regex, spacy"), "enrich", first=CAME, see=PEOPLE, entities__spacy_model=KNOWING
    ),
    "entities.spacy_model": effect(
        ("{pipelines}/quill", KNOWING), PEOPLE, ZORA, entities__fast="regex, spacy"
    ),
    **{
        f"schedule.{stage}": worked(
            ("off", None), stage, "decay" if stage == "expire" else "expire"
        )
        for stage in STAGES
    },
    "schedule.expire_at_start": effect((False, True), actions, first=remember_expired),
    "schedule.in_background": worked((False, True), "expire"),
}

HERE = "tests/doors/test_settings_everywhere.py::"
HTTP = "tests/doors/test_mcp_http.py::"
LIMITS = "tests/doors/test_http_limits.py::"
SECRETS = "tests/memory/test_secret_policies.py::"
MODELS = "tests/conversation/test_conversation_models.py::"
PRUNING = "tests/conversation/test_conversation_pruning.py::"
TASKS = "tests/conversation/test_conversation_tasks.py::"
# What is not seen by such steps (only by a power cut, a hanging server, time, or over HTTP),
# by the tests that prove it.
ELSEWHERE = {
    MODELS + "test_settings_come_before_what_is_known": ["conversation.context_limit"],
    MODELS + "test_the_settings_cap_a_context": ["conversation.max_tokens"],
    PRUNING + "test_thresholds_are_settings": [
        f"conversation.{name}"
        for name in ("warn_at", "prune_from", "prune_at", "prune_to", "aggressive_at")
    ],
    PRUNING + "test_a_conversation_goes_by_its_settings": [
        f"conversation.{name}"
        for name in (
            "aggressive_to",
            "budget_share",
            "keep_recent",
            "max_messages",
            "strategy",
            "window",
        )
    ],
    TASKS + "test_boundaries_are_told_and_need_not_prune": ["conversation.at_task_boundary"],
    TASKS + "test_a_session_start_can_prune_by_itself": ["conversation.at_session_start"],
    "tests/agent/test_agent_budget.py::test_the_view_of_the_agent_follows_the_settings": [
        "agent.system"
    ],
    HERE + "test_durability_is_whether_commits_wait_for_the_disk": ["storage.durability"],
    HERE + "test_threads_and_megabytes_are_those_of_the_settings": [
        "embedding.threads",
        "retrieval.cache_size",
    ],
    "tests/memory/test_vectors.py::test_words_find_what_a_search_does_not_wait_for": [
        "retrieval.wait"
    ],
    "tests/doors/test_mcp_tools.py::test_the_tools_are_these": ["mcp.tools"],
    "tests/agent/test_agent_budget.py::test_the_tools_of_the_agent_are_chosen": ["agent.tools"],
    "tests/agent/test_agent_budget.py::test_a_session_costs_no_more_than_it_may": [
        "agent.spend_limit"
    ],
    "tests/settings/test_profile.py::test_each_of_the_four_means_one_of_ours": [
        f"memory.{name}"
        for name in ("path", "context_window_size", "embedding_model", "cleanup_interval")
    ],
    HTTP + "test_a_token_opens_the_memory_of_its_user_alone": ["mcp.tokens"],
    HTTP + "test_hosts_and_origins_of_its_own_and_of_the_settings_are_let_in": [
        "http.allowed_hosts",
        "http.allowed_origins",
    ],
    HTTP + "test_what_is_too_large_or_no_json_is_refused": ["http.header_size", "http.body_size"],
    "tests/learning/test_learning_approval.py::test_keeping_learns_it_then": [
        "consolidation.approve"
    ],
    LIMITS + "test_an_idle_connection_is_closed_after_its_requests": ["http.keep_alive"],
    LIMITS + "test_a_full_server_says_so_until_there_is_a_place": ["http.connections"],
    "tests/http/test_limits.py::test_a_slow_body_is_given_up": ["http.body_seconds"],
    "tests/http/test_limits.py::test_a_token_that_asks_too_often_is_told_to_wait": ["http.rate"],
    SECRETS + "test_a_program_may_store_a_secret_unless_the_settings_say_otherwise": [
        "secrets.remember"
    ],
    SECRETS + "test_tools_refuse_mask_or_keep_a_secret": ["secrets.tools", "secrets.mcp"],
    SECRETS + "test_nothing_shows_a_secret_unless_the_settings_say_so": [
        "secrets.search",
        "secrets.recall",
    ],
}

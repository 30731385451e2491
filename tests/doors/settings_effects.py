"""What each setting changes that is seen from outside: the table of the walk over all settings."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Timer
from typing import Any

import apsw
from model_server import Act, ModelServer, answered, failing, said, talked
from typer.testing import CliRunner

from memoranda import Agent, Memory, Settings
from memoranda.cli import app
from memoranda.errors import MemorandaError
from memoranda.testing.clocks import FrozenClock

PATIENCE = 60
HELLO = ("say", "Hello there.")
DOG = ("remember", "I have a dog named Rex.")
WHICH = ("ask", "What is the name of my dog?")
HOME = (("say", "I live in Porto."), ("end",))
MUG = (("say", "I prefer the blue mug."), ("say", "I usually prefer the blue mug."), ("end",))
RAIN = ("keep", "context", "It rains today.")
POT = "The key lies under the red pot."
STAGES = ("enrich", "consolidate", "decay", "reflect", "expire")
OPENAI = "embedding.model", "openai:text-embedding-3-small"
SMALL = {"llm.model": "openai:small@{server}/v1", "llm.api_key": "one", "llm.retries": 0}
EMBED = dict([OPENAI]) | {"embedding.base_url": "{server}/v1", "embedding.api_key": "one"}
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

    def records(self, kind="fact"):
        """Return the active records of a kind."""
        return [each for each in command("list") if each["kind"] == kind]

    def facts(self):
        """Return what the active facts say."""
        return sorted(each["content"] for each in self.records())

    def files(self, name):
        """Return where the files of a name are."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob(name))

    def bodies(self, name):
        """Return what the requests to the server say under a name."""
        return {each.body.get(name) for each in self.server.received}

    def keys(self):
        """Return the keys that the server was shown."""
        return {each.headers.get("authorization") for each in self.server.received}


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a setting changes.

    Attributes:
        change: its value before and after; ``None`` leaves it at its default.
        see: what is compared: it differs.
        visits: the steps of each visit.
        beside: other settings, in both cases; ``None`` takes one of the tests away.
        first: what is done before, given the folder.
        play: what the server of models does.
    """

    change: tuple[Any, Any]
    see: Callable[[Sight], Any]
    visits: tuple[tuple[tuple[Any, ...], ...], ...] = ((DOG,),)
    beside: Mapping[str, Any] = field(default_factory=dict)
    first: Callable[[Path], object] | None = None
    play: Act = NOTHING


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


def remember_expired(folder):
    """Remember a fact that holds no longer; return its id."""
    with Memory(folder / "agent.db", settings=Settings(schedule={"expire_at_start": False})) as it:
        return it.remember("The shop is shut", valid_until=datetime(2026, 1, 1, tzinfo=UTC)).id


def names(_):
    """Return the names of the people that are known."""
    return sorted(each["name"].lower() for each in command("entities"))


def ends(kind):
    """Return what sees whether the records of a kind end."""
    return lambda sight: [bool(each.get("valid_until")) for each in sight.records(kind)]


def jobs(_):
    """Return which stages of upkeep have run."""
    return sorted(run["job"] for run in command("stats")["upkeep"])


def upkeep(*stages, **more):
    """Return what makes upkeep run these stages alone."""
    off = {f"schedule.{stage}": "off" for stage in STAGES if stage not in stages}
    return off | {"schedule.in_background": True} | more


def shown(pattern):
    """Return what sees what a door told, as far as a pattern finds it."""
    return lambda sight: re.findall(pattern, sight.told)


RUN = ((("upkeep",), ("wait", wait_for_upkeep)),)

REX = shown("dog named Rex")
ZORA = ((("remember", "yesterday zora came home"), WHICH),)


def embedded(before, after, see, **more):
    """Return an effect that a server of embeddings sees."""
    pair = (before, after)
    return Effect(change=pair, see=see, beside=EMBED | more, visits=((DOG, WHICH),), play=embed)


def learned(before, after, see, **more):
    """Return an effect that is seen after a session was read, with a model."""
    return Effect(change=(before, after), see=see, beside=SMALL, visits=(HOME,), **more)


def found(before, after, **beside):
    """Return an effect on what a search finds that is asked in a memory of yesterday."""
    beside = {f"retrieval.{name}": value for name, value in beside.items()}
    return Effect(change=(before, after), beside=beside, visits=((DOG,), (WHICH,)), see=REX)


def kept_until(kind, before, after, *steps, **more):
    """Return an effect on the end of the records of a kind."""
    return Effect(change=(before, after), see=ends(kind), visits=(steps or (DOG,),), **more)


def worked(change, stages, first=SHUT, see=jobs, **beside):
    """Return an effect that is seen after upkeep with some stages."""
    beside = upkeep(*stages) | {name.replace("__", "."): v for name, v in beside.items()}
    return Effect(change=change, first=first, beside=beside, visits=RUN, see=see)


def actions(sight):
    """Return what was done with the record that was made before."""
    return [each["action"] for each in command("history", sight.made)]


def files(name):
    """Return what sees the files of a name."""
    return lambda sight: sight.files(name)


EFFECTS = {
    "location": Effect(change=(None, "{folder}/other.db"), see=files("other.db")),
    "user": Effect(change=(None, "ben"), see=lambda _: [each["name"] for each in command("users")]),
    "timezone": Effect(  # A day apart, at any time.
        change=("Pacific/Pago_Pago", "Pacific/Kiritimati"),
        visits=((RAIN, HELLO),),
        see=lambda sight: (
            [each["valid_until"][11:13] for each in sight.records("context")],
            [each["system"][-20:] for each in command("conversations", "list")],
        ),
    ),
    "storage.busy_timeout": Effect(
        change=(60, 0.05),
        visits=((("wait", lock_store), DOG),),
        see=shown("stayed locked by another process"),
    ),
    "embedding.model": embedded("none", OPENAI[1], lambda sight: sight.bodies("model")),
    "embedding.dimensions": embedded(8, 16, lambda sight: sight.bodies("dimensions")),
    "embedding.base_url": embedded(
        "{server}/v1", "{server}/v2", lambda sight: {each.path for each in sight.server.received}
    ),
    "embedding.api_key": embedded("one", "two", Sight.keys),
    "embedding.folder": Effect(
        change=("{folder}/one", "{folder}/two"),
        beside={"embedding.model": "local"},
        see=shown("/two"),
    ),
    "embedding.background": Effect(
        change=(True, False),
        beside=EMBED,
        visits=((DOG, ("wait", wait_for_vectors)),),
        see=lambda sight: bool(sight.server.received),
        play=embed,
    ),
    "retrieval.fusion": found("blend", "rrf", min_score=0.1),
    "retrieval.rrf_k": found(60, 1, min_score=0.1, fusion="rrf"),
    "retrieval.token_vectors": Effect(
        change=(True, False),
        beside={"embedding.model": "local"},
        visits=((DOG, WHICH, ("figures",)),),
        see=shown("with token vectors"),
    ),
    "retrieval.min_score": found(None, 0.99),
    "retrieval.recall": Effect(
        change=("all", "facts"),
        beside={"consolidation.automatic": False},
        visits=(
            (("say", POT), ("keep", "conversation", POT)),
            (("session", "two"), ("recall", "Where is the key?")),
        ),
        see=shown("red pot"),
    ),
    "retention.episode": kept_until(
        "episode", "forever", "30d", ("say", POT), ("keep", "conversation", POT)
    ),
    "retention.fact": kept_until("fact", "forever", "52w"),
    "retention.context": kept_until("context", "day", "forever", RAIN, HELLO),
    "retention.reflection": kept_until(
        "reflection", "forever", "90d", ("keep", "reflection", "Ana had a quiet week.")
    ),
    "retention.remove": Effect(
        change=(False, True),
        first=remember_expired,
        beside={"schedule.expire_at_start": True},
        see=actions,
    ),
    "tokens.limits": Effect(
        change=(None, {"small": 5_000}),
        beside=SMALL,
        visits=((HELLO, ("look",)),),
        see=shown(r"token_limit=\d+|of [\d,]+ tokens"),
    ),
    "tokens.tokenizers": Effect(
        change=(None, {"small": "o200k_base"}),
        beside=SMALL,
        visits=((HELLO, ("look",)),),
        see=shown("o200k_base"),
    ),
    "llm.model": learned(
        "openai:small@{server}/v1", "openai:other@{server}/v1", lambda sight: sight.bodies("model")
    ),
    "llm.api_key": learned("one", "two", Sight.keys),
    "llm.timeout": learned(
        None, 0.05, lambda _: command("stats")["pending_sessions"], play=learn_slowly
    ),
    "llm.retries": learned(0, 1, lambda sight: len(sight.server.received), play=failing(500)),
    "consolidation.automatic": Effect(
        change=(True, False),
        visits=((HOME[0],), (("session", "two"), HELLO, ("wait", wait_for_facts))),
        see=Sight.facts,
    ),
    "consolidation.extractor": learned("auto", "rules", Sight.facts),
    "consolidation.timeout": learned(
        None,
        0.05,
        lambda sight: any(
            "raw-fallback" in (sight.folder / each).read_text()
            for each in sight.files("HISTORY.md")
        ),
        play=learn_slowly,
    ),
    "consolidation.longest": Effect(change=(60.0, 1e-9), visits=(HOME,), see=Sight.facts),
    "consolidation.duplicate_at": Effect(change=(0.75, 1.0), visits=(MUG,), see=Sight.facts),
    "consolidation.decay_rate": Effect(
        change=(None, 0.9),
        visits=(MUG,),
        see=lambda sight: [each["decay_rate"] for each in sight.records()],
    ),
    "notes.automatic": Effect(change=(True, False), visits=(HOME,), see=files("HISTORY.md")),
    "notes.folder": Effect(
        change=(None, "{folder}/elsewhere"),
        visits=((DOG, *HOME, ("look",)),),
        see=files("MEMORY.md"),
    ),
    "notes.max_memory_size": Effect(
        change=(None, 256),
        visits=(
            (
                *(("remember", f"The code of gate {n} is {n}{n}{n}.") for n in range(9)),
                *HOME,
                ("look",),
            ),
        ),
        see=lambda sight: [
            (sight.folder / each).stat().st_size <= 256 for each in sight.files("MEMORY.md")
        ],
    ),
    "notes.in_context": Effect(
        change=(True, False),
        visits=((DOG, *HOME), (("session", "two"), HELLO, ("look",))),
        see=shown("MEMORY.md"),
    ),
    "agent.max_steps": Effect(
        change=(8, 2),
        beside=SMALL,
        visits=((("process", "Hello there."),),),
        see=lambda sight: len(sight.server.received),
        play=talked("", ("c1", "memory_stats", "{}")),
    ),
    "decay.threshold": worked((None, 0.6), ("decay",), FAINT, Sight.facts),
    "entities.fast": Effect(
        change=("regex", "regex, spacy"),
        beside={"entities.spacy_model": "{pipelines}/zora"},
        visits=ZORA,
        see=names,
    ),
    "entities.accurate": worked(
        ("regex", "regex, spacy"),
        ("enrich",),
        remembering("yesterday zora came"),
        names,
        entities__spacy_model="{pipelines}/zora",
    ),
    "entities.spacy_model": Effect(
        change=("{pipelines}/quill", "{pipelines}/zora"),
        beside={"entities.fast": "regex, spacy"},
        visits=ZORA,
        see=names,
    ),
    **{
        f"schedule.{stage}": worked(
            ("off", None), (stage, "decay" if stage == "expire" else "expire")
        )
        for stage in STAGES
    },
    "schedule.expire_at_start": Effect(change=(False, True), first=remember_expired, see=actions),
    "schedule.in_background": worked((False, True), ("expire",)),
}

HERE = "tests/doors/test_settings_everywhere.py::"
HTTP = "tests/doors/test_mcp_http.py::"
LIMITS = "tests/doors/test_http_limits.py::"
SECRETS = "tests/memory/test_secret_policies.py::"
PLACES = "test_a_full_server_lets_go_of_whoever_asks_for_nothing"
NAMES = "test_hosts_and_origins_of_its_own_and_of_the_settings_are_let_in"
SIZES = "test_what_is_too_large_or_no_json_is_refused"
SHOWN = "test_nothing_shows_a_secret_unless_the_settings_say_so"
REFUSED = "test_tools_refuse_a_secret_and_say_what_to_do"
PROFILE = "tests/settings/test_profile.py::test_each_of_the_four_means_one_of_ours"
FOUR = ("path", "context_window_size", "embedding_model", "cleanup_interval")
# What is not seen by such steps: only by a power cut, a hanging server, time, or over HTTP.
ELSEWHERE = {
    "storage.durability": HERE + "test_durability_is_whether_commits_wait_for_the_disk",
    "embedding.threads": HERE + "test_threads_are_those_of_the_local_model",
    "embedding.timeout": "tests/memory/test_embedding_server.py::"
    "test_the_timeout_is_that_of_the_settings",
    "tokens.load_timeout": "tests/tokens/test_exact_openai.py::"
    "test_a_download_that_hangs_ends_in_an_estimate",
    "retrieval.wait": "tests/memory/test_vectors.py::"
    "test_words_find_what_a_search_does_not_wait_for",
    "retrieval.cache_size": "tests/memory/test_large_users.py::"
    "test_memory_is_bounded_by_the_setting",
    "retrieval.exact_up_to": "tests/memory/test_large_users.py::"
    "test_a_user_of_few_records_is_ranked_in_memory",
    "mcp.tools": "tests/doors/test_mcp_tools.py::test_the_tools_are_these",
    "mcp.tokens": HTTP + "test_a_token_opens_the_memory_of_its_user_alone",
    "mcp.allowed_hosts": HTTP + NAMES,
    "mcp.allowed_origins": HTTP + NAMES,
    "http.header_timeout": HTTP + "test_slow_clients_are_closed_in_time_while_others_are_answered",
    "http.body_timeout": HTTP + "test_a_body_that_does_not_come_is_not_waited_for",
    "http.header_size": HTTP + SIZES,
    "http.body_size": HTTP + SIZES,
    "http.keep_alive": LIMITS + "test_an_idle_connection_is_closed_after_its_requests",
    "http.connections": LIMITS + PLACES,
    "http.connections_per_address": LIMITS + PLACES,
    "http.requests_per_minute": LIMITS + "test_whoever_asks_too_often_is_told_when_to_ask_again",
    "http.log_repeats": LIMITS + "test_a_log_does_not_grow_with_what_clients_do",
    "secrets.remember": SECRETS
    + "test_a_program_may_store_a_secret_unless_the_settings_say_otherwise",
    "secrets.tools": SECRETS + REFUSED,
    "secrets.mcp": SECRETS + REFUSED,
    "secrets.search": SECRETS + SHOWN,
    "secrets.recall": SECRETS + SHOWN,
    **{f"memory.{name}": PROFILE for name in FOUR},
}

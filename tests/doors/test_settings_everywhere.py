"""One set of settings, honoured by every door: each changes what it says it changes."""

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_clients import value as call_tool
from settings_effects import EFFECTS, ELSEWHERE, LOCKS, Sight, command, visit

from memoranda import Memory, Settings
from memoranda.mcp.server import build
from memoranda.search.index import MEGABYTE
from memoranda.serving.late import LateMemory
from memoranda.settings.fields import fields


def by_environment(monkeypatch, values, **places):
    """Set settings as environment variables; ``None`` takes one away."""
    for name, value in values.items():
        variable = "MEMORANDA_" + name.upper().replace(".", "__")
        if value is None:
            monkeypatch.delenv(variable, raising=False)
            continue
        text = value if isinstance(value, str) else json.dumps(value)
        for place, where in places.items():
            text = text.replace(f"{{{place}}}", str(where))
        monkeypatch.setenv(variable, text)


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    """Return a folder with two pipelines of spaCy that know a name each."""
    spacy, folder = pytest.importorskip("spacy"), tmp_path_factory.mktemp("pipelines")
    for name in ("zora", "quill"):
        pipeline = spacy.blank("en")
        pipeline.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": name}])
        pipeline.to_disk(folder / name)
    return folder


@pytest.fixture
def look(tmp_path, server, monkeypatch, request):
    """Return what is seen after the visits of an effect at a door, with other settings."""

    def start(effect, values, name):
        folder = tmp_path / name
        folder.mkdir()
        places = {"folder": folder, "server": server.url}
        if "{pipelines}" in f"{effect.beside}{values}":
            places["pipelines"] = request.getfixturevalue("pipelines")
        server.play(effect.play)
        with monkeypatch.context() as changed:
            changed.setenv("XDG_DATA_HOME", str(folder / "data"))
            for settings in ({"location": "{folder}/agent.db"}, effect.beside, values):
                by_environment(changed, settings, **places)
            made = None if effect.first is None else effect.first(folder)
            for steps in effect.visits:
                told = visit(steps)
            while LOCKS:
                LOCKS.pop().close()
            return effect.see(Sight(told, folder, server, made))

    return start


@pytest.mark.slow
def test_each_effect_is_seen(look, subtests):
    """A setting with another value shows another thing after the same steps."""
    for name, effect in EFFECTS.items():
        before, after = effect.change
        with subtests.test(name):
            unlike = (
                look(effect, {name: before}, f"{name} before"),
                look(effect, {name: after}, f"{name} after"),
            )
            assert unlike[0] != unlike[1]


def test_each_door_opens_what_the_settings_say(monkeypatch, run):
    """Whose memory it is says the environment, whatever opens it."""

    async def serve():
        settings = Settings()
        async with Client(build(LateMemory(None, settings.user, settings))) as client:
            await call_tool(client, "store_memory", content="I have a cat named Tom.")

    by_environment(monkeypatch, {"user": "ben"})
    visit([("remember", "I have a bird named Joe.")])
    run("chat", stdin="Remember that I have a dog named Rex.\n")
    anyio.run(serve)
    assert [each["name"] for each in command("users")] == ["ben"]
    said = str(command("list"))
    assert all(name in said for name in ("Joe", "Rex", "Tom"))


def test_no_setting_is_left_out():
    """Whoever adds a setting says here what it changes, or what proves that it does."""
    proved = [*EFFECTS, *(name for each in ELSEWHERE.values() for name in each)]
    assert sorted(field.name for field in fields()) == sorted(proved)
    for proof in ELSEWHERE:
        path, _, test = proof.partition("::")
        assert f"def {test}(" in (Path(__file__).parents[2] / path).read_text("utf-8"), proof


def test_a_context_of_the_command_line_is_by_the_settings(monkeypatch):
    """``memoranda context`` for no conversation: the window of the settings, and MEMORY.md."""
    with Memory() as memory:
        memory.remember("I have a dog named Rex.")
        assert "Rex" in memory.notes.context_text(make=True)
    receipts = []
    for limit, noted in ((1_000, True), (2_000, False)):
        by_environment(
            monkeypatch, {"conversation.context_limit": limit, "notes.in_context": noted}
        )
        receipts.append(command("context", "Hello.")["receipt"])
    assert [receipt["budget"] for receipt in receipts] == [800, 1_600]
    parts = [{line["what"] for line in receipt["included"]} for receipt in receipts]
    assert ["notes" in each for each in parts] == [True, False]


def test_durability_is_whether_commits_wait_for_the_disk(tmp_path):
    """``storage.durability = "power"`` has SQLite sync with each commit (``FULL``)."""
    for durability, level in (("process", 1), ("power", 2)):
        settings = Settings(storage={"durability": durability})
        with Memory(tmp_path / "a.db", settings=settings) as memory:
            assert memory._services.store._writer.raw.pragma("synchronous") == level


def test_threads_and_megabytes_are_those_of_the_settings():
    """How many threads the local model takes, and how much memory the indexes of users."""
    chosen = {"embedding": {"model": "local", "threads": 2}, "retrieval": {"cache_size": 3}}
    with Memory(":memory:", settings=Settings(**chosen)) as memory:
        assert memory._services.embedder.inner._threads == 2
        assert memory._services.retriever.cache._limit == 3 * MEGABYTE

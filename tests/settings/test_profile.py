"""Seed 001's configuration is read as it stands there, and brings what it says of its system."""

import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from memoranda import Memory, Settings, errors
from memoranda.settings.configure import explain, list_settings
from memoranda.settings.nested import nest
from memoranda.settings.profile import chroma_location, derive_settings

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "config" / "reachy.yaml"


def leaves(values, within=()):
    """Return every value that is no group, by its place."""
    found = {}
    for name, value in values.items():
        place = (*within, name)
        found |= leaves(value, place) if isinstance(value, dict) else {place: value}
    return found


FOLLOWING = leaves(derive_settings({"path": "/m"}))
OWN = {
    "location": "mine.db",
    "conversation.window": 2,
    "conversation.keep_recent": 3,
    "retrieval.min_score": 0.5,
    "retention.fact": "1d",
    "retention.context": "12h",
    "schedule.expire_at_start": False,
}
"""Settings of one's own, where the default is what follows, or none."""


def named(place):
    """Return a setting's name."""
    return ".".join(place)


def value(settings, place):
    """Return what stands at a place of settings."""
    for name in place:
        settings = getattr(settings, name)
    return settings


def test_the_configuration_of_s1_is_shipped_as_it_stands_there(monkeypatch, tmp_path):
    """S1.37: the very form of the seed, in the source distribution, read by ``Settings``."""
    said = YAML(typ="safe").load(SHIPPED)
    assert said == {
        "memory": {
            "path": "~/.reachy/memory",
            "context_window_size": 5,
            "embedding_model": "all-MiniLM-L6-v2",
            "cleanup_interval": 3600,
        }
    }
    monkeypatch.setenv("MEMORANDA_CONFIG", str(SHIPPED))
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = Settings()
    assert settings.location == f"chroma://{tmp_path.as_posix()}/.reachy/memory"
    assert settings.conversation.window == 5
    assert settings.embedding.model == "local"
    assert settings.schedule.expire == "3600s"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "config" in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]


def test_each_of_the_four_means_one_of_ours(written):
    """S1.37: folder, turns, model and interval; the one that is left out is the seed's."""
    written(
        "memory:\n  path: /data/robot\n  context_window_size: 3\n"
        "  embedding_model: openai:bge-m3\n  cleanup_interval: 60\n"
    )
    settings = Settings()
    assert settings.location == "chroma:///data/robot"
    assert (settings.conversation.window, settings.conversation.max_messages) == (3, 6)
    assert settings.embedding.model == "openai:bge-m3"
    assert settings.schedule.expire == "60s"
    own = "sentence-transformers/all-MiniLM-L6-v2"
    written(f"memory:\n  context_window_size: 4\n  embedding_model: {own}\n")
    settings = Settings()
    assert settings.location.endswith("/.reachy/memory")
    assert (settings.conversation.window, settings.embedding.model) == (4, "local")
    assert settings.schedule.expire == "3600s"


def test_a_path_is_the_folder_of_a_chroma_store(monkeypatch, tmp_path):
    """S1.36: ``~`` is the home, and what is relative starts where the process does."""
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.chdir(tmp_path)
    assert chroma_location("~/.reachy/memory") == "chroma:///home/ana/.reachy/memory"
    assert chroma_location("/data/my robot") == "chroma:///data/my robot"
    assert chroma_location("robot") == f"chroma://{tmp_path.as_posix()}/robot"


def test_the_policy_of_the_specification_comes_with_the_section(written):
    """S1.04 to S1.06, S1.15, S1.38: what the seed says beside its configuration is in force."""
    written("memory:\n  path: /m\n")
    settings = Settings()
    kept = settings.retention
    assert (kept.episode, kept.fact, kept.context) == ("30d", "forever", "day")
    assert (settings.retrieval.fusion, settings.retrieval.min_score) == ("cosine", 0.3)
    assert (settings.consolidation.automatic, settings.notes.automatic) == (False, False)
    assert (settings.consolidation.extractor, settings.mcp.tools) == ("none", "basic")
    assert settings.schedule.expire_at_start
    assert kept.remove
    assert {place: value(settings, place) for place in FOLLOWING} == FOLLOWING


def test_without_the_section_nothing_of_it_holds(written):
    """The defaults are what they were, also beside an empty section."""
    usual = Settings()
    assert (usual.location, usual.retrieval.fusion, usual.retrieval.min_score) == (
        None,
        "blend",
        None,
    )
    assert (usual.schedule.expire_at_start, usual.conversation.window) == (False, 5)
    for empty in ("memory:\n", "memory: {}\n", "memory:\n  path:\n", "user: ana\n"):
        written(empty)
        assert Settings().model_dump(exclude={"user"}) == usual.model_dump(exclude={"user"})


def test_a_setting_of_its_own_wins_wherever_it_was_set(written, monkeypatch, subtests):
    """All that follows from the section can be said otherwise: in the file, or outside of it."""
    for place, follows in FOLLOWING.items():
        own = OWN.get(named(place), explain(named(place)).default)
        assert own != follows
        group, _, name = named(place).partition(".")
        line = f"{group}:\n  {name}: {own}\n" if name else f"{group}: {own}\n"
        others = {other: wanted for other, wanted in FOLLOWING.items() if other != place}
        for way in ("file", "environment", "argument"):
            with subtests.test(named(place), way=way), monkeypatch.context() as patch:
                written("memory:\n  path: /m\n" + (line if way == "file" else ""))
                if way == "environment":
                    patch.setenv(f"MEMORANDA_{'__'.join(place).upper()}", str(own))
                settings = Settings(**(nest(place, own) if way == "argument" else {}))
                assert value(settings, place) == own
                assert {other: value(settings, other) for other in others} == others


def test_a_mistake_in_the_section_is_told(written, subtests):
    """What is unknown names what is known, what is wrong says what it should be."""
    for line, message in [
        ("pth: /m", "memory.pth is unknown; did you mean memory.path?"),
        ("cleanup_interval: 0", "memory.cleanup_interval='0' should be greater"),
        ("path: ' '", "memory.path: ' ' names nothing; write a name"),
        ("embedding_model: ''", "memory.embedding_model: '' names nothing"),
    ]:
        with subtests.test(line):
            path = written(f"memory:\n  {line}\n")
            with pytest.raises(errors.ConfigError) as caught:
                Settings()
            assert str(caught.value).startswith(f"settings: {path}: {message}")


def test_each_value_says_what_it_follows_from(written):
    """``memoranda config`` tells the file for the four, and for the others which of them."""
    path = written("memory:\n  path: /m\nretention:\n  episode: 7d\n")
    told = {setting.name: setting.source for setting in list_settings(Settings())}
    assert told["memory.path"] == told["retention.episode"] == str(path)
    for follows in ("location", "conversation.window", "retrieval.fusion"):
        assert told[follows] == "memory"
    assert told["user"] == "default"
    assert explain("location").value == "chroma:///m"
    assert explain("retrieval.min_score").source == "memory"


def test_without_a_model_nothing_is_opened(tmp_path):
    """A search by meaning alone cannot be had without one: said at once, and nothing is made."""
    settings = Settings(memory={"path": str(tmp_path / "m")}, embedding={"model": "none"})
    with pytest.raises(errors.ConfigError, match=r"retrieval.fusion = cosine .* switched off"):
        Memory(tmp_path / "m.db", settings=settings)
    assert list(tmp_path.iterdir()) == []

"""The doctor finds what is wrong, and only that."""

import stat
from datetime import timedelta

import numpy as np
from tables import each_row

from memoranda import Memory, Settings
from memoranda.errors import LLMError
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.maintenance.doctor import REINSTALL
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder
from memoranda.testing.models import ScriptedLLM

QUIET = {"consolidation": {"automatic": False}, "timezone": "UTC"}
ARMS = ("lexical arm", "vector arm", "entity arm", "temporal arm")


def found(memory):
    """Return the checks by name."""
    return {check.name: check for check in memory.doctor()}


def test_a_sound_memory_is_well(opened, tmp_path):
    """In a sound memory nothing fails, every arm finds its canary, and nothing is left of it."""
    memory = opened(tmp_path / "agent.db")
    memory.remember("Ana lives in Lisbon")
    before = memory.stats().records
    checks = found(memory)
    assert memory.stats().records == before
    assert not [check for check in checks.values() if check.ok is False]
    assert all(checks[arm].ok for arm in ARMS)
    assert checks["file"].ok


@each_row(("wanted", "ok"), [(True, True), (False, None)])
def test_vectors_of_words_find_their_canary_where_there_are_any(wanted, ok):
    """With the local model; and where a setting turns them off, they are neither well nor ill."""
    with Memory(":memory:", settings=Settings(retrieval={"token_vectors": wanted})) as memory:
        assert found(memory)["tokens arm"].ok is ok
        assert ("with token vectors" in memory.stats().vectors) is wanted


def test_vectors_of_another_model_fail_with_the_remedy(opened, tmp_path):
    """A memory whose vectors are of another model names the command that helps; it does."""
    file = tmp_path / "agent.db"
    with Memory(file, user="ana", embedder=HashEmbedder(32, "older")) as memory:
        memory.remember("one")
        memory.embed_pending()
    memory = opened(file)
    check = found(memory)["vectors"]
    assert (check.ok, check.remedy) == (False, "memoranda doctor --reembed")
    memory.reembed()
    assert found(memory)["vectors"].ok


def test_a_file_that_others_can_read_is_noted(opened, tmp_path):
    """A file mode wider than 0600 is no failure, but comes with the command that narrows it."""
    file = tmp_path / "agent.db"
    memory = opened(file)
    file.chmod(0o644)
    check = found(memory)["file"]
    assert (check.ok, check.remedy) == (None, f"chmod 600 {file}")
    file.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert found(memory)["file"].ok
    file.unlink()  # Under a running memory: that is a failure.
    assert found(memory)["file"].ok is False


def test_a_missing_local_model_is_noted_with_the_command_that_brings_it(tmp_path):
    """Where it is taken if it is there, its files are no failure, as words and names do without."""
    settings = Settings(**QUIET, embedding={"folder": tmp_path})
    with Memory(":memory:", settings=settings) as memory:
        check = found(memory)["vectors"]
    assert check.ok is None
    assert check.detail.endswith("run: memoranda config models pull")


def test_sessions_that_wait_because_the_model_fails_are_said():
    """An hour after that; without a model after a day, as nothing may run before the night."""
    quiet = {"embedding": {"model": "none"}, "consolidation": {"automatic": False}}
    for llm, wait, ok in (
        (ScriptedLLM({ClaimsAnswer: LLMError("busy")}), timedelta(hours=1), False),
        (None, timedelta(days=1), None),
    ):
        clock = FrozenClock()
        with Memory(":memory:", settings=Settings(**quiet), llm=llm, clock=clock) as memory:
            memory.conversation("trip").add("user", "I live in Porto.")
            if llm is not None:
                assert memory.consolidate().failed
            clock.advance(wait)
            assert found(memory)["learning"].ok
            clock.advance(timedelta(seconds=1))
            learning = found(memory)["learning"]
            assert (learning.ok, "(trip)" in learning.detail) == (ok, True)
            assert ("the language model failed" in learning.detail) is (llm is not None)


# Remedies


@each_row("fusion", ["blend", "rrf", "cosine"])
@each_row(
    ("min_score", "model", "fast"),
    [(0.0, HashEmbedder(), "regex"), (0.99, None, "regex, spacy"), (0.99, HashEmbedder(), "regex")],
)
def test_no_way_of_searching_is_ill_by_a_setting(fusion, min_score, model, fast):
    """Whatever the settings ask for, an arm finds its canary or is told to be off."""
    if fusion == "cosine" and model is None:
        return
    chosen = Settings(
        **QUIET,
        embedding={"model": "none"},
        entities={"fast": fast},
        retrieval={"fusion": fusion, "min_score": min_score},
    )
    with Memory(":memory:", settings=chosen, embedder=model) as memory:
        memory.remember("Ana lives in Lisbon")
        checks = found(memory)
    assert [check for check in checks.values() if check.ok is False] == []
    asked = {name for name, check in checks.items() if name.endswith(" arm") and check.ok}
    off = {name for name, check in checks.items() if name.endswith(" arm") and not check.ok}
    assert "entity arm" in asked
    assert ("vector arm" in asked) is (checks["vectors"].ok is True) is (model is not None)
    assert ("lexical arm" in asked) is ("temporal arm" in asked) is (fusion != "cosine")
    assert all(checks[name].detail.startswith("off: ") for name in off)
    assert all(checks[name].remedy is None for name in off)


def test_names_that_nobody_reads_again_are_not_missed():
    """Without the stage at night, what it would use is no matter; what each text uses is."""
    off = {"schedule": {"enrich": "off"}, "embedding": {"model": "none"}}
    for fast, remedy in (("regex", False), ("regex, spacy", True)):
        chosen = Settings(**QUIET, **off, entities={"fast": fast})
        with Memory(":memory:", settings=chosen) as memory:
            names = found(memory)["names"]
            assert (names.ok is None, names.remedy is not None) == (remedy, remedy)
            assert "llm" not in (names.remedy or "")
    with Memory(":memory:", settings=Settings(**QUIET, embedding={"model": "none"})) as memory:
        assert "entities.spacy_model" in found(memory)["names"].remedy


class ConstantEmbedder(HashEmbedder):
    """Finds all texts alike."""

    def embed(self, texts):
        """Return the same vector for each text."""
        return np.eye(1, self.dimensions, dtype=np.float32).repeat(len(texts), axis=0)


def test_a_model_that_tells_nothing_apart_is_to_be_changed():
    """No installation mends it, so none is advised."""
    with Memory(":memory:", settings=Settings(**QUIET), embedder=ConstantEmbedder()) as memory:
        check = found(memory)["vector arm"]
    assert check.ok is False
    assert check.remedy.startswith("choose another embedding.model")


def test_without_rules_for_names_the_setting_is_named():
    """The remedy is a command that sets what finds names without more."""
    chosen = Settings(**QUIET, embedding={"model": "none"}, entities={"fast": "spacy"})
    with Memory(":memory:", settings=chosen) as memory:
        check = found(memory)["entity arm"]
        assert (check.ok, check.remedy) == (False, "memoranda config set entities.fast regex")


def test_to_install_anew_is_the_last_resort(opened, monkeypatch):
    """It is advised only where nothing is found though settings and model are as they should be."""
    memory = opened()
    assert [name for name, check in found(memory).items() if check.ok is False] == []
    monkeypatch.setattr(Memory, "search", lambda *_, **__: [])
    monkeypatch.setattr(Memory, "entity", lambda *_: None)
    ill = {name: check.remedy for name, check in found(memory).items() if check.ok is False}
    assert ill.keys() == {"lexical arm", "vector arm", "entity arm", "temporal arm"}
    reinstalled = {name for name, remedy in ill.items() if remedy == REINSTALL}
    assert reinstalled == ill.keys() - {"vector arm"}

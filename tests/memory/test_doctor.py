"""The doctor finds what is wrong, and only that."""

import stat
from datetime import timedelta

from tables import each_row

from memoranda import Memory, Settings
from memoranda.errors import LLMError
from memoranda.learning.llm.model_stages import ClaimsAnswer
from memoranda.store.locations import file_of, place
from memoranda.testing.clocks import FrozenClock
from memoranda.testing.embedders import HashEmbedder
from memoranda.testing.models import ScriptedLLM

ARMS = ("lexical arm", "vector arm", "entity arm", "temporal arm")


class Mute(HashEmbedder):
    """An embedder to which everything is the same."""

    def embed(self, texts):
        """Return one vector for all."""
        return super().embed(["same" for _ in texts])


def found(memory):
    """Return the checks by name."""
    return {check.name: check for check in memory.doctor()}


def test_a_sound_memory_is_well(opened, tmp_path):
    """In a sound memory nothing fails, and every arm finds its canary."""
    file = tmp_path / "agent.db"
    memory = opened(file)
    memory.remember("Ana lives in Lisbon")
    checks = found(memory)
    assert not [check for check in checks.values() if check.ok is False]
    assert all(checks[arm].ok for arm in ARMS)
    assert checks["file"].ok


@each_row(("wanted", "ok"), [(True, True), (False, None)])
def test_vectors_of_words_find_their_canary_where_there_are_any(wanted, ok):
    """With the local model; and where a setting turns them off, they are neither well nor ill."""
    with Memory(":memory:", settings=Settings(retrieval={"token_vectors": wanted})) as memory:
        assert found(memory)["tokens arm"].ok is ok
        assert ("with token vectors" in memory.stats().vectors) is wanted


def test_the_canaries_leave_no_trace(opened):
    """An examination adds nothing to the memory that is examined."""
    memory = opened()
    before = memory.stats()
    memory.doctor()
    assert memory.stats() == before


def test_vectors_that_are_off_are_said_to_be(plain):
    """Without a model the vector arm is neither well nor ill, and the reason is told."""
    checks = found(plain)
    assert checks["vectors"].ok is None
    assert checks["vector arm"].ok is checks["tokens arm"].ok is None
    assert "embedding.model = none" in checks["vectors"].detail


def test_an_embedder_that_tells_nothing_apart_is_found_out(opened):
    """A model that gives one vector to all texts does not find the canary first."""
    memory = opened(embedder=Mute())
    decoyed = found(memory)["vector arm"]
    assert decoyed.ok is False


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


def test_a_file_that_is_gone_fails(opened, tmp_path):
    """A file that was removed under a running memory is a failure."""
    file = tmp_path / "agent.db"
    memory = opened(file)
    file.unlink()
    checks = found(memory)
    assert checks["file"].ok is False


def test_a_missing_local_model_fails_only_where_it_is_asked_for(opened, tmp_path):
    """Model files that are not there fail for `local`, and are a note for `auto`."""
    for model, ok in (("local", False), ("auto", None)):
        settings = Settings(timezone="UTC", embedding={"model": model, "folder": tmp_path})
        check = found(opened(settings=settings))["local model"]
        assert (check.ok, check.remedy) == (ok, "memoranda config models pull")


def test_purge_says_whether_it_could(opened, tmp_path):
    """Purging a file that nobody else reads is done."""
    assert opened(tmp_path / "agent.db").purge() is True


def test_located_is_where_a_memory_would_be(opened, tmp_path, monkeypatch):
    """The file named by the doctor is the one that a memory opens."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    expected = file_of(place(None, Settings()))
    memory = opened(None)
    memory.remember("here")
    assert expected is not None
    assert expected.stat().st_size
    assert str(expected) in found(memory)["file"].detail
    assert file_of(place(":memory:", Settings())) is None
    assert "file" not in found(opened())
    assert file_of(place("~/x.db", Settings())).name == "x.db"
    assert file_of(place(None, Settings(location="set.db"))).name == "set.db"


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

"""What upkeep did to a memory goes with it: nothing is learned, faded or decided twice."""

from file_samples import ALL, opened
from samples import User
from steps import carry_out, do

from memoranda.model.changes import Retire
from memoranda.model.query import Filter, Subset


def moved(memory, path, **more):
    """A new memory with what is in ``memory``."""
    memory.export(path)
    other = opened(**more)
    other.import_(path)
    return other


def turns(memory, session, *texts):
    """Say something in a session."""
    return [memory.remember(text, kind="episode", session=session) for text in texts]


def apply(memory, *actions):
    """Change a memory as upkeep does."""
    carry_out(memory._services.store, memory._scope, list(actions))


def sessions(memory):
    """Return how far each session of a memory is."""
    found = memory._services.store.sessions(memory._scope).values()
    return {info.id: (info.through, info.consolidated_at is not None) for info in found}


def test_an_imported_session_is_not_consolidated_again(tmp_path):
    """What was read stays read, and each episode has the position that it had."""
    with opened() as one:
        gone, *_ = turns(one, "done", "first", "second", "third")
        turns(one, "half", "begun", "left")
        turns(one, "new", "untouched")
        now = one._services.clock.now()
        one.forget(gone.id, erase=True)
        apply(
            one,
            do.advance_session("done", through=2, at=now, finished=True),
            do.advance_session("half", through=0, at=now, finished=False),
        )
        with moved(one, tmp_path / "noa.jsonl") as two:
            assert sessions(two) == sessions(one)
            rest = User(two._services.store, two._scope).episodes("half", after=0)
            assert [item.content for item in rest] == ["left"]
            two.import_(tmp_path / "noa.jsonl")
            assert sessions(two) == {"done": (2, True), "half": (0, False), "new": (-1, False)}


def test_what_was_never_read_is_not_passed_over(tmp_path):
    """A session of which the store had episodes of its own waits, for these to be read."""
    with opened() as one, opened() as two:
        turns(one, "s", "hers")
        apply(one, do.advance_session("s", through=0, at=one._services.clock.now(), finished=True))
        one.export(tmp_path / "noa.jsonl")
        turns(two, "s", "own")
        two.import_(tmp_path / "noa.jsonl")
        assert sessions(two) == {"s": (-1, False)}


def test_decisions_on_names_hold_in_another_store(tmp_path):
    """Merged names are one entity there, under the same name."""
    with opened() as one:
        one.remember_many(["I met Robert Brown today", "I met Alice Stone today"])
        store, scope = one._services.store, one._scope
        names = ("Alice Stone", "Robert Brown")
        apply(one, do.merge_entities(*(one.entity(name).id for name in names)))
        held = dict(store.decisions(scope))
        with moved(one, tmp_path / "noa.jsonl") as two:
            assert two._services.store.decisions(two._scope) == held
            entity = two.entity("Robert Brown")
            assert (entity.name, entity.aliases) == ("Alice Stone", ("Robert Brown",))
            assert two.verify() == []


def test_what_is_retired_or_taken_back_stays_so(tmp_path):
    """Retired records get no vectors and links; what was forgotten teaches nothing."""
    with opened() as one:
        fact = one.remember("I met Robert Brown today")
        kept, taken = turns(one, "s", "kept", "taken back")
        one.forget(taken.id)
        apply(one, Retire(fact.id, one._services.clock.now(), "faded away"))
        with moved(one, tmp_path / "noa.jsonl") as two:
            store, scope = two._services.store, two._scope
            ended = Filter(now=two._services.clock.now(), retired=True, subset=Subset.ENDED)
            assert store.records(scope, ended) == []
            assert store.entities(scope, ALL, name="Robert Brown", limit=1) == []
            found = User(store, scope).episodes("s")
            assert [item.id for item in found] == [kept.id]
            assert two.get(taken.id).valid_until == one.get(taken.id).valid_until
            assert two.verify() == []

"""Our ``Memory`` with the calls of mem0 answers as the real one does, run beside it."""

import hashlib
import json
import re
from contextlib import ExitStack
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec

import pytest

import memoranda
from memoranda import Settings
from memoranda.compat.mem0 import Memory
from memoranda.errors import InvalidInput
from memoranda.testing.clocks import FrozenClock

WORDLESS = Settings(embedding={"model": "none"}, timezone="UTC")
SIZE = 1024
ANA = {"user_id": "ana"}
# What each says by itself.
OWN = {"id", "score", "created_at", "updated_at", "hash", "score_details", "memory_id"}

TALK = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "I never fly before nine.", "name": "Ana"},
    {"role": "assistant", "content": "Noted, no early flights."},
    {"role": "user"},
]
# What is kept, and how.
KEPT = (
    ("Likes green tea", {"user_id": "ana", "metadata": {"n": 1, "cat": "food", "ok": True}}),
    ("Likes Green curry and rice", {"user_id": "ana", "metadata": {"n": 5, "cat": "food"}}),
    ("Plays tennis on Monday", {"user_id": "ana", "metadata": {"n": 9, "tags": ["sport", "fun"]}}),
    ("Runs a bakery", {"user_id": "ana", "agent_id": "bot", "metadata": {"at": "2026-03-01"}}),
    ("Runs a bakery", {"user_id": "ana", "agent_id": "bot", "metadata": {"at": "2026-03-01"}}),
    ("Books a table for two", {"user_id": "ana", "run_id": "r1", "metadata": {"n": None}}),
    ("Likes green tea", {"user_id": "bob", "metadata": {"n": 1, "cat": "food"}}),
    ("Answers in short sentences", {"agent_id": "bot", "metadata": {"user_id": "ana", "n": 2}}),
    (TALK, {"user_id": "ana", "run_id": "r2", "metadata": {"at": "2026-05-01T10:00:00Z"}}),
    ("Was in Faro", {"user_id": "ana", "expiration_date": "2020-01-31"}),
    ("Is in Porto", {"user_id": "ana", "expiration_date": "2999-01-31"}),
)
FILTERS = (
    {},
    {"n": 1},
    {"ok": True},
    {"ok": 1},
    {"n": {"eq": 5}},
    {"n": {"ne": 5}},
    {"n": {"in": [1, 9]}},
    {"n": [1, 9]},
    {"n": {"nin": [1, 9]}},
    {"n": {"gt": 1}},
    {"n": {"gte": 1, "lt": 9}},
    {"n": {"lte": 5}},
    {"at": {"gte": "2026-03-01", "lt": "2026-05-01T10:00:00Z"}},
    {"at": {"lte": "2026-05-01T12:00:00+02:00"}},
    {"cat": {"gt": 1}},
    {"cat": {"contains": "food"}},
    {"data": {"contains": "green"}},
    {"data": {"icontains": "GREEN likes"}},
    {"data": {"contains": "gree"}},
    {"tags": "sport"},
    {"tags": {"in": ["fun", "x"]}},
    {"tags": {"nin": ["fun"]}},
    {"cat": "*"},
    {"none": "*"},
    {"none": {"ne": 1}},
    {"role": "assistant"},
    {"actor_id": "Ana"},
    {"run_id": "r1"},
    {"agent_id": "bot"},
    {"expiration_date": {"gt": "2026-01-01"}},
    {"AND": [{"n": {"gte": 1}}, {"cat": "food"}]},
    {"OR": [{"n": 9}, {"cat": {"ne": "food"}}, {"run_id": "r2"}]},
    {"OR": [{"n": 9, "cat": "food"}, {"n": 5}], "cat": "food"},
    {"OR": [{"cat": "*"}, {"n": 9}]},
    {"NOT": [{"cat": "food"}]},
    {"NOT": [{"n": 1}, {"tags": "fun"}]},
    {"NOT": [{"cat": "*"}]},
    {"AND": [{"OR": [{"n": 1}, {"n": 5}]}, {"NOT": [{"n": 1}]}]},
)
REFUSED = (
    lambda it: it.add("x"),
    lambda it: it.add(3, user_id="ana"),
    lambda it: it.add("x", user_id=" "),
    lambda it: it.add("x", user_id="a b"),
    lambda it: it.add("x", user_id="ana", expiration_date="soon"),
    lambda it: it.get_all(),
    lambda it: it.get_all(filters={"n": 1}),
    lambda it: it.get_all(user_id="ana"),
    lambda it: it.get_all(filters=ANA, top_k=-1),
    lambda it: it.get_all(filters={**ANA, "n": {"near": 1}}),
    lambda it: it.get_all(filters={**ANA, "OR": {"n": 1}}),
    lambda it: it.search("tea", filters={"n": 1}),
    lambda it: it.search("tea", user_id="ana"),
    lambda it: it.search(" ", filters=ANA),
    lambda it: it.search("tea", filters={**ANA, "NOT": []}),
    lambda it: it.search("tea", filters={**ANA, "n": {"gt": "many"}}),
    lambda it: it.update("00000000-0000-4000-8000-000000000000", text="x"),
    lambda it: it.delete("00000000-0000-4000-8000-000000000000"),
    lambda it: it.delete_all(),
)


class WordEmbedder:
    """An embedder in the place of mem0's: a number for each word."""

    def embed(self, text, memory_action=None):
        """Return how often each word stands in a text."""
        del memory_action
        vector = [0.0001] * SIZE
        for word in re.findall(r"\w+", text.lower()):
            vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % SIZE] += 1
        return vector

    def embed_batch(self, texts, memory_action=None):
        """Return the vectors of texts."""
        return [self.embed(text, memory_action) for text in texts]


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Open a real Memory of mem0 on a store in a folder, without network and without a model."""
    if not find_spec("mem0"):
        pytest.skip("not installed: pip install mem0ai")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "mem0"))
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    real, model = import_module("mem0").Memory, {"provider": "openai", "config": {"api_key": "no"}}

    with ExitStack() as stack:

        def start(provider, **config):
            folder = {"collection_name": "mem0", "path": str(tmp_path / provider), **config}
            memory = real.from_config({
                "vector_store": {"provider": provider, "config": folder},
                "llm": model,
                "embedder": model,
                "history_db_path": str(tmp_path / "history.db"),
            })  # fmt: skip
            memory.embedding_model = WordEmbedder()
            stack.enter_context(memory)
            if provider == "qdrant":
                stack.callback(memory.vector_store.client.close)
            return memory

        yield start


@pytest.fixture
def theirs(opened):
    """Give a real Memory of mem0 on its default store, Qdrant."""
    return opened("qdrant", embedding_model_dims=SIZE, on_disk=True)


@pytest.fixture
def ours():
    """Give our own."""
    with Memory(memoranda.Memory(":memory:", settings=WORDLESS)) as memory:
        yield memory


def told(answer):
    """Return an answer without what each says by itself; lists in one order, no empty values.

    A memory without a user is ours of the user of the memory.
    """
    if isinstance(answer, list):
        return sorted(map(told, answer), key=lambda each: json.dumps(each, sort_keys=True))
    if isinstance(answer, dict):
        own = OWN | ({"user_id"} if answer.get("user_id") == "default" else set())
        each = {name: told(value) for name, value in answer.items() if name not in own}
        return {name: value for name, value in each.items() if value}
    return answer


def kept(memory):
    """Keep all that is to be kept; return the answers."""
    return [memory.add(text, **named, infer=False) for text, named in KEPT]


def ids_of(answers):
    """Return the ids in the answers of ``add``."""
    return [each["id"] for answer in answers for each in answer["results"]]


@pytest.mark.filterwarnings("ignore")
def test_what_is_kept_and_found_is_that_of_mem0(ours, theirs):
    """By the same calls: the answers of add, get, get_all and search, with all filters."""
    sides = {memory: kept(memory) for memory in (ours, theirs)}
    assert told(sides[ours]) == told(sides[theirs])
    both = [[told(memory.get(one)) for one in ids_of(sides[memory])] for memory in sides]
    assert both[0] == both[1]
    for extra in FILTERS:
        for expired in (False, True):
            named = {"filters": {**ANA, **extra}, "top_k": 50, "show_expired": expired}
            found = [told(memory.get_all(**named)) for memory in sides]
            assert found[0] == found[1], named
            if "AND" in extra:
                continue  # search of mem0 takes the last condition of each name alone
            passing = told(theirs.search("x", threshold=0, **named)["results"])
            for query in ("Likes green tea", "Plays tennis on Monday", "Is in Porto"):
                hits, sure = (
                    ours.search(query, **named),
                    theirs.search(query, threshold=0.9, **named),
                )
                assert all(told(hit) in passing for hit in hits["results"]), (query, named)
                for best, same in zip(hits["results"], sure["results"][:1], strict=False):
                    assert told(best) == told(same), (query, named)
                assert len(hits["results"]) >= len(sure["results"])
    for filters in ({"agent_id": "bot"}, {"run_id": "r2"}, {"user_id": "bob"}, {"user_id": "no"}):
        found = [told(memory.get_all(filters=filters)) for memory in sides]
        assert found[0] == found[1], filters
    assert [len(memory.get_all(filters=ANA, top_k=2)["results"]) for memory in sides] == [2, 2]


@pytest.mark.filterwarnings("ignore")
def test_what_is_changed_and_deleted_is_that_of_mem0(ours, theirs):
    """By the same calls: update, delete, delete_all, history and reset."""
    seen = {}
    for memory in (ours, theirs):
        first, second, third, *_ = ids_of(kept(memory))
        steps = seen[memory] = [
            memory.update(first, text="Likes black tea"),
            memory.update(first, metadata={"n": 7, "user_id": "bob", "new": [1]}),
            memory.update(first, expiration_date="2020-01-01"),
            memory.get_all(filters=ANA),
            memory.get(first),
            memory.update(first, "Likes white tea", {"n": 8}, expiration_date=None),
            memory.get(first),
            memory.get_all(filters={**ANA, "n": 8}),
            memory.search("white tea", filters=ANA, top_k=1),
            memory.delete(second),
            memory.get(second),
            memory.get_all(filters=ANA),
            *(memory.history(each) for each in (first, second, third, "none")),
            memory.delete_all(user_id="ana", agent_id="bot"),
            memory.get_all(filters=ANA),
            memory.delete_all(agent_id="bot"),
            memory.delete_all(user_id="ana"),
            memory.get_all(filters=ANA, show_expired=True),
            memory.get_all(filters={"user_id": "bob"}),
            memory.reset(),
            memory.get_all(filters={"user_id": "bob"}),
            memory.get(first),
        ]
        memory.add("Begins anew", user_id="ana", infer=False)
        steps.append(memory.get_all(filters=ANA))
    for number, (own, other) in enumerate(zip(*map(seen.get, (ours, theirs)), strict=True)):
        assert told(own) == told(other), number
    events = [[row["event"] for row in seen[ours][number]] for number in (12, 13, 14, 15)]
    assert events == [["ADD", *["UPDATE"] * 4], ["ADD", "DELETE"], ["ADD"], []]


@pytest.mark.filterwarnings("ignore")
def test_what_mem0_refuses_is_refused(ours, theirs):
    """With an error of the same kind, a ValueError, and one of ours."""
    for number, call in enumerate(REFUSED):
        with pytest.raises(InvalidInput):
            call(ours)
        with pytest.raises(Exception, match=r".") as caught:
            call(theirs)
        assert isinstance(caught.value, ValueError) or "alidation" in repr(caught.value), number


def test_facts_are_learned_from_messages(ours):
    """Without a model, by rules; they are of the user, agent and run, and end as is asked."""
    said = [{"role": "user", "content": "I am vegetarian and I live in Porto."}]
    results = ours.add(said, user_id="ana", run_id="r1", agent_id="bot", metadata={"n": 1})
    assert [each["event"] for each in results["results"]] == ["ADD", "ADD"]
    (found,) = ours.search("Where does she live?", filters=ANA, top_k=1, explain=True)["results"]
    assert found["memory"] == "The user lives in Porto."
    assert (found["run_id"], found["agent_id"], found["metadata"]["n"]) == ("r1", "bot", 1)
    assert found["score_details"]["final_score"] == found["score"] > 0
    assert ours.memory.as_user("ana").recall("Where does she live?").text
    assert ours.get_all(filters=ANA) == ours.get_all(filters={"run_id": "r1"})


@pytest.mark.parametrize("text", ["", " ", [], None])
def test_nothing_is_learned_from_no_words(ours, text):
    """And no conversation is begun for them, whether they are of a run or not."""
    said = [{"role": role, "content": text} for role in ("user", "assistant")]
    rules = {"role": "developer", "content": "Be brief."}
    for given in (text or "", said, [*said, rules]):
        for run in (None, "r1"):
            assert ours.add(given, user_id="ana", run_id=run) == {"results": []}
    assert ours.memory.as_user("ana").conversations() == []


def test_only_known_roles_say_something(ours):
    """Whoever it is, learned from or kept as it is said: nobody else's word is a person's."""
    for infer in (True, False):
        with pytest.raises(InvalidInput, match="role='narrator' is unknown; use"):
            ours.add({"role": "narrator", "content": "Lives in Porto"}, infer=infer, **ANA)
    said = {"role": "human", "content": [{"type": "text", "text": "Lives in Porto"}]}
    assert ours.add([said, {"role": "user", "content": " "}], infer=False, **ANA)["results"]
    (kept,) = ours.get_all(filters=ANA)["results"]
    assert (kept["memory"], kept["role"]) == ("Lives in Porto", "user")


def test_a_memory_ends_with_its_last_day():
    """In UTC, and is there nevertheless for who asks for it."""
    clock = FrozenClock()
    day = clock.now().date()
    with Memory(memoranda.Memory(":memory:", settings=WORDLESS, clock=clock)) as memory:
        memory.add("Is in Porto", user_id="ana", expiration_date=day, infer=False)
        assert len(memory.get_all(filters=ANA)["results"]) == 1
        clock.advance(timedelta(days=1))
        assert memory.get_all(filters=ANA) == memory.search("Porto", filters=ANA) == {"results": []}
        shown = memory.get_all(filters=ANA, show_expired=True)["results"]
        assert [each["expiration_date"] for each in shown] == [day.isoformat()]
        memory.delete(memory.add("Porto is far", user_id="ana", infer=False)["results"][0]["id"])
        assert len(memory.search("Porto", filters=ANA, show_expired=True)["results"]) == 1


def test_what_was_imported_is_found_under_its_id(ours, tmp_path):
    """An export of mem0, with its ids; so programs that keep ids go on."""
    path = tmp_path / "mem0.json"
    path.write_text('[{"id": "m1", "memory": "Likes tea", "user_id": "ana", "run_id": "r1"}]')
    ours.memory.import_(path)
    assert ours.get("m1")["memory"] == "Likes tea"
    ours.update("m1", text="Likes coffee")
    assert [each["memory"] for each in ours.get_all(filters={"run_id": "r1"})["results"]] == [
        "Likes coffee"
    ]
    assert [row["event"] for row in ours.history("m1")] == ["ADD", "UPDATE"]


STORES = (
    ("qdrant_client", "qdrant", {"embedding_model_dims": SIZE, "on_disk": True}),
    ("faiss", "faiss", {"embedding_model_dims": SIZE}),
    ("chromadb", "chroma", {}),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("store", STORES)
def test_a_store_that_mem0_wrote_is_imported(ours, opened, tmp_path, store):
    """From its files, while it is open; each memory is then as mem0 gives it."""
    module, provider, config = store
    if not find_spec(module):
        pytest.skip(f"not installed: pip install {module}")
    theirs, made = opened(provider, **config), []
    for text, named in KEPT:
        plain = {n: v for n, v in named.get("metadata", {}).items() if isinstance(v, int | str)}
        made += ids_of([theirs.add(text, **{**named, "metadata": plain}, infer=False)])
    theirs.update(made[0], text="Likes black tea")
    theirs.delete(made.pop(1))
    report = ours.memory.import_(tmp_path / provider)
    assert report.records == len(made)
    assert told([ours.get(one) for one in made]) == told([theirs.get(one) for one in made])
    again = ours.memory.import_(tmp_path / provider)
    assert (again.records, again.skipped) == (0, len(made))
    with Memory(memoranda.Memory(":memory:", settings=WORDLESS)) as other:
        assert other.memory.import_(tmp_path / "history.db").records == len(made)
        texts = [[each.get(one)["memory"] for one in made] for each in (other, theirs)]
        assert texts[0] == texts[1]

"""Requirements that no other test states on its own: defaults, limits of time, what is on disk."""

import shutil
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import apsw
import numpy as np
import pytest

from recollect import Conversation, Settings
from recollect.app.limits import USUAL
from recollect.app.parts import TalkParts
from recollect.app.settings import EmbeddingSettings
from recollect.app.wiring import open_embedder
from recollect.conversation.transcript import MemoryTranscript
from recollect.core.models import ConversationInfo
from recollect.testing.embedders import HashEmbedder
from recollect.tokens.cached import CachedCounter
from recollect.tokens.catalog import Catalog
from recollect.tokens.chat import ChatMeter
from recollect.tokens.estimate import EstimatedCounter

MESSAGES = 1_000
SENTENCE = "The train to Lisbon leaves at nine. "


class Tally:
    """A counter that remembers what it was asked to count."""

    exact = False
    name = "tally"

    def __init__(self):
        """Start with nothing counted."""
        self.counted = []

    def count(self, text):
        """Return an estimate and note the text."""
        self.counted.append(text)
        return EstimatedCounter().count(text)


class TallyCatalog(Catalog):
    """A catalogue in which everything is counted by one tally."""

    def __init__(self):
        """Know no models."""
        super().__init__(limits={}, tokenizers={}, load_timeout=1)
        self.tally = Tally()
        self.cached = CachedCounter(self.tally)

    def meter(self, model):
        """Return a meter whose counter is cached, as those of real models are."""
        return ChatMeter(self.cached, super().meter(model).format)


def test_a_message_is_counted_once():
    """R1.5, N3.4: contexts, views and stats compute no count anew."""
    catalog = TallyCatalog()
    parts = replace(TalkParts.usual(), catalog=catalog)
    info = ConversationInfo(id="c", created_at=datetime(2026, 1, 1, tzinfo=UTC), system="Plan.")
    chat = Conversation.over(MemoryTranscript(info), USUAL, parts)
    for n in range(30):
        chat.add("user", f"message {n}")
    assert catalog.tally.counted == ["Plan.", *(f"message {n}" for n in range(30))]
    chat.context()
    catalog.tally.counted.clear()
    for _ in range(20):
        chat.context()
        chat.view()
        chat.stats()
    assert catalog.tally.counted == []
    assert catalog.cached.hits / (catalog.cached.hits + catalog.cached.misses) > 0.5


def test_the_defaults_of_a_window():
    """R8.1, R8.4: fifty messages at most, and the ten newest whatever the window is."""
    chat, narrow = Conversation(), Conversation(max_messages=2)
    for n in range(80):
        for talk in (chat, narrow):
            talk.add("user", f"message {n}")
    assert [m.content for m in chat.view().messages] == [f"message {n}" for n in range(30, 80)]
    assert [m.content for m in narrow.view().messages] == [f"message {n}" for n in range(70, 80)]


def test_five_turns_are_the_default_of_a_window_of_turns():
    """S1.23, S1.25: the last five turns; with each new one the oldest leaves."""
    chat = Conversation()
    for n in range(7):
        chat.add("user", f"question {n}")
        chat.add("assistant", f"answer {n}")
        shown = [
            f"{word} {k}" for k in range(max(0, n - 4), n + 1) for word in ("question", "answer")
        ]
        assert [m.content for m in chat.window()] == shown


def test_nothing_is_pruned_below_the_limit():
    """W1: twenty exchanges within the budget are all in the context, in full."""
    chat = Conversation(system="You plan trips.", context_limit=2_000)
    for n in range(20):
        chat.add("user", f"question {n}")
        chat.add("assistant", f"answer {n}")
    context = chat.context("and now?")
    assert [m["content"] for m in context.messages[1:-1]] == [m.content for m in chat.messages]
    assert context.receipt.left_out == ()
    assert (chat.stats().pruned_messages, chat.stats().last_prune) == (0, None)


def test_an_empty_conversation_works():
    """S3.28: reading, pruning and clearing nothing gives nothing, and no error."""
    chat = Conversation()
    chat.clear()
    assert (len(chat), chat.messages, chat.recent(3), chat.window()) == (0, (), (), ())
    assert chat.view(1).messages == ()
    assert chat.context().messages == []
    assert (chat.stats().total_tokens, chat.stats().oldest_message) == (0, None)


def test_the_vector_arm_tells_the_cosine(opened):
    """S1.03, S4.31: what the vector arm says, also in a recall, is the cosine of two vectors."""
    embedder = HashEmbedder()
    memory = opened(embedder=embedder)
    memory.remember_many(["Ana likes green tea", "Tea grows in the hills"])
    query = "green tea in the hills"
    hits = memory.search(query)
    assert len(hits) == 2
    for hit in hits:
        one, other = embedder.embed([query, hit.record.content])
        assert hit.why.arms["vector"].score == pytest.approx(float(np.dot(one, other)), abs=2e-3)
    recalled = {hit.record.id: hit.why.arms for hit in memory.recall(query).hits}
    assert all(recalled[hit.record.id]["vector"] == hit.why.arms["vector"] for hit in hits)


def test_a_profile_is_facts_with_metadata(memory):
    """S1.34: facts of the category user_profile are found by search, field by field."""
    profile = {"category": "user_profile"}
    name = memory.remember("User prefers to be called Alex", metadata=profile | {"field": "name"})
    likes = memory.remember("User likes robots", metadata=profile | {"field": "interests"})
    memory.remember("User asked for the weather")
    found = memory.search("user", kind="fact", metadata=profile)
    assert {hit.record.id for hit in found} == {name.id, likes.id}
    [hit] = memory.search("what is the user called?", metadata=profile | {"field": "name"})
    assert hit.record.id == name.id


def test_copying_the_file_is_a_backup_and_removing_it_a_reset(opened, tmp_path):
    """S1.35: a closed memory is one file, and that file is all of it."""
    path, copy = tmp_path / "home" / "m.db", tmp_path / "copy.db"
    path.parent.mkdir()
    with closing(opened(path)) as memory:
        record = memory.remember("Ana likes tea")
        memory.embed_pending()
    assert [found.name for found in path.parent.iterdir()] == ["m.db"]
    shutil.copy(path, copy)
    path.unlink()
    assert opened(path).records() == []
    assert [hit.record for hit in opened(copy).search("tea")] == [record]


def test_a_tilde_is_the_users_home(opened, tmp_path, monkeypatch):
    """S1.36: ``~`` in a location is expanded, in the argument and in the setting."""
    monkeypatch.setenv("HOME", str(tmp_path))
    opened("~/argument.db").remember("Ana likes tea")
    opened(None, settings=Settings(timezone="UTC", location="~/setting.db"))
    assert {"argument.db", "setting.db"} <= {found.name for found in tmp_path.iterdir()}


def test_a_new_insight_takes_the_place_of_the_one_before(memory):
    """S4.08: the first recall after a reflection was saved has it, whatever was recalled before."""
    memory.remember("Ana likes tea")
    for insight in ("Ana was tired", "Ana sleeps better"):
        memory.remember(insight, kind="reflection")
        assert memory.recall("tea").text.split("## Weekly insight")[1].count(insight) == 1


def test_the_large_model_is_cut_to_256_dimensions():
    """S4.30: text-embedding-3-large gives 256 numbers, if not told otherwise."""
    pytest.importorskip("openai")
    chosen = EmbeddingSettings(model="openai:text-embedding-3-large", api_key="key")
    embedder, problem = open_embedder(chosen)
    assert (embedder.dimensions, problem) == (256, None)
    assert "text-embedding-3-large" in embedder.name


def test_an_entity_found_again_counts_and_gathers_aliases(plain):
    """S4.46: a longer or shorter form of a name is the same entity; each record counts once."""
    plain.remember("Yesterday we met Maria Santos in Porto.")
    assert plain.entity("Maria Santos").mention_count == 1
    plain.remember("Then Maria said that it rains.")
    found = plain.entity("maria")
    assert found == plain.entity("MARIA SANTOS")
    assert (found.name, found.type, found.mention_count) == ("Maria Santos", "person", 2)
    assert found.aliases == ("Maria",)


def test_an_alias_finds_the_records_of_its_entity(opened):
    """S4.59, S4.60: without vectors, the entity arm finds a record that uses another name."""
    chosen = Settings(timezone="UTC", embedding={"model": "none"}, retrieval={"fusion": "rrf"})
    memory = opened(embedder=None, settings=chosen)
    memory.remember("Yesterday we met Maria Santos in Porto.")
    record = memory.remember("Then Maria said that it rains.")
    found = {hit.record.id: hit.why.arms for hit in memory.search("What did Maria Santos do?")}
    assert found[record.id]["entity"].score == 1.0
    assert found[record.id]["entity"].share == pytest.approx(1 / 62)


def test_all_of_long_term_memory_is_one_file_in_wal_mode(opened, tmp_path):
    """S4.40: records, words, vectors, entities and transcripts are in one file with a log."""
    path = tmp_path / "m.db"
    memory = opened(path)
    memory.conversation("c").add("user", "Maria Santos likes tea.")
    memory.embed_pending()
    connection = memory._parts.store._connections._writer
    assert connection.execute("PRAGMA journal_mode").get == "wal"
    assert [row[1] for row in connection.execute("PRAGMA database_list")] == ["main"]
    for table in ("records", "records_fts", "vectors", "entities", "messages"):
        assert connection.execute(f"SELECT count(*) FROM {table}").get == 1  # noqa: S608 - ours


def test_links_of_records_and_entities_are_indexed_both_ways(opened, tmp_path):
    """S4.47: looking up links from either side reads an index, never the whole table."""
    path = tmp_path / "m.db"
    opened(path).close()
    with closing(apsw.Connection(str(path))) as connection:
        for column in ("record_key", "entity_key"):
            query = f"SELECT * FROM record_entities WHERE {column} = 1"  # noqa: S608 - ours
            [plan] = connection.execute(f"EXPLAIN QUERY PLAN {query}")
            assert plan[3].startswith("SEARCH"), plan


def test_the_word_index_follows_a_changed_text(plain):
    """S4.48: triggers keep the full-text index in step with inserts and updates of a text."""
    plain.remember("Ana likes tea")
    writer = plain._parts.store._connections._writer
    count = "SELECT count(*) FROM records_fts WHERE records_fts MATCH ?"
    assert [writer.execute(count, (word,)).get for word in ("tea", "juic")] == [1, 0]
    writer.execute("UPDATE records SET content = 'Ana likes juice'")
    assert [writer.execute(count, (word,)).get for word in ("tea", "juic")] == [0, 1]


def test_a_full_name_joins_the_short_one_known_before(memory):
    """Whether Mel or Melanie comes first, they are one person with one profile."""
    memory.remember("I talked to Mel yesterday, said Ana.", role="user")
    memory.remember("Hey Melanie! How was the trip?", role="user")
    assert memory.entity("Mel").id == memory.entity("Melanie").id


@pytest.mark.parametrize("query", ["car trouble", "zebra crossing", "ok", "tea", "昨天"])
def test_scores_are_between_nothing_and_all(memory, query):
    """S1.11: a score is at least 0 and at most 1, best first, however far the query is."""
    memory.remember_many(
        ["Ana likes tea", "The kiln is in the cellar", "Oslo is cold", "昨天下雨了"]
    )
    scores = [hit.score for hit in memory.search(query, limit=100)]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)

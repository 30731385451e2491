"""Requirements that no other test states on its own: defaults, limits of time, what is on disk."""

import gc
import itertools
import shutil
import sys
from contextlib import closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import apsw
import pytest
from bare_environment import run_python
from tables import each_row
from talks import alone, chatter, chosen, exchange, fill, lawful, meter, remembering, sized

from memoranda import Conversation, Settings
from memoranda.providers.opening import open_embedder
from memoranda.settings.sections import EmbeddingSettings
from memoranda.tokens.estimate import EstimatedCounter


@pytest.fixture
def counted(monkeypatch):
    """Give the texts that are counted from now on."""
    texts, count = [], EstimatedCounter.count

    def note(self, text):
        texts.append(text)
        return count(self, text)

    monkeypatch.setattr(EstimatedCounter, "count", note)
    return texts


def test_nine_of_ten_counts_are_not_made_anew_where_it_is_pruned(counted):
    """R1.5, N3.4, SM7: also where messages leave the view and markers tell their particulars."""
    chat, needed = Conversation(max_tokens=3_000), 0
    for n in range(200):
        chat.add("user", f"Is case AB{n:04} of 12 May like case XY{n:04}? It costs ${n},200.")
        needed += 1 + sum(item.id is not None for item in chat.context().receipt.included)
        chat.add("assistant", f"Case AB{n:04} is open, and Q{n:04} is closed.")
        needed += 1
    assert len(chat.prunings) > 5
    assert "Named there: " in chat.view().markers[0].text
    assert len(set(counted)) == len(counted)  # None a second time.
    particulars = [text for text in counted if text.startswith(", ")]
    assert 0 < len(counted) - len(particulars) < needed / 10


def test_a_large_message_is_read_once(counted):
    """R1.6: a megabyte is counted when it is added; a context counts only what it shows of it."""
    chat = Conversation(max_tokens=2_000)
    chat.add("user", "Read the log.")
    text = "The train to Lisbon leaves at nine. " * 30_000
    _, result = exchange(chat, "log", text)
    assert [known for known in counted if len(known) > 10_000] == [text]
    assert result.content == text
    counted.clear()
    for prompt in ("And now?", "And then?"):
        context = chat.context(prompt)
        assert context.tokens <= 2_000
        assert max(len(message["content"]) for message in context.messages) > 1_000
    assert sum(map(len, counted)) < len(text) / 20


def test_each_message_says_what_it_is():
    """R1.2, DM2: id, role, content, time, tokens, importance, tool call and tool result."""
    chat, moment = alone(), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    chat.add("user", "Never book a flight before nine.", timestamp=moment)
    chat.add("assistant", "ok")
    call, result = exchange(chat, "c1", "Error: no such flight")
    said = chat.messages
    assert [message.role for message in said] == ["user", "assistant", "assistant", "tool"]
    assert len({message.id for message in said}) == 4
    assert (said[0].content, said[0].timestamp) == ("Never book a flight before nine.", moment)
    assert all(one.timestamp <= two.timestamp for one, two in pairwise(said))
    count = EstimatedCounter().count
    spoken = [4 + count(message.content) for message in said]
    [asked] = call.tool_calls
    spoken[2] += 4 + count(asked.name) + count(asked.arguments)
    assert [message.tokens for message in said] == spoken
    assert [message.importance for message in said] == [0.7, 0.3, 0.8, 1.0]
    assert (said[2].tool_calls, said[3].tool_result) == ((asked,), result.tool_result)
    assert asked.id == result.tool_result.call_id == "c1"


def test_the_defaults_of_a_window():
    """R8.1, R8.4: all while it is half empty; then at most fifty messages, and the ten newest."""
    full = Settings(conversation={"prune_from": 0.0})
    chat, half = Conversation(settings=full), Conversation()
    narrow = Conversation(max_messages=2, settings=full)
    most = 0
    for n in range(80):
        for talk in (chat, half, narrow):
            talk.add("user", f"message {n}")
        seen, few = ([m.content for m in talk.view().messages] for talk in (chat, narrow))
        newest = [f"message {k}" for k in range(max(0, n - 9), n + 1)]
        assert seen[-10:] == few == newest
        most = max(most, len(seen))
    assert most == 50
    assert [m.content for m in half.view().messages] == [f"message {n}" for n in range(80)]


def test_long_results_give_way_before_any_of_the_newest_does():
    """R3.3: of the last ten none leaves while a long result can be shorter.

    Then the oldest do; of a turn its work with tools before its question.
    """
    chat = alone(keep_recent=10)
    chatter(chat, 20)
    chat.add("user", "Read both logs.")
    for name in ("one", "two"):
        exchange(chat, name, sized(900))
    chatter(chat, 5)
    question, *work = [message.id for message in chat.recent(10)]
    leaving = [*work[:4], question, *work[4:]]
    steps = []
    for budget in range(2_100, 100, -20):
        seen = lawful(chat, budget)
        shown = {message.id for message in seen.messages}
        kept = [known for known in leaving if known in shown]
        assert kept == leaving[10 - len(kept) :]
        if len(kept) < 10:
            assert all(item.tokens < 200 for item in seen.messages if item.role == "tool")
        step = (len(seen.shortened), len(kept))
        steps += [step] if step not in steps[-1:] else []
    assert steps[:2] == [(0, 10), (2, 10)]
    assert steps[-1][1] < 10


@each_row("strategy", ["importance", "hybrid"])
def test_the_pruning_flow_of_the_requirements(strategy):
    """PF1: above 80 % the lowest scores leave, but none of the last ten; a marker tells."""
    chat = alone(
        system="You plan trips.",
        context_limit=1_000,
        strategy=strategy,
        settings=chosen(prune_to=0.75),  # of a context of 800 tokens
    )
    said = []
    while not chat.prunings:
        text = ("The view was lovely there", "Please book the flight")[len(said) // 3 % 2]
        said.append(chat.add("user", text + " word" * (20 - meter().counter.count(text))))
    [receipt], markers = chat.prunings, chat.view().markers
    assert (receipt.trigger, receipt.before > 800) == ("automatic", True)
    out = {message.id for marker in markers for message in chat.expand(marker)}
    assert out.isdisjoint(message.id for message in said[-10:])
    old = said[1:-20]  # where no score is raised for being new, but for the first request
    left = {message.importance for message in old if message.id in out}
    kept = {message.importance for message in old if message.id not in out}
    assert (min(left), max(left), kept) == (0.5, 0.7, {0.7})
    assert receipt.after <= 600 < receipt.after + said[0].tokens + markers[0].cost
    contents = [item["content"] for item in chat.context().messages]
    assert contents[0] == "You plan trips."
    assert [text for text in contents if "removed] ..." in text] == [item.text for item in markers]


def calls(act):
    """Return how many functions are called while something is done."""
    made = 0

    def note(_frame, event, _argument):
        nonlocal made
        made += event in {"call", "c_call"}

    gc.disable()
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return made


@pytest.mark.slow
@each_row("strategy", ["rolling_window", "hybrid"])
def test_every_step_costs_the_same_at_any_length(strategy):
    """N1.1 to N1.5, S3.02: adding with its prunings, view, context and figures, by calls made."""
    chat, number = alone(context_limit=1_000, strategy=strategy), itertools.count()

    def talk(count):
        chatter(chat, count - 2)
        exchange(chat, f"call_{next(number)}")

    def measured():
        adding = sum(calls(lambda: talk(20)) for _ in range(6))
        looking = []
        for look in (chat.view, lambda: chat.context("And now?"), chat.stats):
            talk(10)
            look()
            looking.append(calls(look))
        return adding, looking

    talk(160)
    (adding, looking), pruned = measured(), len(chat.prunings)
    for _ in range(25):
        talk(20)
    later, seen = measured()
    assert len(chat.prunings) > 3 * pruned > 0
    assert later < 1.2 * adding
    assert all(one < 1.5 * before for before, one in zip(looking, seen, strict=True))


SESSION = """
from pathlib import Path
from memoranda import Conversation
chat = Conversation(system="You help.", max_messages=150)
for n in range(250):
    chat.add("user", f"Question {n}: " + f"word{n} " * 12)
    call = {"id": f"c{n}", "function": {"name": "read", "arguments": "{}"}}
    chat.add("assistant", "", tool_calls=[call])
    chat.add("tool", f"line {n} of the file; " * 20, tool_result=f"c{n}")
    chat.add("assistant", f"Answer {n}: " + f"word{n} " * 12)
    if n % 50 == 49:
        chat.context("And now?")
[peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
print(len(chat), peak.split()[1])
"""


@pytest.mark.slow
def test_a_session_of_a_thousand_messages_takes_less_than_100_megabytes():
    """N3.5: the whole process, with Python itself: all is counted, and much of it sent."""
    if not Path("/proc/self/status").exists():
        pytest.skip("this machine does not tell what a process took at most")
    done = run_python("-c", SESSION)
    messages, kibibytes = map(int, done.stdout.split())
    assert messages == 1_000
    assert kibibytes < 100_000


def test_a_text_is_stored_once(tmp_path):
    """N3.3: once in the transcript, and once as the episode that search finds; no other copy."""
    sentence = "Keep the marlinspike out of the hammock."
    with remembering(tmp_path / "m.db") as memory:
        stored = memory.conversation("c", context_limit=1_000, keep_recent=2)
        said = stored.add("user", sentence)
        fill(stored, [60] * 40)
        assert len(stored.prunings) > 1
        stored.context("And now?")
        stored.pin(said.id)
        memory.export(tmp_path / "c.jsonl", conversation="c")
        memory.embed_pending()
    held = {path.name: path.read_bytes().count(sentence.encode()) for path in tmp_path.iterdir()}
    assert {name: count for name, count in held.items() if count} == {"m.db": 2, "c.jsonl": 1}


def test_an_empty_conversation_works():
    """S3.28: reading, pruning and clearing nothing gives nothing, and no error."""
    chat = Conversation()
    chat.clear()
    assert (len(chat), chat.messages, chat.recent(3), chat.window()) == (0, (), (), ())
    assert chat.view(1).messages == ()
    assert chat.context().messages == []
    stats = chat.stats()
    assert (stats.total_tokens, stats.messages_in_context) == (chat.context().tokens, 0)
    assert stats.oldest_message is None


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
    memory.rebuild()  # A few words would wait to be indexed.
    memory.embed_pending()
    assert len(memory.entities()) == 1
    connection = memory._services.store._writer.raw
    assert connection.execute("PRAGMA journal_mode").get == "wal"
    files = {row[2] for row in connection.execute("PRAGMA database_list")} - {""}
    assert files == {str(path)}
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

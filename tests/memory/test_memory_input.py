"""Bad input: each gets an error of ours that names the value and the remedy, or works."""

from datetime import datetime

import pytest
from tables import each_row

from memoranda import Memory, errors
from memoranda.testing.embedders import HashEmbedder

NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - the fault that is tested
HUGE = 10**400
LONE = "lone \ud800 surrogate"
NUL = "a\x00b"

WRONG_CONTENT = [
    (" \n\t", "content is empty"),
    (42, "content must be text, got int: 42"),
    (NUL, r"content holds a NUL character at position 1; remove it"),
]
WRONG_ARGUMENTS = [
    ({"kind": "opinion"}, r"kind='opinion' is unknown; use one of episode, fact"),
    ({"kind": ["fact"]}, "is unknown; use one of"),
    ({"tags": "diet"}, r"tags must be a list of texts, got 'diet'; write tags=\["),
    ({"tags": ["ok", ""]}, "a tag is empty"),
    ({"tags": [7]}, "a tag must be text, got int: 7"),
    ({"metadata": "x"}, "metadata must be a mapping with text keys, got 'x'"),
    ({"metadata": {1: 2}}, "metadata must be a mapping with text keys"),
    ({"metadata": {"a": object()}}, "metadata must be plain JSON"),
    ({"metadata": {"a": float("nan")}}, "metadata must be plain JSON"),
    ({"metadata": {"a": [{NUL: 1}]}}, "metadata holds a NUL character at position 1"),
    ({"event_time": NAIVE}, r"event_time=2024-01-01T00:00:00 has no time zone; say which"),
    ({"event_time": "2024-01-01"}, "event_time must be a datetime with a time zone, got '2024"),
    ({"session": 5}, "session must be text, got int: 5"),
    ({"role": NUL}, "role holds a NUL character"),
    ({"confidence": 1.5}, r"confidence=1.5 must be a number between 0 and 1"),
    ({"confidence": "high"}, r"confidence='high' must be"),
    ({"confidence": True}, r"confidence=True must be"),
    ({"confidence": float("nan")}, r"confidence=nan must be"),
    ({"confidence": HUGE}, "must be a number between 0 and 1"),
    ({"decay_rate": -1}, r"decay_rate=-1 must be a number between 0 and infinity"),
    ({"decay_rate": float("inf")}, "decay_rate=inf must be"),
]
WRONG_SEARCHES = [
    ({"query": ""}, "query is empty"),
    ({"query": None}, "query must be text, got NoneType"),
    ({"limit": 0}, "limit=0 must be a whole number of at least 1"),
    ({"limit": "5"}, "limit='5' must be"),
    ({"limit": True}, "limit=True must be"),
    ({"limit": 2.0}, "limit=2.0 must be"),
    ({"min_score": "high"}, "min_score='high' must be a number"),
    ({"min_score": float("nan")}, "min_score=nan must be a number"),
    ({"kind": "opinion"}, "kind='opinion' is unknown"),
    ({"session": 5}, "session must be text, got int: 5"),
    ({"exclude_session": ""}, "exclude_session is empty"),
    ({"tags": "diet"}, "tags must be a list of texts"),
    ({"metadata": [1]}, "metadata must be a mapping"),
    ({"metadata": {"a": {"in": [NUL]}}}, "metadata holds a NUL character"),
    ({"since": NAIVE}, "since=2024-01-01T00:00:00 has no time zone"),
    ({"until": NAIVE}, "until=2024-01-01T00:00:00 has no time zone"),
    ({"as_of": NAIVE}, "as_of=2024-01-01T00:00:00 has no time zone"),
]


@pytest.fixture
def kept(plain):
    """A memory with one record, sound and unchanged when the test is over."""
    record = plain.remember("Ana likes tea")
    yield plain
    assert [(r.id, r.content) for r in plain.records()] == [(record.id, "Ana likes tea")]
    assert plain.verify() == []


@each_row(("content", "message"), WRONG_CONTENT)
def test_content_that_cannot_be_stored_is_refused(kept, content, message):
    """Empty, non-text and unstorable contents are named, and nothing is written."""
    record = kept.records()[0]
    for verb in (
        lambda: kept.remember(content),
        lambda: kept.remember_many(["fine", {"content": content}]),
        lambda: kept.correct(record.id, content),
        lambda: kept.remember_many(iter([{"content": content}])),
    ):
        with pytest.raises(errors.InvalidInput, match=message):
            verb()


@each_row(("arguments", "message"), WRONG_ARGUMENTS)
def test_arguments_that_cannot_be_stored_are_refused(kept, arguments, message):
    """Each impossible argument of remember is named, alone and in a list."""
    with pytest.raises(errors.InvalidInput, match=message):
        kept.remember("fine", **arguments)
    with pytest.raises(errors.InvalidInput, match=message):
        kept.remember_many(["fine", {"content": "fine", **arguments}])


@each_row(
    ("items", "message"),
    [
        ("one text", r"items must be a list, got 'one text'"),
        (["fine", 5], "item 1 must be a text or a dict with content, got 5"),
        ([{}], "item 0 must be a text or a dict with content"),
        ([{"content": "x", "colour": "red"}], "item 0: argument='colour' is unknown; use"),
    ],
)
def test_what_is_no_list_of_items_is_refused(kept, items, message):
    """One text is not a list of letters, and an unknown argument is not passed over."""
    with pytest.raises(errors.InvalidInput, match=message):
        kept.remember_many(items)


@each_row(("arguments", "message"), WRONG_SEARCHES)
def test_a_search_that_cannot_be_made_is_refused(kept, arguments, message):
    """Each impossible argument of search is named."""
    with pytest.raises(errors.InvalidInput, match=message):
        kept.search(**{"query": "tea"} | arguments)


@each_row(("id", "message"), [("", "id is empty"), (7, "id must be text, got int: 7")])
def test_what_is_no_id_is_refused(kept, id, message):
    """An id of the wrong type or form is named by every verb that takes one."""
    for verb in (kept.get, kept.history, kept.confirm, kept.forget, kept.conversation):
        with pytest.raises(errors.InvalidInput, match=message):
            verb(id)


@each_row("id", ["fact_unknown", "x" * 10_000])
def test_unknown_ids_are_nothing_or_not_found(kept, id):
    """An id that does not exist is None, or NotFound that names it and the user."""
    assert kept.get(id) is None
    assert kept.history(id) == []
    for verb in (
        lambda: kept.correct(id, "x"),
        lambda: kept.confirm(id),
        lambda: kept.forget(id),
        lambda: kept.forget(id, erase=True),
    ):
        with pytest.raises(errors.NotFound, match=r"there is no record .* for user 'ana'"):
            verb()
    with pytest.raises(errors.NotFound, match="pass the last id you got"):
        kept.records(after=id)


@each_row(
    ("verb", "message"),
    [
        (lambda m: m.records(limit=0), "limit=0 must be a whole number"),
        (lambda m: m.records(kind="opinion"), "kind='opinion' is unknown"),
        (lambda m: m.records(after=5), "after must be text, got int: 5"),
        (lambda m: m.recall(""), "prompt is empty"),
        (lambda m: m.recall("tea", budget=0), "budget=0 must be a whole number"),
        (lambda m: m.recall("tea", exclude_session=5), "exclude_session must be text"),
        (lambda m: m.entity(""), "name is empty"),
        (lambda m: m.entities(limit=None), "limit=None must be a whole number"),
        (lambda m: m.entities(type=LONE), "type holds a lone surrogate"),
        (lambda m: m.set_context("", "x"), "key is empty"),
        (lambda m: m.set_context("k", ""), "value is empty"),
        (lambda m: m.get_context(None), "key must be text"),
        (lambda m: m.as_user(""), "user is empty"),
        (lambda m: m.on("remembred", print), "did you mean remembered\\? use one of"),
        (lambda m: m.on("forgotten", "print"), "callback must be callable"),
        (lambda m: m.as_user("ana", agent=5), "agent must be text"),
        (lambda m: m.conversation("c", strategy="newest"), "strategy='newest' is unknown; use one"),
        (lambda m: m.conversation("c", keep_recent=0), "keep_recent=0 must be"),
        (lambda m: m.conversation("c", system=" "), "system is empty"),
        (lambda m: m.conversation("c", model=NUL), "model holds a NUL"),
    ],
)
def test_other_arguments_are_checked_too(kept, verb, message):
    """Every verb names what it cannot use, and writes nothing."""
    with pytest.raises(errors.InvalidInput, match=message):
        verb(kept)
    assert kept.conversations() == []


@each_row("query", ['"tea', "NEAR(tea, 5)", "content:", "(((", "\u202e\u200b"])
def test_a_query_has_no_syntax(kept, query):
    """Operators and quotes are words like any other: no error, and nothing but the records."""
    hits = kept.search(query)
    assert {hit.record.content for hit in hits} <= {"Ana likes tea"}
    kept.recall(query)


@each_row(
    ("arguments", "message"),
    [
        ({"user": ""}, "user is empty"),
        ({"user": None}, "user must be text"),
        ({"agent": ""}, "agent is empty"),
        ({"embedder": "minilm"}, "embedder='minilm' cannot be used: it has no name"),
        ({"embedder": HashEmbedder}, "embedder=.* is a class; pass an object of it"),
        ({"clock": datetime.now}, "clock=.* cannot be used: it has no now"),
        ({"settings": {"user": "ana"}}, "settings=.* cannot be used: it has no embedding"),
    ],
)
def test_a_memory_of_impossible_parts_is_not_opened(tmp_path, arguments, message):
    """What a memory is made of is checked when it is opened, not at the first search."""
    path = tmp_path / "m.db"
    with pytest.raises(errors.InvalidInput, match=message):
        Memory(path, **arguments)
    assert not path.exists()


@each_row(
    ("location", "message"),
    [
        ("s3://bucket/x", "location 's3:…' is unknown; use a file, :memory:, postgresql:"),
        ("host=h password='a tiger'", "location 'host=…' is unknown"),
        ("postgresql:/ana:tiger@host/db", "location 'postgresql:…' is unknown"),
        ("postgresq://ana:tiger@host/db", "location 'postgresq:…' is unknown"),
        ("chroma+http://ana:tiger@localhost:8000/shop", "is unknown.*chroma:///folder"),
        ("chroma:/srv/memory", "is unknown; use a file"),
        ("chroma:///", "is unknown.*chroma:///folder"),
        ("chroma://~nobody-of-this-name/memory", "cannot be used"),
        ("", "location='' is not a path; use a file or :memory:"),
        (5, "location=5 is not a path"),
    ],
)
def test_a_location_that_is_none_is_refused(location, message, wordless):
    """A location of an unknown kind is named, without a password that it holds."""
    with pytest.raises(errors.ConfigError, match=message) as raised:
        Memory(location, settings=wordless)
    assert "tiger" not in str(raised.value)


def test_another_embedding_model_switches_vectors_off_until_reembedded(tmp_path, opened):
    """Other dimensions than the file's: searching goes on, stats say it, reembed repairs it."""
    path = tmp_path / "m.db"
    with Memory(path, user="ana", embedder=HashEmbedder(64)) as first:
        record = first.remember("Ana likes green tea")
        first.embed_pending()
    memory = opened(path, embedder=HashEmbedder(32))
    hits = memory.search("tea")
    assert [hit.record.id for hit in hits] == [record.id]
    assert "vector" not in hits[0].why.arms
    said = memory.stats().vectors
    assert "64 dimensions" in said
    assert "(32)" in said
    assert "reembed" in said
    fresh = memory.remember("Ana owns a kettle")
    assert memory.stats().pending_vectors == 1
    assert memory.reembed() == 2
    assert memory.stats().vectors == "hash (32 dimensions)"
    assert memory.stats().pending_vectors == 0
    for query in ("green tea", "kettle"):
        assert "vector" in memory.search(query)[0].why.arms
    assert memory.verify() == []
    assert memory.get(fresh.id) == fresh


def talk(memory):
    """Return a conversation of a memory."""
    return memory.conversation("c")


@each_row(
    ("use", "meant"),
    [
        (lambda m: m.conversation("c", strategy="rolling_windw"), "rolling_window"),
        (lambda m: m.conversation("c", max_mesages=5), "max_messages"),
        (lambda m: talk(m).add("usr", "Hello."), "user"),
        (lambda m: talk(m).on("prunned", print), "pruned"),
        (lambda m: talk(m).dump("responsess"), "responses"),
        (lambda m: talk(m).context("Hello.", form="antropic"), "anthropic"),
        (lambda m: m.maintain(["decya"]), "decay"),
        (lambda m: m.import_(__file__, format="chatgtp"), "chatgpt"),
        (lambda m: m.remember("tea", kind="fcat"), "fact"),
        (lambda m: m.tools().find("serch_memories"), "search_memories"),
    ],
)
def test_a_wrong_name_is_answered_by_the_nearest_right_one(memory, use, meant):
    """Of whatever it is a name; nothing is stored under it."""
    with pytest.raises(errors.InvalidInput, match=rf"(did you mean|write) {meant}\b"):
        use(memory)
    assert memory.count() == 0

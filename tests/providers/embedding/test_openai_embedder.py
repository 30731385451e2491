"""OpenAIEmbedder against a real server that speaks the format."""

import json

import numpy as np
import pytest
from model_server import cut_off, failing, raw, stalling

from memoranda.errors import ConfigError, EmbeddingError, MemorandaError, ModelUnavailable
from memoranda.providers.embedding.openai_embedder import OpenAIEmbedder


def vector(text, width=4):
    """A vector that tells the text by its direction, not of unit length."""
    return [float(1 + len(text) * (place + 1) % 7) for place in range(width)]


def echoing(width=4):
    """Answer every request by its own texts, out of order."""

    def act(handler, body):
        data = [
            {"object": "embedding", "index": index, "embedding": vector(text, width)}
            for index, text in enumerate(body["input"])
        ]
        used = {"prompt_tokens": 1, "total_tokens": 1}
        whole = {"object": "list", "model": "model", "data": data[::-1], "usage": used}
        handler.send(200, json.dumps(whole).encode())

    return act


@pytest.fixture
def connect(server):
    """Make embedders of the server, which answers properly; they are closed after the test."""
    made = []
    server.play(echoing())

    def make(url=server.url, **options):
        made.append(OpenAIEmbedder("model", base_url=f"{url}/v1", **{"dimensions": 4} | options))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def test_rows_follow_the_texts_though_the_server_answers_out_of_order(connect, server):
    """Order by index, unit length, float32, over several requests."""
    texts = ["a" * count for count in range(1, 131)]
    rows = connect().embed(texts)
    expected = np.array([vector(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected, atol=1e-6)
    assert [len(each.body["input"]) for each in server.received] == [128, 2]


def test_the_request_is_what_servers_understand(connect, server):
    """Model, dimensions and plain floats are asked for, under /v1/embeddings."""
    connect().embed(["你好 🎉"])
    [received] = server.received
    assert received.path == "/v1/embeddings"
    assert received.body == {
        "model": "model",
        "input": ["你好 🎉"],
        "dimensions": 4,
        "encoding_format": "float",
    }
    assert connect().embed([]).shape == (0, 4)
    assert len(server.received) == 1
    # Texts that the servers refuse are sent in a form they take.
    assert connect().embed(["", "\ud800"]).shape == (2, 4)
    assert server.received[1].body["input"] == [" ", "?"]
    # And a secret is sent only where the settings say so.
    for masks, sent in ((True, "My PIN is […]."), (False, "My PIN is 4711.")):
        connect(masks=masks).embed(["My PIN is 4711."])
        assert server.received[-1].body["input"] == [sent]


def test_a_key_goes_where_it_was_meant_to(connect, server, monkeypatch):
    """A given key is sent; that of the environment to the server of the environment alone."""
    with pytest.raises(ConfigError, match=r"set OPENAI_API_KEY or embedding\.api_key"):
        OpenAIEmbedder("model", dimensions=4)
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    connect().embed(["a"])
    connect(api_key="mine").embed(["a"])
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    embedder = OpenAIEmbedder("text-embedding-3-large", dimensions=4)
    embedder.embed(["a"])
    embedder.close()
    assert embedder.name == "text-embedding-3-large@4"
    keys = [each.headers["authorization"] for each in server.received]
    assert keys == ["Bearer no-key", "Bearer mine", "Bearer from-env"]


@pytest.mark.parametrize(
    ("status", "kind", "remedy"),
    [
        (400, EmbeddingError, "check the name of the model"),
        (401, EmbeddingError, "embedding.api_key or OPENAI_API_KEY"),
        (404, EmbeddingError, "embedding.base_url"),
        (429, ModelUnavailable, "check the quota"),
        (500, ModelUnavailable, "try again later"),
    ],
)
def test_a_refusal_says_what_to_do(connect, server, status, kind, remedy):
    """Status, the server's words and the remedy are in one message; nothing is sent twice."""
    server.play(failing(status))
    with pytest.raises(EmbeddingError) as caught:
        connect().embed(["a"])
    assert type(caught.value) is kind
    for words in (f"answered {status}", "the server's own words", remedy):
        assert words in str(caught.value)
    assert len(server.received) == 1


def test_a_server_that_does_not_answer_is_an_unavailable_model(connect, server, unused_url):
    """Cut off, silent until the time-out, or not there: which is named, with what to do."""
    server.play(cut_off)
    with pytest.raises(ModelUnavailable, match="no answer from"):
        connect().embed(["a"])
    server.play(stalling)
    with pytest.raises(ModelUnavailable, match="no answer"):
        connect(timeout=0.1).embed(["a"])
    with pytest.raises(ModelUnavailable, match="start the server") as caught:
        connect(unused_url).embed(["a"])
    assert unused_url in str(caught.value)
    with pytest.raises(ConfigError, match="base_url"):
        OpenAIEmbedder("model", dimensions=4, base_url="http://[::1", api_key="k")
    # None of them tells the password that an address may hold.
    told = [str(caught.value)]
    for url in (unused_url.replace("//", "//ana:tiger@"), "http://ana:tiger@host:port"):
        with pytest.raises(MemorandaError, match="//ana:…@") as caught:
            connect(url).embed(["a"])
        told.append(str(caught.value))
    assert "tiger" not in " ".join(told)


def test_an_answer_of_another_shape_is_an_embedding_error(connect, server):
    """Whatever comes back, no exception of the SDK or of numpy gets out."""
    embedder = connect()
    server.play(echoing(width=3))
    wrong = r"shape \(1, 3\) for 1 texts, 4 dimensions were expected"
    with pytest.raises(EmbeddingError, match=wrong):
        embedder.embed(["a"])
    data = [
        None,
        [],
        [{"index": 0, "embedding": "AAAA"}],
        [{"index": 0, "embedding": [[1, 2], [3]]}],
        [{"index": 0, "embedding": [0, 0, 0, 0]}],
        [{"index": 0}],
        [{"index": 0, "embedding": [1, None, 0, 0]}],
        ["text"],
    ]
    bodies = [json.dumps({"data": each}).encode() for each in data]
    for body in (b"not json", b"{", b"[]", b"null", *bodies):
        server.play(raw(body))
        with pytest.raises(EmbeddingError):
            embedder.embed(["a"])

"""OpenAIEmbedder against a real server that speaks the format."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoranda.errors import ConfigError, EmbeddingError, ModelUnavailable
from memoranda.providers.embedding.openai_embedder import OpenAIEmbedder

ERROR = {"error": {"message": "the server's own words", "type": "t", "param": None, "code": None}}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """The settings of the machine's user play no part."""
    for name in ("API_KEY", "BASE_URL", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def connect():
    """Make embedders that are closed after the test."""
    made = []

    def make(url, **options):
        made.append(OpenAIEmbedder("model", base_url=f"{url}/v1", **{"dimensions": 4} | options))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


def reply(handler, status, body, **headers):
    """Send ``body`` as JSON, or as it is when it is text."""
    text = body if isinstance(body, str) else json.dumps(body)
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(text.encode())))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(text.encode())


def vector(text, width=4):
    """A vector that tells the text by its direction, not of unit length."""
    return [float(1 + len(text) * (place + 1) % 7) for place in range(width)]


def embeddings(texts, width=4):
    """The body that answers ``texts``, out of order."""
    data = [
        {"object": "embedding", "index": index, "embedding": vector(text, width)}
        for index, text in enumerate(texts)
    ]
    return {
        "object": "list",
        "model": "model",
        "data": data[::-1],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def echo(requests, width=4):
    """Answer every request by its own texts."""
    return lambda handler, number: reply(
        handler, 200, embeddings(json.loads(requests()[number][2])["input"], width)
    )


@pytest.fixture
def echo_server(serve):
    """A server that answers properly; gives ``(url, requests)``."""
    started = {}
    started["url"], started["requests"] = serve(echo(lambda: started["requests"]))
    return started["url"], started["requests"]


def test_rows_follow_the_texts_though_the_server_answers_out_of_order(connect, echo_server):
    """Order by index, unit length, float32, over several requests."""
    url, requests = echo_server
    texts = ["a" * count for count in range(1, 131)]
    rows = connect(url).embed(texts)
    expected = np.array([vector(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected, atol=1e-6)
    assert [len(json.loads(body)["input"]) for *_, body in requests] == [128, 2]


def test_the_request_is_what_servers_understand(connect, echo_server):
    """Model, dimensions and plain floats are asked for, under /v1/embeddings."""
    url, requests = echo_server
    connect(url).embed(["你好 🎉"])
    path, headers, body = requests[0]
    assert path == "/v1/embeddings"
    assert json.loads(body) == {
        "model": "model",
        "input": ["你好 🎉"],
        "dimensions": 4,
        "encoding_format": "float",
    }
    assert headers["authorization"] == "Bearer no-key"


def test_a_key_goes_where_it_was_meant_to(connect, echo_server, monkeypatch):
    """A given key is sent; the one of the environment never goes to another server."""
    url, requests = echo_server
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    connect(url).embed(["a"])
    connect(url, api_key="mine").embed(["a"])
    assert [headers["authorization"] for _, headers, _ in requests] == [
        "Bearer no-key",
        "Bearer mine",
    ]


def test_the_environment_names_server_and_key(echo_server, monkeypatch):
    """Without arguments the usual variables decide."""
    url, requests = echo_server
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    embedder = OpenAIEmbedder(dimensions=4)
    embedder.embed(["a"])
    embedder.close()
    assert requests[0][1]["authorization"] == "Bearer from-env"
    assert embedder.name == "text-embedding-3-large@4"


def test_no_key_for_the_hosted_server_is_said_at_once():
    """Before any request, with the three ways out."""
    with pytest.raises(ConfigError, match=r"set OPENAI_API_KEY or embedding\.api_key"):
        OpenAIEmbedder()


def test_empty_text_and_lone_surrogates_have_rows(connect, echo_server):
    """Texts that the servers refuse are sent in a form they take."""
    url, requests = echo_server
    assert connect(url).embed([]).shape == (0, 4)
    assert not requests
    assert connect(url).embed(["", "\ud800"]).shape == (2, 4)
    assert json.loads(requests[0][2])["input"] == [" ", "?"]


def test_threads_share_a_client(connect, echo_server):
    """Concurrent calls each get their own rows."""
    embedder = connect(echo_server[0])
    texts = ["x" * length for length in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    assert np.allclose(rows, embedder.embed(texts), atol=1e-6)


def test_another_number_of_dimensions_names_both(connect, serve):
    """A server with another model is noticed before a vector is stored."""
    started = {}
    url, started["requests"] = serve(echo(lambda: started["requests"], width=3))
    with pytest.raises(
        EmbeddingError, match=r"shape \(1, 3\) for 1 texts, 4 dimensions were expected"
    ):
        connect(url).embed(["a"])


REFUSALS = {
    400: (EmbeddingError, "check 'model'"),
    401: (EmbeddingError, "check embedding.api_key or OPENAI_API_KEY"),
    404: (EmbeddingError, "check the name of the model and embedding.base_url"),
    429: (ModelUnavailable, "wait, or check the quota"),
    500: (ModelUnavailable, "try again later"),
}


def test_a_refusal_says_what_to_do(connect, serve):
    """Status, the server's words and the remedy are in one message; nothing is sent twice."""
    statuses = list(REFUSALS)
    url, requests = serve(lambda handler, number: reply(handler, statuses[number], ERROR))
    embedder = connect(url)
    for status, (kind, remedy) in REFUSALS.items():
        with pytest.raises(EmbeddingError) as caught:
            embedder.embed(["a"])
        assert type(caught.value) is kind
        for words in (f"answered {status}", "the server's own words", remedy):
            assert words in str(caught.value)
    assert len(requests) == len(REFUSALS)


def test_a_cut_connection_is_an_unavailable_model(connect, serve):
    """An answer that ends in the middle is never taken for a whole one."""

    def answer(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"data": [')

    url, _ = serve(answer)
    with pytest.raises(ModelUnavailable, match="no answer from"):
        connect(url).embed(["a"])


def test_an_unreachable_server_is_named(connect, unused_url):
    """The address and what to do about it."""
    with pytest.raises(ModelUnavailable, match="start the server") as caught:
        connect(unused_url).embed(["a"])
    assert unused_url in str(caught.value)


def test_a_silent_server_ends_by_the_timeout(connect, serve):
    """The call does not outlast its timeout."""
    released = threading.Event()
    url, _ = serve(lambda *_: released.wait(20))
    try:
        with pytest.raises(ModelUnavailable, match="no answer"):
            connect(url, timeout=0.1).embed(["a"])
    finally:
        released.set()


ODD_ANSWERS = (
    "not json",
    "{",
    "[]",
    "null",
    {"data": None},
    {"data": []},
    {"data": [{"index": 1, "embedding": [1, 0, 0, 0]}]},
    {"data": [{"index": 0, "embedding": "AAAA"}]},
    {"data": [{"index": 0, "embedding": [[1, 2], [3]]}]},
    {"data": [{"index": 0, "embedding": [0, 0, 0, 0]}]},
    {"data": [{"index": 0}]},
    {"data": [{"index": 0, "embedding": [1, None, 0, 0]}]},
    {"data": [{"index": [0], "embedding": [1, 0, 0, 0]}]},
    {"data": ["text"]},
)


def test_an_answer_of_another_shape_is_an_embedding_error(connect, serve):
    """Whatever comes back, no exception of the SDK or of numpy gets out."""
    url, _ = serve(lambda handler, number: reply(handler, 200, ODD_ANSWERS[number]))
    embedder = connect(url)
    for _ in ODD_ANSWERS:
        with pytest.raises(EmbeddingError):
            embedder.embed(["a"])


def test_a_base_url_that_is_no_address_is_refused():
    """A bad address is an error of the settings."""
    with pytest.raises(ConfigError, match="base_url"):
        OpenAIEmbedder(base_url="http://[::1", api_key="k")

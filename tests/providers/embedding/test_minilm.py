"""MiniLM computes what the published model computes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.errors import EmbeddingError, InvalidInput, ModelUnavailable
from memoranda.providers.embedding.local_model import (
    LOADED,
    MOST_TOKENS,
    TOKEN_DIMENSIONS,
    TOKENS_PER_BATCH,
    batches,
)
from memoranda.providers.embedding.minilm import GRAPH, MiniLM

ROOT = Path(__file__).parents[3]
LONG = "Ana told me about her trip to Lisbon, the food and the late flight. " * 40
TEXTS = [
    "Ana is vegetarian and never flies before nine.",
    "安娜是素食者。九点之前从不坐飞机。",
    "🎉🛫 👩‍👩‍👧‍👦 see you at 9!",
    "",
    "a",
    "Ünïcödé naïveté — Straße, مرحبا بالعالم, こんにちは",
    LONG,
]
UNREAD = TEXTS[1:3] + TEXTS[5:6]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("Who is Ana?", True),
        ("Who is สมชาย?", False),
        ("When did 王伟 visit the office in Lisbon?", False),
        ("Привет, как дела", False),
        ("Where is the 🎂?", False),
        ("Łukasz lives in Çeşme", True),
        ("E_CONN_42 x9f3-77aa", True),
        ("?!", True),
    ],
)
def test_a_question_is_read_where_all_of_its_words_are_known(minilm, text, known):
    """What is unknown of it is mostly the name that is asked for; single letters are unknown."""
    [read] = minilm.embed_tokens([text], query=True)
    assert read.vector.any() == known
    assert (len(read.tokens) > 0) == known


def test_a_text_is_read_where_half_of_it_is_known(minilm):
    """Of a mixed line the tokens that are known have vectors, and no others."""
    [read, unread] = minilm.embed_tokens(
        ["We met 王伟 in Lisbon yesterday 🎉", "王伟住在里斯本 now"]
    )
    assert read.vector.any()
    assert read.spans == [(3, 6), (13, 19), (20, 29)]
    assert not unread.vector.any()
    assert not len(unread.tokens)


def test_text_up_to_256_tokens_counts_and_no_more(minilm):
    """The tokenizer's own limit of 128 is lifted; what comes after 256 tokens is cut."""
    words = ["word"] * 253
    cut = minilm.embed([" ".join([*words, "lion"]), " ".join([*words, "car"])])
    assert not np.allclose(cut[0], cut[1], atol=1e-6)
    cut = minilm.embed([" ".join([*words, "end", "lion"]), " ".join([*words, "end", "car"])])
    assert np.allclose(cut[0], cut[1], atol=1e-6)


def test_rows_are_float32_of_unit_length_in_the_order_of_the_texts(minilm):
    """The port's promise on shape, type, length and order."""
    vectors = minilm.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), minilm.dimensions)
    read = [text not in UNREAD for text in TEXTS]
    assert np.allclose(np.linalg.norm(vectors, axis=1), read, atol=1e-6)
    one_by_one = np.concatenate([minilm.embed([text]) for text in TEXTS])
    assert np.allclose(vectors, one_by_one, atol=1e-5)


def test_the_tokens_of_a_text_come_with_its_vector(minilm):
    """One pass gives both: the same vector as ever, and bytes for each telling token."""
    read = minilm.embed_tokens(TEXTS)
    assert np.allclose([each.vector for each in read], minilm.embed(TEXTS), atol=1e-6)
    for each in read:
        assert each.tokens.dtype == np.int8
        assert each.tokens.shape == (len(each.spans), TOKEN_DIMENSIONS)
        assert len(each.spans) <= MOST_TOKENS
    found = [TEXTS[0][start:end] for start, end in read[0].spans]
    assert "".join(found).startswith("Anavegetarian")
    assert not {"is", "and", "."} & set(found)


def test_a_token_is_read_in_its_context(minilm):
    """The same word has another vector in another sentence, and the same in the same one."""
    river, money, again, asked = minilm.embed_tokens(
        ["the bank of a river", "the bank lends money", "the bank of a river", "Who is it?"]
    )
    units = [
        each.tokens[0] / np.linalg.norm(each.tokens[0].astype(float)) for each in (river, money)
    ]
    assert units[0] @ units[1] < 0.9
    assert (river.tokens == again.tokens).all()
    # A text of function words alone keeps them: whoever asks so asks something.
    assert len(asked.spans) == len(asked.tokens) > 0


def test_a_score_is_of_its_pair_alone(minilm):
    """Other texts, their lengths and their order change no score, and any text has one."""
    texts = [LONG, *TEXTS, "the late flight \ud800"]
    scores = minilm.score("When does Ana fly?", texts)
    alone = [minilm.score("When does Ana fly?", [each])[0] for each in texts]
    assert scores == pytest.approx(alone, abs=0.3)
    assert scores[texts.index(TEXTS[0])] > scores[texts.index("")]
    assert minilm.score("When does Ana fly?", []) == []


def test_nothing_gives_no_rows(minilm):
    """No texts are an empty array of the right width; a bare string is a mistake, no letters."""
    assert minilm.embed([]).shape == (0, 384)
    with pytest.raises(InvalidInput, match="list of strings"):
        minilm.embed("hello")


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_categories=()), max_size=40), max_size=6))
def test_any_unicode_is_embedded(minilm, texts):
    """Whatever the characters, lone surrogates too, a text has a unit row, or one of zeros."""
    vectors = minilm.embed(texts)
    assert vectors.shape == (len(texts), 384)
    assert all(abs(length - round(length)) < 1e-5 for length in np.linalg.norm(vectors, axis=1))


@given(lengths=st.lists(st.integers(2, 256), max_size=40))
def test_batches_hold_every_text_once_among_its_like(lengths):
    """Batches run from short to long texts, and none is larger than the limit allows."""
    made = list(batches(lengths))
    in_order = [place for batch in made for place in batch]
    assert sorted(in_order) == list(range(len(lengths)))
    assert [lengths[place] for place in in_order] == sorted(lengths)
    for batch in made:
        assert len(batch) * max(lengths[place] for place in batch) <= TOKENS_PER_BATCH


def test_missing_files_say_what_to_run_and_may_come_later(tmp_path, published):
    """The error names folder and remedy; the same embedder works once the files are there."""
    embedder = MiniLM(tmp_path)
    with pytest.raises(ModelUnavailable, match="memoranda config models pull") as caught:
        embedder.embed(["a"])
    assert str(tmp_path) in str(caught.value)
    for path in (published.weights, published.tokenizer):
        (tmp_path / path.name).symlink_to(path)
    assert embedder.embed(["a"]).shape == (1, 384)


def test_a_runtime_that_fails_is_an_embedding_error(published, monkeypatch, tmp_path):
    """No exception of the runtime gets out, and the message says what to do."""
    broken = tmp_path / "minilm.onnx"
    broken.write_bytes(GRAPH.read_bytes()[:1000])
    monkeypatch.setattr("memoranda.providers.embedding.minilm.GRAPH", broken)
    with pytest.raises(EmbeddingError, match="pip install --upgrade") as caught:
        MiniLM(published.weights.parent, threads=3).embed(["a"])  # Loaded for this test alone.
    assert not isinstance(caught.value, ModelUnavailable)


def test_the_shipped_graph_is_what_the_script_builds(tmp_path):
    """The binary in the package can be made again from its source, node by node."""
    onnx = pytest.importorskip("onnx")
    built = tmp_path / "built.onnx"
    script = ROOT / "scripts" / "build_minilm_graph.py"
    subprocess.run([sys.executable, str(script), str(built)], check=True, capture_output=True)  # noqa: S603  # our own script
    shipped, fresh = (onnx.load(path, load_external_data=False) for path in (GRAPH, built))
    assert shipped == fresh
    assert GRAPH.stat().st_size < 40_000


IMPORTING = """
import sys
from importlib import import_module
from pathlib import Path
from memoranda.errors import MissingExtra

room = "memoranda.providers.embedding"
import_module(f"{room}.minilm").MiniLM()
import_module(f"{room}.multilingual").MultilingualE5()
assert not {"onnxruntime", "tokenizers", "numpy", "openai", "torch"} & set(sys.modules)
pull = "'memoranda[local]' && memoranda config models pull"
for name, absent, end in (
    ("minilm.MiniLM", "onnxruntime", pull),
    ("minilm.MiniLM", "tokenizers", pull),
    ("multilingual.MultilingualE5", "onnxruntime", "'memoranda[multilingual]'"),
    ("openai_embedder.OpenAIEmbedder", "openai", "'memoranda[openai]'"),
):
    sys.modules[absent] = None
    module, _, embedder = name.partition(".")
    try:
        getattr(import_module(f"{room}.{module}"), embedder)()
    except MissingExtra as error:
        assert str(error).endswith(f": pip install {end}"), error
    else:
        raise SystemExit(f"made {name} without {absent}")
    del sys.modules[absent]
try:
    import_module(f"{room}.local_model").open_session(Path("nowhere.onnx"), 1, print)
except FileNotFoundError:
    assert "onnxruntime" in sys.modules
else:
    raise SystemExit("loaded a network of no file")
"""


def test_who_needs_no_model_loads_none_and_a_missing_library_names_what_brings_it(tmp_path):
    """Nor does loading one leave an id of the device or a record of use in the user's home."""
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "PATH": os.environ["PATH"]}
    subprocess.run(  # noqa: S603 - this Python, and our own program
        [sys.executable, "-c", IMPORTING], env=home, cwd=ROOT, check=True, timeout=120
    )
    assert list(tmp_path.iterdir()) == []


def test_all_embedders_and_threads_share_one_loaded_model(published, minilm):
    """One session per files and threads, right for all; none after the last of them closes."""
    folder = published.weights.parent
    expected = minilm.embed(TEXTS[:3])
    first, second, other = MiniLM(folder), MiniLM(folder), MiniLM(folder, threads=2)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda each: each.embed(TEXTS[:3]), [first, second, other] * 3))
    assert all(np.allclose(result, expected, atol=1e-5) for result in results)
    session = first._loaded().session
    assert second._loaded().session is session
    assert other._loaded().session is not session
    key = next(key for key, model in LOADED.items() if model.session is other._loaded().session)
    first.close()
    assert second._loaded().session is session
    assert second.embed(["a"]).shape == (1, 384)
    other.close()
    assert key not in LOADED
    assert other.embed(["a"]).shape == (1, 384)
    other.close()

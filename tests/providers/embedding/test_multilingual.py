"""multilingual-e5-small cuts, reads and compares texts in many languages."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda.errors import MissingExtra, ModelUnavailable
from memoranda.providers.embedding import model_files
from memoranda.providers.embedding.local_model import MOST_TOKENS, TOKEN_DIMENSIONS
from memoranda.providers.embedding.multilingual import GRAPH, WEIGHTS, MultilingualE5

ROOT = Path(__file__).parents[3]
FACTS = {
    "de": ["Ich bin gegen Nüsse allergisch.", "Das Auto steht in der Tiefgarage."],
    "es": ["Soy alérgica a los frutos secos.", "El coche está en el garaje subterráneo."],
    "ja": ["私はナッツのアレルギーです。", "車は地下駐車場にあります。"],
    "zh": ["我对坚果过敏。", "车停在地下车库里。"],
    "ar": ["لدي حساسية من المكسرات", "السيارة في المرآب تحت الأرض"],
}
QUESTIONS = ["What am I allergic to?", "Where is the car parked?"]


# As the published tokenizer cuts them.
@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The train was late", ["The", "train", "was", "late"]),
        ("unbelievably", ["un", "beli", "eva", "bly"]),
        ("我姐姐是护士", ["我", "姐姐", "是", "护士"]),
        ("ขอบคุณ สมชาย", ["ขอบคุณ", "", "สม", "ชาย"]),
        ("ﬁnd   Ⅷ", ["ﬁnd", "Ⅷ"]),
        ("", []),
    ],
)
def test_the_most_likely_pieces_are_those_of_the_text(multilingual, text, pieces):
    """Each says where in the text it stands, in one form or another; spaces are no pieces."""
    found = multilingual._loaded().tokens(text)
    assert [text[slice(*token.span)] for token in found] == pieces
    assert all(token.known for token in found)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_categories=()), max_size=40), max_size=6))
def test_any_unicode_is_embedded(multilingual, texts):
    """Whatever the characters, a text has a unit row or one of zeros, and tokens inside it."""
    for text, read in zip(texts, multilingual.embed_tokens(texts), strict=True):
        length = float(np.linalg.norm(read.vector))
        assert abs(length - round(length)) < 1e-5
        assert read.tokens.shape == (len(read.spans), TOKEN_DIMENSIONS)
        assert len(read.spans) <= MOST_TOKENS
        assert all(0 <= start < end <= len(text) for start, end in read.spans)


@pytest.mark.parametrize("language", FACTS)
def test_a_question_is_nearest_to_its_answer_in_another_language(multilingual, language):
    """Nearer than to a text in its own language, too: no direction tells the language."""
    asked, told = multilingual.embed(QUESTIONS), multilingual.embed(FACTS[language])
    english = multilingual.embed(["I water the plants on Mondays."])
    alike = asked @ np.concatenate([told, english]).T
    assert alike.argmax(axis=1).tolist() == [0, 1]


def test_what_the_model_does_not_know_is_not_read(multilingual):
    """A script that it has no pieces of."""
    [unread, read] = multilingual.embed_tokens(["ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", "สมชาย"])
    assert not unread.vector.any()
    assert not len(unread.tokens)
    assert read.vector.any()


def test_without_its_extra_or_with_another_file_it_says_what_to_do(tmp_path, monkeypatch):
    """Nothing is used that is not the published file, by its hash."""
    with pytest.raises(ModelUnavailable, match="does not hold e5-small"):
        MultilingualE5.find(tmp_path)
    (tmp_path / WEIGHTS.name).write_bytes(b"E5S1")
    with pytest.raises(ModelUnavailable, match=r"not the published .*memoranda\[multilingual\]"):
        MultilingualE5(tmp_path).embed(["a"])

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(model_files, "distribution", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'memoranda\[multilingual\]'"):
        MultilingualE5.find()


@pytest.mark.slow
def test_the_shipped_graph_is_what_the_script_builds(tmp_path, multilingual):
    """Node by node; what it subtracts was measured with the model, so it is nearly the same."""
    onnx = pytest.importorskip("onnx")
    assert multilingual.name == "multilingual-e5-small"
    built = tmp_path / "built.onnx"
    script = ROOT / "scripts" / "build_multilingual_graph.py"
    subprocess.run([sys.executable, str(script), str(built)], check=True, capture_output=True)  # noqa: S603  # our own script
    shipped, fresh = (onnx.load(path, load_external_data=False).graph for path in (GRAPH, built))
    assert shipped.node == fresh.node
    for mine, other in zip(shipped.initializer, fresh.initializer, strict=True):
        if "_mean" in mine.name:
            pair = [onnx.numpy_helper.to_array(each) for each in (mine, other)]
            assert np.allclose(*pair, atol=0.01)
        elif "_languages" not in mine.name:
            assert mine == other
    assert GRAPH.stat().st_size < 70_000

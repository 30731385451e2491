"""The embedder for tests: deterministic, and alike for texts that are alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.errors import InvalidInput
from memoranda.testing.embedders import HashEmbedder


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=())), max_size=5),
    dimensions=st.integers(1, 80),
)
def test_every_text_has_one_unit_row(texts, dimensions):
    """Whatever the characters and the width, rows are float32 of length one."""
    rows = HashEmbedder(dimensions).embed(texts)
    assert rows.shape == (len(texts), dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_vectors_are_the_same_in_every_process():
    """Python's random hash seed plays no part."""
    (row,) = HashEmbedder(6).embed(["Ana is vegetarian 安娜"])
    assert np.allclose(row, [-0.4082, 0.5774, -0.4082, 0, 0.4082, -0.4082], atol=1e-3)


@each_row(
    ("text", "alike", "unlike"),
    [
        ("Ana is vegetarian", "ana was a VEGETARIAN!", "the train leaves at nine"),
        ("flights to Lisbon", "a flight to Lisbon", "my dog barks loudly"),
        ("安娜是素食者", "她是素食者吗", "火车九点出发"),
    ],
)
def test_shared_words_and_parts_of_words_make_texts_alike(text, alike, unlike):
    """Nearness follows what is shared, in languages without spaces too."""
    first, near, far = HashEmbedder(256).embed([text, alike, unlike])
    assert first @ near > first @ far + 0.2


def test_name_and_dimensions_are_those_given():
    """Two fakes can stand for two models; a bare string and an impossible width are refused."""
    embedder = HashEmbedder(8, name="other")
    assert (embedder.name, embedder.dimensions) == ("other", 8)
    assert (HashEmbedder().name, HashEmbedder().dimensions) == ("hash", 64)
    with pytest.raises(InvalidInput, match="list of strings"):
        HashEmbedder().embed("text")
    with pytest.raises(InvalidInput, match="dimensions=0 must"):
        HashEmbedder(0)

"""Hits are ordered by what a model reads, and by their places in the search."""

import pytest
from memory_fixtures import no_settings_of_this_machine, opened

from memoranda import errors
from memoranda.memory import services_of
from memoranda.providers.reranking import MOST_READ, PLACE, SHARE, rerank
from memoranda.testing.embedders import HashEmbedder

__all__ = ["no_settings_of_this_machine", "opened"]


class ReadingEmbedder(HashEmbedder):
    """An embedder that scores answers, too: by the number at their end, unless it fails."""

    def score(self, question, texts):
        """Return the numbers."""
        if question == "fail":
            raise errors.EmbeddingError("no")
        return [float(text.rpartition(" ")[2]) for text in texts]


@pytest.fixture
def found(opened):
    """A memory, and what a search of it finds: notes that end in numbers from 0 on."""
    memory = opened(embedder=ReadingEmbedder())
    memory.remember_many([f"note of tea {number}" for number in range(MOST_READ + 2)])
    return memory, memory.search("tea", limit=MOST_READ + 2)


def test_what_is_read_and_the_place_in_the_search_order_hits(found):
    """The first so many are read, none of them is lost, and their scores tell what was read."""
    _, hits = found
    read = rerank(ReadingEmbedder(), "tea?", hits)
    said = {hit.record.id: float(hit.record.content.rpartition(" ")[2]) for hit in hits}
    before = {hit.record.id: (place, hit.score) for place, hit in enumerate(hits[:MOST_READ], 1)}
    assert {hit.record.id for hit in read} == before.keys()
    values = [said[each.record.id] + PLACE / before[each.record.id][0] for each in read]
    assert values == sorted(values, reverse=True)
    for hit in read:
        added = said[hit.record.id] / SHARE
        assert hit.score == pytest.approx(before[hit.record.id][1] + added)


@pytest.mark.parametrize("question", ["Wo ist mein Tee?", "fail"])
def test_where_no_model_reads_the_question_the_order_stays(found, opened, question):
    """In another language than English, where it fails, and where there is none."""
    memory, hits = found
    assert services_of(memory).rerank(question, hits) == hits
    assert services_of(memory).rerank("Where is my tea?", hits) != hits
    plain = opened(embedder=HashEmbedder())
    assert services_of(plain).rerank("Where is my tea?", hits) == hits
    assert services_of(memory).rerank("Where is my tea?", []) == []

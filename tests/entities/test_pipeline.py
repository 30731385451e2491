"""The pipeline of providers: overlaps, strategies, failures, and what is missing."""

import logging

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.entities.pipeline import REMEDIES, EntityPipeline, EntityReading, resolve_overlaps
from memoranda.entities.rules import RuleExtractor
from memoranda.errors import ConfigError, LLMError
from memoranda.model.models import Mention

TEXT = "Ana Bell met Bo in Rio"
STRATEGIES = {"fast": ("regex",), "accurate": ("regex", "spacy", "llm")}


def at(name: str, type: str = "person", confidence: float = 0.8, text: str = TEXT) -> Mention:
    """Return the mention of the first place where ``name`` stands."""
    start = text.index(name)
    return Mention(name, type, start, start + len(name), confidence)


class Fixed:
    """Finds what it was told, or raises it; counts how often it was asked."""

    def __init__(self, *found: Mention, error: Exception | None = None) -> None:
        """Find ``found``, or raise ``error``."""
        self.found, self.error, self.asked = list(found), error, 0

    def extract(self, text: str) -> list[Mention]:
        """Return what was given, whatever the text."""
        assert isinstance(text, str)
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.found


def names(mentions: list[Mention]) -> list[tuple[str, str]]:
    """Return texts and types."""
    return [(mention.text, mention.type) for mention in mentions]


SHORT, SURE, LONG = at("Bell"), at("Ana", confidence=0.9), at("Ana Bell")
PERSON, PLACE = at("Rio", "person"), at("Rio", "location")


@each_row(
    ("found", "left"),
    [
        ([[LONG], [SURE]], [SURE]),
        ([[SHORT], [LONG]], [LONG]),
        ([[LONG], [SHORT]], [LONG]),
        ([[PERSON], [PLACE]], [PERSON]),
        ([[PLACE], [PERSON]], [PLACE]),
        ([[SHORT], [SURE]], [SURE, SHORT]),
    ],
)
def test_the_surer_then_the_longer_then_the_earlier_mention_wins(found, left):
    """Of those that overlap one stays; those side by side both do, in the order of the text."""
    assert resolve_overlaps(found) == left


MENTION = st.builds(
    lambda start, length, kind, confidence: Mention(
        "é" * length, kind, start, start + length, confidence
    ),
    st.integers(0, 12),
    st.integers(1, 6),
    st.sampled_from(["person", "other"]),
    st.sampled_from([0.0, 0.5, 0.8, 1.0]),
)


@given(st.lists(st.lists(MENTION, max_size=8), max_size=3))
def test_overlaps_are_resolved(found):
    """The rest is ordered and free of overlaps.

    Each mention that is left out overlaps one that is as good or better.
    """
    result = resolve_overlaps(found)
    end = 0
    for mention in result:
        assert end <= mention.start
        end = mention.end
    assert resolve_overlaps([result]) == result
    for lost in (each for mentions in found for each in mentions if each not in result):
        beside = [kept for kept in result if kept.start < lost.end and lost.start < kept.end]
        better = [(kept.confidence, kept.end - kept.start) for kept in beside]
        worth = (lost.confidence, lost.end - lost.start)
        assert max(better) >= worth


def test_a_strategy_runs_its_providers_and_no_other():
    """Each strategy asks the providers it names, each once."""
    one, two = Fixed(at("Bo")), Fixed(at("Ana"))
    pipeline = EntityPipeline({"regex": one, "spacy": two}, {"fast": ["regex"], "mine": ["spacy"]})
    assert names(pipeline.read("mine", TEXT).mentions) == [("Ana", "person")]
    assert (one.asked, two.asked) == (0, 1)
    assert names(pipeline.read("fast", TEXT).mentions) == [("Bo", "person")]
    assert (one.asked, two.asked) == (1, 1)


def test_the_order_of_a_strategy_is_the_preference():
    """Where providers disagree with equal confidence, the first of the strategy is right."""
    providers = {"regex": Fixed(PERSON), "llm": Fixed(PLACE)}
    pipeline = EntityPipeline(providers, {"a": ("regex", "llm"), "b": ("llm", "regex")})
    assert pipeline.read("a", TEXT).mentions == [PERSON]
    assert pipeline.read("b", TEXT).mentions == [PLACE]


@each_row("error", [ValueError("bad tensor"), LLMError("too slow")])
def test_a_provider_that_fails_is_passed_over(error: Exception, caplog):
    """Its failure is logged without the text, the others' names stay, and it is asked again."""
    failing = Fixed(error=error)
    pipeline = EntityPipeline({"regex": Fixed(at("Bo")), "llm": failing}, STRATEGIES)
    with caplog.at_level(logging.WARNING, "memoranda.entities"):
        assert pipeline.read("accurate", TEXT) == EntityReading([at("Bo")], ("llm",))
        pipeline.read("accurate", TEXT)
    assert failing.asked == 2
    assert "llm failed on a text of 22 characters" in caplog.text
    assert "Ana" not in caplog.text
    assert pipeline.accurate_available


def test_a_provider_that_cannot_run_is_not_asked_again(caplog):
    """One whose set-up turns out to be wrong is missing from then on, with its own remedy."""
    broken = Fixed(error=ConfigError("the folder is empty; train a pipeline"))
    pipeline = EntityPipeline({"regex": Fixed(at("Bo")), "spacy": broken}, STRATEGIES)
    assert pipeline.accurate_available
    with caplog.at_level(logging.WARNING, "memoranda.entities"):
        for _ in range(2):
            assert names(pipeline.read("accurate", TEXT).mentions) == [("Bo", "person")]
    assert broken.asked == 1
    assert pipeline.missing["spacy"] == "the folder is empty; train a pipeline"
    assert len(caplog.records) == 1
    assert not pipeline.accurate_available


def test_what_is_not_set_up_is_named_with_the_remedy():
    """Providers that strategies name and nobody gave are passed over, and say what to do."""
    pipeline = EntityPipeline({"regex": RuleExtractor()}, STRATEGIES)
    assert pipeline.missing == REMEDIES
    assert "entities.spacy_model" in pipeline.missing["spacy"]
    assert pipeline.strategies == {"fast": ("regex",), "accurate": ("regex",)}


@each_row
def test_accurate_means_more_than_rules(providers, accurate, available):
    """``accurate_available`` is true only where that strategy has spaCy or a model (seed 004).

    regex | regex spacy llm | no
    regex spacy | regex spacy llm | yes
    llm | regex spacy llm | yes
    regex spacy | regex | no
    """
    given = {name: Fixed() for name in ["regex", *providers.split()]}
    pipeline = EntityPipeline(given, {"fast": ["spacy"], "accurate": accurate.split()})
    assert pipeline.accurate_available is (available == "yes")
    assert not EntityPipeline(given, {"fast": ["spacy"]}).accurate_available

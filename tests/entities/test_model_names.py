"""Names from a language model: only what the text holds."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.entities.model_names import ModelNames, NamedThing, NamedThings
from memoranda.model.ports import EntityExtractor
from memoranda.testing.models import ScriptedLLM
from memoranda.text.entity_labels import entity_type
from memoranda.text.limits import MOST_READ


def reading(*names: tuple[str, str], run=asyncio.run) -> tuple[EntityExtractor, ScriptedLLM]:
    """Return an extractor whose model answers with these names, and the model."""
    model = ScriptedLLM({NamedThings: NamedThings([NamedThing(*each) for each in names])})
    return ModelNames(model, run=run), model


@each_row(
    ("text", "names", "expected"),
    [
        ("Al met Bo", [("Bo", "per"), ("Al", "per")], [("Al", "person", 0), ("Bo", "person", 7)]),
        ("Ana and Ana", [("Ana", "person")], [("Ana", "person", 0), ("Ana", "person", 8)]),
        ("Ana met Bo", [("Carl", "person")], []),
        ("Anatoly came", [("Ana", "person")], []),
        ("i met ana", [("Ana", "person")], []),
        ("Will will come", [("Will", "person")], [("Will", "person", 0)]),
        ("in New\n York", [("New York", "GPE")], [("New\n York", "location", 3)]),
        ("New York City", [("York", "city"), ("New York", "city")], [("New York", "location", 0)]),
        ("我昨天去了北京", [("北京", "city")], [("北京", "location", 5)]),
        ("we use C++ now", [("C++", "language")], [("C++", "other", 7)]),
        ("on Monday, 5 of us", [("Monday", "DATE"), ("5", "other")], []),
        ("Ana met Bo", [("", "other"), (" ", "other"), (" Bo ", "other")], [("Bo", "other", 8)]),
        ("Ana", [("Ana", "person"), ("Ana", "location")], [("Ana", "person", 0)]),
    ],
)  # fmt: skip
def test_names_are_found_by_search(text, names, expected):
    """A name counts where the text holds it as a whole word; what is invented falls away."""
    extractor, model = reading(*names)
    assert [(each.text, each.type, each.start) for each in extractor.extract(text)] == expected
    assert all("data" in each.instructions for each in model.asked)


@given(st.text(max_size=40), st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6))))
def test_any_answer_is_true_to_the_text(text, names):
    """Whatever a model says, mentions are ordered, apart, and what the text says there."""

    def run(asking):
        """Await what never waits for anything but its turn."""
        while True:
            try:
                asking.send(None)
            except StopIteration as stop:
                return stop.value

    end = 0
    for mention in reading(*names, run=run)[0].extract(text):
        assert end <= mention.start < mention.end
        assert mention.text == text[mention.start : mention.end]
        end = mention.end


def test_nothing_is_asked_about_nothing():
    """A text without letters costs no question, and a long one is cut."""
    extractor, model = reading(("Ana", "person"))
    assert extractor.extract("123 !") == model.asked == []
    assert extractor.extract("x" * MOST_READ + " Ana") == []
    assert [len(each.prompt) for each in model.asked] == [MOST_READ]


@each_row
def test_labels_of_other_schemes(type: str, labels: str):
    """Labels of the common schemes have a type here; numbers and times are no names.

    person | PERSON, B-PER, persName
    organization | ORG
    location | GPE, GPE_LOC, Fac
    project | PRODUCT
    other | WORK_OF_ART, EVENT, NORP, MISC, something new
    none | DATE, Cardinal, MONEY
    """
    found = {entity_type(label) for label in labels.split(", ")}
    assert found == {None if type == "none" else type}

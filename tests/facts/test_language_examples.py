"""Each language reads its own examples: what a sentence states, what states nothing, what asks."""

import tomllib
from pathlib import Path

import pytest
from tables import each_row

from memoranda.facts.questions import read_asked
from memoranda.facts.reader import FactStatement, read_facts
from memoranda.text.patterns import languages_with

EXAMPLES = Path(__file__).parent.parent / "languages"
LANGUAGES = tuple(sorted(file.stem for file in EXAMPLES.glob("*.toml")))


def written(fact: FactStatement) -> str:
    """Return a fact as the examples write it."""
    value = fact.value if fact.value is not None else f"-{fact.ended or ''}"
    return f"{fact.subject} · {fact.attribute} · {value}"


@pytest.mark.parametrize("codes", [LANGUAGES[at::3] for at in range(3)])
def test_a_sentence_gives_the_facts_of_its_example(codes):
    """What is read is exactly what the example says, in its language."""
    wrong = []
    for code in codes:
        for case in tomllib.loads((EXAMPLES / f"{code}.toml").read_text("utf-8"))["cases"]:
            read = read_facts(case["says"])
            told = sorted(map(written, read))
            if told != sorted(case["facts"]) or {fact.language for fact in read} - {code}:
                wrong.append((code, case["says"], case["facts"], told))
    assert wrong == []


def test_each_language_with_forms_has_examples():
    """A language is added with the sentences that prove it."""
    assert languages_with("facts") == LANGUAGES


def test_an_intolerance_is_told_as_one():
    """It is found among allergies, and none is claimed."""
    said = ("I'm lactose intolerant.", "Ich habe Laktoseintoleranz.", "Soy intolerante al gluten")
    told = [fact for each in said for fact in read_facts(each)]
    assert [fact.attribute for fact in told] == ["allergy"] * 3
    assert not any("llerg" in fact.content or "alérg" in fact.content for fact in told)


ASKED = tomllib.loads(Path(__file__).with_name("questions_en.toml").read_text("utf-8"))


@each_row(
    ("attribute", "question"),
    [(name, question) for name, questions in ASKED.items() for question in questions],
)
def test_a_question_is_read_for_its_attribute(attribute, question):
    """However it is worded, a question asks for the attribute that it is listed under."""
    assert attribute in {each.attribute for each in read_asked(question)}

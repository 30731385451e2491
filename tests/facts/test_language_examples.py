"""Each language reads its own examples: what a sentence states, and what states nothing."""

from tables import each_row

from memoranda.facts.reader import FactStatement, read_facts
from memoranda.text.patterns import languages_with, load

EXAMPLES = [
    (code, case["says"], tuple(case["facts"]))
    for code in languages_with("examples")
    for case in load(code, "examples")["cases"]
]


def written(fact: FactStatement) -> str:
    """Return a fact as the examples write it."""
    value = fact.value if fact.value is not None else f"-{fact.ended or ''}"
    return f"{fact.subject} · {fact.attribute} · {value}"


@each_row(("code", "sentence", "facts"), EXAMPLES)
def test_a_sentence_gives_the_facts_of_its_example(code, sentence, facts):
    """What is read is exactly what the example says, in its language."""
    read = read_facts(sentence)
    assert sorted(map(written, read)) == sorted(facts)
    assert {fact.language for fact in read} <= {code}


def test_each_language_with_forms_has_examples():
    """A language is added with the sentences that prove it."""
    assert languages_with("facts") == languages_with("examples")

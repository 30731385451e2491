"""Which attribute an English question asks for, in the many ways in which people ask."""

import tomllib
from pathlib import Path

from tables import each_row

from memoranda.facts.questions import read_asked

ASKED = tomllib.loads(Path(__file__).with_name("questions_en.toml").read_text("utf-8"))


@each_row(
    ("attribute", "question"),
    [(name, question) for name, questions in ASKED.items() for question in questions],
)
def test_a_question_is_read_for_its_attribute(attribute, question):
    """However it is worded, a question asks for the attribute that it is listed under."""
    assert attribute in {each.attribute for each in read_asked(question)}

"""JSON as the dataclass that was wanted: what is forgiven, and what is a problem."""

import json
import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from memoranda.providers.llm.answer_reading import misfits, read_answer


class Colour(StrEnum):
    """Two of them."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Part:
    """A part."""

    text: str
    sure: float = 0.5
    colour: Colour = Colour.RED


@dataclass
class Whole:
    """All there is to read."""

    name: str
    count: int | None = None
    good: bool = False
    kind: Literal["a", "b"] = "a"
    tags: tuple[str, ...] = ()
    parts: list[Part] = field(default_factory=list)


@dataclass
class Strict:
    """Nothing has a default."""

    colour: Colour
    part: Part


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "count", "good", "kind", "tags", "parts", "text", "x"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)
NAMES = ("name", "colour", "part", "items")


def read(text, wanted=Whole, *, drops=False):
    """Return what was read, ``None`` for nothing, and the problems."""
    adapter = TypeAdapter(wanted)
    value = read_answer(text, NAMES, adapter, drops=drops)
    problems = misfits(value, adapter)
    return None if problems else adapter.validate_python(value), problems


@given(ANYTHING, st.booleans())
def test_any_json_gives_the_type_or_problems(value, drops):
    """No value raises; without a result there is a problem, and the other way round."""
    result, problems = read(json.dumps(value), drops=drops)
    assert (result is None) == bool(problems)
    assert result is None or isinstance(result, Whole)


def test_what_is_clear_is_forgiven():
    """Numbers as text, lone objects, capitals, extra and missing fields are understood."""
    for given_value, wanted in (
        ({"name": "n"}, Whole("n")),
        ({"name": 7}, Whole("7")),
        (
            {"name": "n", "count": "3", "good": "yes", "kind": "B"},
            Whole("n", 3, good=True, kind="b"),
        ),
        ({"name": "n", "count": 3.0, "more": {"x": 1}}, Whole("n", 3)),
        ({"name": "n", "count": None, "tags": None, "parts": None}, Whole("n")),
        ({"name": "n", "tags": "one"}, Whole("n", tags=("one",))),
        ({"name": "n", "parts": {"text": "t", "sure": "0.8"}}, Whole("n", parts=[Part("t", 0.8)])),
        ({"name": "n", "parts": [{"text": "t", "colour": "mauve"}]}, Whole("n", parts=[Part("t")])),
        ({"name": "n", "parts": [{"text": "t", "sure": math.nan}]}, Whole("n", parts=[Part("t")])),
        ({"name": "a\x00b\ud800"}, Whole("ab")),
        ({"name": "\ud83d\ude00"}, Whole("😀")),
    ):
        assert read(json.dumps(given_value)) == (wanted, []), given_value


def test_a_problem_says_where_and_what():
    """Paths and types are named, and nothing of the answer is quoted."""
    for value, wanted, problem in (
        (None, Whole, "answer: Input should be"),
        ({"x": 1}, Whole, "answer.name: Field required"),
        ({"name": ["n"]}, Whole, "answer.name: Input should be a valid string"),
        ({"name": "n", "count": 1.5}, Whole, "answer.count: Input should be a valid integer"),
        ({"name": "n", "good": "maybe"}, Whole, "answer.good: Input should be a valid boolean"),
        ({"name": "n", "parts": [{}]}, Whole, "answer.parts.0.text: Field required"),
        ({"name": "n", "parts": ["x"]}, Whole, "answer.parts.0: Input should be"),
        ({"colour": "mauve", "part": {"text": "t"}}, Strict, "answer.colour: Field required"),
        ({"colour": "red", "part": None}, Strict, "answer.part: Field required"),
    ):
        result, problems = read(json.dumps(value), wanted)
        assert result is None
        assert any(problem in line for line in problems), (value, problems)
        assert "mauve" not in "".join(problems)


def test_of_the_last_answer_what_is_sound_is_kept():
    """Wrong elements go where others stay; a wrong optional value has its default."""
    value = '{"name": "n", "parts": [{"text": "t", "sure": "x"}, {}, 5], "count": "many"}'
    assert read(value)[0] is None
    assert read(value, drops=True) == (Whole("n", parts=[Part("t")]), [])
    assert read('{"name": "n", "parts": [{}, 5]}', drops=True) == (Whole("n"), [])
    assert read('{"parts": [{"text": "t"}]}', drops=True)[0] is None


def test_an_answer_of_lists_alone_that_are_wrong_is_none():
    """A required list of which nothing is sound is missing, and not empty."""

    @dataclass
    class Parts:
        items: list[Part]

    assert read('{"items": [{}, 5]}', Parts, drops=True)[0] is None
    assert read('{"items": []}', Parts, drops=True)[0] == Parts([])

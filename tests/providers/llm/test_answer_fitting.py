"""JSON as the dataclass that was wanted: what is forgiven, and what is a problem."""

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from tables import each_row

from memoranda.errors import InvalidInput
from memoranda.model.checks import storable
from memoranda.providers.llm.answer_reading import answer_schema, drop_misfits, fit, misfits


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
            st.sampled_from(
                ["name", "count", "good", "kind", "tags", "parts", "text", "sure", "x"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


def read(value, wanted=Whole, *, lenient=False):
    """Return what was read, ``None`` for nothing, and the problems."""
    adapter = TypeAdapter(wanted)
    fitted = fit(value, wanted)
    if lenient:
        fitted = drop_misfits(fitted, adapter)
    problems = misfits(fitted, adapter)
    return None if problems else adapter.validate_python(fitted), problems


@given(ANYTHING, st.booleans())
def test_any_json_gives_the_type_or_problems(value, lenient):
    """No value raises; without a result there is a problem, and the other way round."""
    result, problems = read(value, lenient=lenient)
    assert (result is None) == bool(problems)
    if result is None:
        return
    assert isinstance(result, Whole)
    assert isinstance(result.name, str)
    assert result.count is None or type(result.count) is int
    assert result.kind in {"a", "b"}
    for text in (result.name, *result.tags, *(part.text for part in result.parts)):
        assert storable(text, "text") == text
    assert all(math.isfinite(part.sure) for part in result.parts)


@each_row(
    ("given_value", "wanted"),
    [
        ({"name": "n"}, Whole("n")),
        ({"name": 7}, Whole("7")),
        (
            {"name": "n", "count": "3", "good": "Yes", "kind": "B"},
            Whole("n", 3, good=True, kind="b"),
        ),
        ({"name": "n", "count": 3.0, "more": {"x": 1}}, Whole("n", 3)),
        ({"name": "n", "count": None, "tags": None, "parts": None}, Whole("n")),
        ({"name": "n", "tags": "one"}, Whole("n", tags=("one",))),
        ({"name": "n", "parts": {"text": "t", "sure": "0.8"}}, Whole("n", parts=[Part("t", 0.8)])),
        ({"name": "n", "parts": [{"text": "t", "colour": "mauve"}]}, Whole("n", parts=[Part("t")])),
        ({"name": "a\x00b\ud800"}, Whole("ab\ufffd")),
        ({"name": "\ud83d\ude00"}, Whole("😀")),
    ],
)
def test_what_is_clear_is_forgiven(given_value, wanted):
    """Numbers as text, lone objects, capitals, extra and missing fields are understood."""
    result, problems = read(given_value)
    assert (result, problems) == (wanted, [])


@each_row(
    ("value", "wanted", "problem"),
    [
        (None, Whole, "answer: Input should be"),
        ({}, Whole, "answer.name: Field required"),
        ({"name": ["n"]}, Whole, "answer.name: Input should be a valid string"),
        ({"name": "n", "count": 1.5}, Whole, "answer.count: Input should be a valid integer"),
        ({"name": "n", "count": "many"}, Whole, "answer.count: Input should be a valid integer"),
        ({"name": "n", "good": "maybe"}, Whole, "answer.good: Input should be a valid boolean"),
        ({"name": "n", "parts": [{}]}, Whole, "answer.parts.0.text: Field required"),
        ({"name": "n", "parts": ["x"]}, Whole, "answer.parts.0: Input should be"),
        (
            {"colour": "mauve", "part": {"text": "t"}},
            Strict,
            "answer.colour: Input should be 'red' or 'blue'",
        ),
        ({"colour": "red", "part": None}, Strict, "answer.part: Input should be"),
        ({"name": "n", "parts": [{"text": "t", "sure": math.nan}]}, Whole, "sure: Input should"),
        ({"name": "n", "parts": [{"text": "t", "sure": "inf"}]}, Whole, "sure: Input should"),
        ({"name": "n", "parts": [{"text": "t", "sure": True}]}, Whole, "sure: Input should"),
    ],
)
def test_a_problem_says_where_and_what(value, wanted, problem):
    """Paths and types are named, and nothing of the answer is quoted."""
    result, problems = read(value, wanted)
    assert result is None
    assert any(problem in line for line in problems)
    assert "mauve" not in "".join(problems)


def test_leniency_keeps_what_is_sound():
    """Wrong elements go where others stay; a wrong optional value has its default."""
    value = {"name": "n", "parts": [{"text": "t", "sure": "x"}, {}, 5], "count": "many"}
    assert read(value)[0] is None
    assert read(value, lenient=True) == (Whole("n", parts=[Part("t")]), [])
    assert read({"name": "n", "parts": [{}, 5]}, lenient=True) == (Whole("n"), [])
    assert read({"parts": [{"text": "t"}]}, lenient=True)[0] is None


def test_depth_ends():
    """An answer nested without end is a problem and no crash."""

    @dataclass
    class Lists:
        items: list[list[list[Any]]]

    value: Any = "x"
    for _ in range(900):
        value = [value]
    assert read({"items": value}, Lists)[0] is not None


@each_row("wanted", [dict, int, list[Whole], "Whole", None])
def test_other_types_are_refused(wanted):
    """Only a dataclass can be an answer."""
    with pytest.raises(InvalidInput, match="dataclass"):
        answer_schema(wanted)


def test_fields_that_no_json_fills_are_refused():
    """The type is named."""

    @dataclass
    class Odd:
        when: object.__class__

    with pytest.raises(InvalidInput, match="Odd"):
        answer_schema(Odd)
    answer_schema(Whole)
    answer_schema(Strict)

"""Forms: which of them fit a text, whatever stands for the names in them."""

from tables import each_row

from memoranda.facts.forms import FormFragments, FormSet
from memoranda.text.patterns import languages_with, load

CITIES = "(?:" + "|".join(f"city{number}" for number in range(100)) + ")"
FRAGMENTS = {"city": CITIES, "who": "(?:i|we|they)", "home": "{who} (?:live|lives) in {city}"}
FORMS = [
    "{home}$",
    "{who} (?:left|leave) {city}",
    "(?P<value>{city})",
    "{city} {city}",
    "(?:{who} )?moved(?: to {city})*$",
]
FITTING = {
    "i live in city7": [0, 2],
    "we live in Delft": [],
    "they left city99 for good": [1, 2],
    "moved to city1 to city2": [2, 4],
    "city1 CITY2": [2, 3],
    "moved\nhere": [],
    "": [],
}


@each_row(("text", "fitting"), FITTING.items())
def test_a_form_is_found_where_it_fits(text, fitting):
    """However long a fragment is, what is found is what fits, and is tried as it is written."""
    forms = FormSet(FORMS, FormFragments(FRAGMENTS.__getitem__))
    assert [place for place, form in forms.find(text) if form.search(text)] == fitting
    assert forms.fits(text) == bool(fitting)


def test_flags_stand_before_each_form():
    """With ``(?m)`` a form may end where a line does."""
    fragments = FormFragments(FRAGMENTS.__getitem__)
    assert FormSet(FORMS, fragments, "(?m)").fits("we moved\nthen")
    assert not FormSet(FORMS, fragments).fits("we moved\nthen")


@each_row("code", languages_with("facts"))
def test_a_fragment_is_an_expression_by_itself(code):
    """Its groups are closed and its alternations stand in them: so anything may stand for it."""
    for name, value in load(code, "facts")["fragments"].items():
        assert not isinstance(value, str) or is_whole(value), name


def is_whole(pattern: str) -> bool:
    """Return whether an expression is none that only its neighbours complete or part."""
    depth, inside, escaped = 0, False, False
    for at, char in enumerate(pattern):
        if escaped or char == "\\":
            escaped = not escaped
        elif inside:
            inside = char != "]" or pattern[at - 1] == "["
        elif char == "[":
            inside = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and not depth:
            return False
        if depth < 0:
            return False
    return depth == 0 and not inside

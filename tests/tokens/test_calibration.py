"""What is learned of a provider's counts: both ways, steadily, and by no single odd report."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.models import Calibration
from memoranda.tokens.calibration import Calibrator, limit_to_tools
from memoranda.tokens.catalog import Catalog, ChatFormat, ChatMeter, ToolFormat

SYSTEM = "You are a helpful assistant. You remember what the user told you before. " * 3
TOOLS = [
    {
        "name": f"tool_{number}",
        "description": "Search what was said in earlier conversations, and tell when it was said.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for, in words."},
                "limit": {"type": "integer", "description": "How many results at most."},
            },
        },
    }
    for number in range(10)
]
RECIPE, AS_JSON = ToolFormat(once=12, each=7, as_json=False), ToolFormat()
LANGUAGES = ("english", "german", "chinese", "hindi")
ROWS = [  # a model, the encoding that its provider counts in, how that shows tools, a factor
    ("gpt-4o", "o200k_base", RECIPE, 1.0),
    ("gpt-4", "cl100k_base", RECIPE, 1.0),
    ("gpt-4o", "o200k_base", AS_JSON, 1.0),
    ("gemini-2.5-pro", "o200k_base", RECIPE, 1.0),
    ("gemini-2.5-pro", "o200k_base", AS_JSON, 1.05),
    ("llama4:scout", "o200k_base", AS_JSON, 1.0),
    ("my-model", "cl100k_base", RECIPE, 1.0),
]
# Which tokenizer such a provider has is not known, and it makes a third of the tokens in Hindi.
FAR = [
    ("my-model", "o200k_base", AS_JSON, 1.0),
    ("my-model", "o200k_base", RECIPE, 1.0),
    ("claude-sonnet-4-5", "o200k_base", AS_JSON, 1.0),
    ("qwen3:8b", "o200k_base", RECIPE, 1.0),
]


def parts_of(text, count):
    """Return a text in so many parts, as long as messages are, over and over again."""
    line = " ".join(text.split())
    return [line[at % (len(line) - 150) :][:150] for at in range(0, 150 * count, 150)]


def errors_of(model, encoding, form, factor, text):
    """Return by how many percent each shown count of a conversation with tools is off."""
    bpe = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    count = getattr(bpe.openai, encoding)().count
    meter, learned, calibrator = Catalog().meter(model), Calibration(), Calibrator()
    oracle = type("Oracle", (), {"count": staticmethod(count)})
    tools = meter.tools(TOOLS)
    billed = ChatMeter(oracle, ChatFormat(tools=form)).tools(TOOLS)
    messages, errors = [SYSTEM], []
    for question, answer in zip(*[iter(parts_of(text, 40))] * 2, strict=True):
        messages.append(question)
        counted = tools + sum(map(meter.message, messages)) + 3
        actual = int(factor * (billed + sum(count(each) + 4 for each in messages) + 3))
        errors.append((counted * learned.scale + learned.overhead) / actual * 100 - 100)
        learned = calibrator.learn(
            learned, counted=counted, actual=actual, exact=meter.counter.exact, tools=tools
        )
        messages.append(answer)
    return errors


def test_counts_with_tools_are_right_from_the_second_answer_on(samples):
    """N2.1: between 2 % below and 5 % above, in four languages, however high the first one was."""
    wrong = []
    for row in ROWS:
        for language in LANGUAGES:
            errors = errors_of(*row, samples[language])
            if min(errors[1:]) < -2 or max(errors[1:]) > 5:
                wrong.append((row, language, errors[:5]))
    assert wrong == []


def test_another_tokenizer_is_learned_in_a_few_answers(samples):
    """The scale is not clamped: also where an estimate is three times too high."""
    wrong = []
    for row in FAR:
        for language in LANGUAGES:
            errors = errors_of(*row, samples[language])
            if not (max(errors[1:]) < 35 and -3 < min(errors[3:]) <= max(errors[3:]) < 6):
                wrong.append((row, language, errors[:6]))
    assert wrong == []


def learn_all(reports, *, exact=False, tools=0):
    """Return what is known after each report of what was counted and what is actual."""
    calibrator, known = Calibrator(), [Calibration()]
    for counted, actual in reports:
        known.append(
            calibrator.learn(known[-1], counted=counted, actual=actual, exact=exact, tools=tools)
        )
    return known[1:]


def expected(calibration, counted):
    """Return what a provider is expected to count."""
    return counted * calibration.scale + calibration.overhead


def test_an_exact_count_learns_what_goes_with_the_messages_both_ways():
    """Tools may cost less than they are counted, or there is a system prompt of the provider."""
    reports = [(1_000 + 50 * turn, 700 + 50 * turn) for turn in range(4)]
    assert set(learn_all(reports, exact=True, tools=800)) == {Calibration(1.0, -300)}
    reports = [(100 + 50 * turn, 280 + 50 * turn) for turn in range(4)]
    assert set(learn_all(reports, exact=True)) == {Calibration(1.0, 180)}


def test_an_odd_report_changes_little():
    """Whether it says far too few or far too many; what it says twice is believed."""
    steady = [(1_000 + 100 * turn, 1_200 + 120 * turn) for turn in range(5)]
    for exact in (True, False):
        for odd in (1, 300, 900, 2_600, 5_000, 10**7):
            *_, before, after = learn_all([*steady, (1_500, odd)], exact=exact)
            off = expected(after, 1_500) / expected(before, 1_500)
            assert 1 <= off < 1.16, (exact, odd)
            *_, back = learn_all([*steady, (1_500, odd), (1_600, 1_920)], exact=exact)
            assert expected(back, 1_700) == pytest.approx(2_040, rel=0.03)
    for twice in (600, 4_000):
        *_, known = learn_all([*steady, (1_500, twice), (1_500, twice)])
        assert expected(known, 1_500) == pytest.approx(twice, abs=1)
    for first in (1, 10**7):
        assert learn_all([(1_000, first)]) == [Calibration()]


@given(
    reports=st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), max_size=12),
    exact=st.booleans(),
    tools=st.integers(0, 3_000),
    counted=st.integers(0, 10**6),
)
def test_no_report_makes_messages_free(reports, exact, tools, counted):
    """Whatever was reported: more text costs more, and only tools are cheaper by a fixed sum."""
    reports = [(tools + each, actual) for each, actual in reports]
    for known in learn_all(reports, exact=exact, tools=tools):
        assert known.scale > 0
        assert known.overhead >= -known.scale * tools - 1
        assert expected(known, tools + counted) >= known.scale * counted - 1
        assert abs(limit_to_tools(known, tools).overhead - known.overhead) <= 1
        assert limit_to_tools(known, 0).overhead == max(0, known.overhead)

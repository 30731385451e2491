"""The bars of boundary detection, on dialogues that people marked and on real runs."""

import importlib
from pathlib import Path

import pytest
from dialogues import segments

from memoranda.conversation.segments import GAP, topic_weights

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
PK_FLOOR = 0.459  # of no boundaries at all
F1_FLOOR = 0.335  # of TextTiling


@pytest.fixture(scope="module")
def measure():
    """The metrics, from where the benchmarks have them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("benchmarks.boundaries")


@pytest.fixture(scope="module")
def dialogues(measure):
    """TIAGE."""
    path = DATA / measure.TIAGE
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return measure.load(path)


@pytest.fixture(scope="module")
def held_out(dialogues):
    """The half that nothing was tuned on."""
    return dialogues[1::2]


@pytest.mark.parametrize(
    ("reference", "found", "pk", "difference"),
    [
        ({3}, {3}, 0, 0),
        ({3}, (), 2 / 4, 2 / 4),  # two of the four pairs 2 apart straddle the boundary
        ((), range(1, 6), 4 / 4, 4 / 4),
        ({3}, {2}, 2 / 4, 2 / 4),  # a near miss is wrong in the windows that hold but one
        ({3}, {5}, 3 / 4, 3 / 4),  # windows after 0, 1, 2, 3 hold 3: no yes yes no, 5: no no no yes
        ({3}, {3, 4}, 1 / 4, 2 / 4),  # Pk misses the window with two instead of one
        ({2, 4}, {3}, 2 / 4, 2 / 4),
    ],
)
def test_the_metrics_are_those_of_the_papers(measure, reference, found, pk, difference):
    """On six turns and k = 2, counted by hand."""
    assert measure.pk(reference, found, 6, 2) == pytest.approx(pk)
    assert measure.window_diff(reference, found, 6, 2) == pytest.approx(difference)


@pytest.mark.parametrize(
    ("starts", "length", "k"), [((), 6, 3), ({3}, 6, 2), ({5}, 10, 3), ({1, 2, 3}, 8, 2)]
)
def test_k_is_half_the_mean_segment_and_at_least_two(measure, starts, length, k):
    """Half a segment is rounded up; a window of one turn would see no more than equality."""
    assert measure.window(starts, length) == k


def test_f1_counts_boundaries_at_exactly_the_right_turn(measure):
    """Of all dialogues together: one of three found is right, one of two is missed."""
    dialogue = measure.Dialogue([None] * 6, frozenset({2, 4}))
    scores = measure.evaluate([dialogue, dialogue], [{2, 3}, {5}])
    assert (scores.precision, scores.recall) == (pytest.approx(1 / 3), pytest.approx(1 / 4))
    assert scores.f1 == pytest.approx(2 / 7)


def test_words_alone_beat_both_floors_at_once(measure, held_out):
    """On the half held out, and better than no boundaries at all are on that half."""
    found = [measure.detect(each) for each in held_out]
    scores = measure.evaluate(held_out, found)
    nothing = measure.evaluate(held_out, [[] for _ in held_out])
    assert scores.pk < min(PK_FLOOR, nothing.pk) - 0.05
    assert scores.window_diff < nothing.window_diff - 0.03
    assert scores.f1 > F1_FLOOR + 0.12


def test_the_weights_are_those_that_the_benchmark_prints(measure, dialogues):
    """Fitted anew on the half to tune on they are the same."""
    weights = measure.fitted(dialogues[::2])
    ours = {**topic_weights()}
    assert ours.pop(GAP) == 0.5  # set by hand
    assert weights == pytest.approx(ours, abs=0.006)


def test_no_task_of_the_real_runs_is_cut_in_two(measure):
    """In the 80 runs each later request needs the user, or flights, named in an earlier one."""
    path = DATA / measure.RUNS
    if not path.exists():
        pytest.skip(f"{path} is not there")
    runs = measure.runs(path)
    parts = [part for messages in runs for part in segments(messages)]
    assert len(runs) == 80
    assert not [part for part in parts if part.boundary.strong]

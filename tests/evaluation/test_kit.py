"""The benchmark kit: its readers, its figures, and its laws, which memoranda keeps."""

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from benchmarks.kit.__main__ import load_adapter, main
from benchmarks.kit.adapter import WithoutKeys
from benchmarks.kit.datasets import read_beam, read_locomo, read_realtalk
from benchmarks.kit.evaluate import score
from benchmarks.kit.laws import BROKEN, KEPT, LAWS, NOT_OFFERED, check
from tables import each_row

PAGE = Path(__file__).parents[2] / "benchmarks" / "kit" / "README.md"
MAY = "1:56 pm on 8 May, 2023"
ANA = {"speaker": "Ana", "dia_id": "D1:1", "text": "My cat is called Schnurri."}
BEN = {"speaker": "Ben", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red bicycle"}
RENT = {"speaker": "Ana", "dia_id": "D2:1", "text": "The rent went up again."}
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "session_1_date_time": MAY,
            "session_1": [ANA, BEN],
            "session_2_date_time": "9:00 am on 2 June, 2023",
            "session_2": [RENT],
        },
        "qa": [
            {"question": "What is the cat called?", "evidence": ["D1:1"], "category": 4},
            {"question": "Whose bicycle is red?", "evidence": ["D1:02; D9:9"], "category": 1},
            {"question": "What did they say in May?", "evidence": ["D1:1-D1:2"], "category": 2},
            {"question": "Is there no evidence?", "evidence": [], "category": 5},
        ],
    }
]
REALTALK = {
    "name": {"speaker_1": "Ana", "speaker_2": "Ben"},
    "session_1_date_time": "29.12.2023, 00:51:12",
    "session_1": [
        {
            "clean_text": "My cat is called Schnurri.",
            "speaker": "Ana",
            "date_time": "29.12.2023, 00:52:00",
            "dia_id": "D1:1",
        },
        {"clean_text": "", "speaker": "Ben", "dia_id": "D1:2"},
    ],
    "events_session_1": {"agent_a": [], "agent_b": []},
    "qa": [{"question": "What is the cat called?", "evidence": ["D:1:1"], "category": 1}],
}
CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "Hi ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "Hello."},
            ],
            [{"role": "user", "id": 2, "content": "The API takes 300 ms."}],
        ],
    },
    {"batch_number": 2, "turns": [[{"role": "user", "id": 3, "content": "It takes 250 ms now."}]]},
]
PROBES = {
    "knowledge_update": [
        {
            "question": "How long does the API take?",
            "source_chat_ids": {"original_info": [2], "updated_info": [[3]]},
        }
    ],
    "summarization": [{"question": "What was said?", "source_chat_ids": [0, 1, 2, 3]}],
}


@pytest.fixture
def data(tmp_path):
    """Write a made-up part of each data set, in its published form."""
    (tmp_path / "locomo10.json").write_text(json.dumps(LOCOMO), "utf-8")
    (tmp_path / "Chat_1_Ana_Ben.json").write_text(json.dumps(REALTALK), "utf-8")
    chat = tmp_path / "100K" / "1"
    (chat / "probing_questions").mkdir(parents=True)
    (chat / "chat.json").write_text(json.dumps(CHAT), "utf-8")
    file = chat / "probing_questions" / "probing_questions.json"
    file.write_text(json.dumps(PROBES), "utf-8")
    return tmp_path


def test_turns_and_questions_are_read_as_they_are_published(data):
    """With what a picture shows, dates, mended evidence, rounds; of BEAM the core questions."""
    (locomo,) = read_locomo(data / "locomo10.json")
    assert [turn.text for turn in locomo.turns] == [
        'Ana said, "My cat is called Schnurri."',
        'Ben said, "Look!" and shared a red bicycle',
        'Ana said, "The rent went up again."',
    ]
    assert locomo.turns[0].time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert [turn.session for turn in locomo.turns] == ["1", "1", "2"]
    assert [set(each.evidence) for each in locomo.questions] == [
        {"D1:1"},
        {"D1:2"},
        {"D1:1", "D1:2"},
    ]
    (talk,) = read_realtalk(data)
    assert [turn.time and turn.time.minute for turn in talk.turns] == [52, 51]
    assert talk.turns[1].text == 'Ben said, ""'
    assert [set(each.evidence) for each in talk.questions] == [{"D1:1"}]
    (beam,) = read_beam(data / "100K")
    assert [(turn.id, turn.session, turn.text) for turn in beam.turns] == [
        ("0", "0", "Hi\nHello."),
        ("2", "0", "The API takes 300 ms."),
        ("3", "1", "It takes 250 ms now."),
    ]
    assert [turn.time and turn.time.day for turn in beam.turns] == [15, 15, None]
    assert [set(each.evidence) for each in beam.questions] == [{"2", "3"}]


@each_row(
    ("found", "figures"),
    [
        ([], (0, 0, 0, 0)),
        (["a", "b"], (1, 1, 1, 1)),
        (["a", "a", "x", "b"], (1, 1, 1, (1 + 1 / 2) / (1 + 1 / math.log2(3)))),
        ([*"vwxyz", "a"], (0, 0.5, 0, (1 / math.log2(7)) / (1 + 1 / math.log2(3)))),
        ([*"0123456789", "a"], (0, 0, 0, 0)),
    ],
)
def test_figures_are_those_of_their_formulas(found, figures):
    """A turn that comes twice counts once, at its first place; below ten nothing counts."""
    scored = score(found, frozenset({"a", "b"}))
    assert tuple(scored.values()) == pytest.approx(figures)


def no_vectors(texts):
    """Return no vectors, for memories that want none."""
    return [[] for _ in texts]


def example():
    """Return the adapter of the page."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {}
    exec(block, names)  # noqa: S102 - an example of ours
    return names["JsonFile"]


@each_row("law", LAWS)
@each_row("memory", [load_adapter("memoranda"), load_adapter("fts5"), example()])
def test_laws_are_kept(law, memory):
    """By memoranda, by the floor and by the example: a law is no invention for one of them."""
    assert check(law, memory, no_vectors) == (KEPT, "")


class _Careless(WithoutKeys):
    """Keeps values of all users in one table, in memory, cut at a NUL, and finds everything."""

    def __init__(self, *_):
        self.values, self.turns = {}, []

    def add(self, _, turns):
        self.turns += turns

    def search(self, *_):
        return [turn.id for turn in self.turns]

    def put(self, _, key, value):
        self.values[key.casefold()] = value.partition("\0")[0].strip()

    def get(self, _, key):
        return self.values.get(key.casefold())

    def delete(self, _, key):
        del self.values[key.casefold()]

    def list(self, _):
        return [*self.values][:200]

    def close(self):
        self.values, self.turns = {}, []


class _Silent(WithoutKeys):
    """Has no values."""

    def __init__(self, *_):
        pass

    def close(self):
        pass


def test_laws_are_broken_by_a_careless_memory():
    """All but those that one user alone would see kept; what a memory has not is not offered."""
    kept = {law.__name__ for law in LAWS if check(law, _Careless, no_vectors)[0] != BROKEN}
    assert kept == {"get_what_was_put", "replace", "put_from_threads", "take_any_query"}
    assert check(LAWS[0], _Silent, no_vectors) == (NOT_OFFERED, "")


def test_a_run_prints_tables(data, capsys):
    """Of versions, each data set, and the laws."""
    sets = ["--locomo", str(data / "locomo10.json"), "--realtalk", str(data)]
    main(["--adapter", "memoranda", *sets, "--beam", str(data / "100K")])
    told = capsys.readouterr().out
    assert "| memoranda | memoranda " in told
    assert "### locomo: 1 conversations, 3 turns, 3 questions" in told
    assert "### realtalk: 1 conversations, 2 turns, 1 questions" in told
    assert "### beam: 1 conversations, 3 turns, 1 questions" in told
    assert told.count("| memoranda | 1.000 | 1.000 | 1.000 |") == 3
    with pytest.raises(SystemExit, match="no adapter is called 'mem1'"):
        main(["--adapter", "mem1"])

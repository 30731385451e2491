"""The words of an erased text are found however they are written, and only they are cut out."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from memoranda.model.models import Message, ToolCall
from memoranda.text.erased import ERASED, ErasedTexts, cut_message, cut_out, says_nothing, texts_of

SAID = "Ana keeps the spare key under the blue pot. Nobody else knows."
WORDS = ["ana", "keeps", "the", "spare", "key", "under", "the", "blue", "pot"]
ID = "fact_01JD00000000000000000000AB"


def without(contents, text):
    """Return a text without what says one of these contents."""
    texts = ErasedTexts({f"fact_{at}": content for at, content in enumerate(contents)})
    return cut_out(text, [each.piece for each in texts.find(text) if not each.short])


def message(**fields):
    """Return a message with these fields."""
    known = {"id": "msg_1", "role": "assistant", "content": "", "tokens": 1}
    return Message(timestamp=datetime(2026, 3, 1, tzinfo=UTC), **(known | fields))


@given(
    st.lists(st.sampled_from([" ", "\n", "\n> ", ", ", " **", "\t"]), min_size=8, max_size=8),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_a_sentence_is_found_however_it_is_written(between, capitals):
    """Case, punctuation, line ends and marks of a quotation hide no sentence of five words."""
    said = [word.upper() if big else word for word, big in zip(WORDS, capitals, strict=True)]
    text = "".join(a + b for a, b in zip(said, [*between, ""], strict=True))
    assert without([SAID], f"He wrote: «{text}!» Truly.") == f"He wrote: «{ERASED}!» Truly."


@given(st.text(), st.text())
def test_what_is_left_says_nothing_of_it(before, after):
    """Whatever stands around it: once cut out, it is not found any more, and the rest stays."""
    left = without([SAID], f"{before} {SAID} {after}")
    assert without([SAID], left) == left
    assert "spare key" not in left.replace(before, "").replace(after, "")
    assert left.startswith(f"{before} ")


@each_row(
    ("content", "text"),
    [
        ("yes", "yes, of course"),
        ("My PIN is 4711", "I said that my PIN is 4711 once."),
        ("one two three four", "one two three four five"),
        (SAID, "Ana keeps the spare pot under the blue key."),
        ("谢谢你的帮助", "谢谢你的帮助\uff0c再见"),
        ("!!!", "!!! and so on"),
    ],
)
def test_what_is_short_or_otherwise_is_not_cut(content, text):
    """Fewer than five words, and the same words in another order, prove no copy."""
    assert without([content], text) == text


@each_row(
    ("content", "text", "left"),
    [
        (
            "我的银行卡密码写在书架上的红皮书里面",
            "他说\uff1a我的银行卡密码写在书架上的红皮书里面。好",
            f"他说\uff1a{ERASED}。好",
        ),
        (
            "Él vive en la calle Mayor",
            "Sabe que ÉL VIVE en la calle mayor, 3",
            f"Sabe que {ERASED}, 3",
        ),
        ("a b c d e f g", "a b c d e, a b c d e f g", f"a b c d e, {ERASED}"),
    ],
)
def test_every_script_is_read(content, text, left):
    """Languages without spaces and with accents are compared, too; the longest piece is cut."""
    assert without([content], text) == left


def test_what_memory_wrote_is_known_at_any_length():
    """A line of recall, also a cut one, and a text that names the record: two words are enough."""
    texts = ErasedTexts({ID: "PIN 4711", "ep_2": f"So {SAID}"})
    recalled = "- [2026-03-01 12:00, user] PIN 4711"
    assert [each.recalled for each in texts.find(f"Known:\n{recalled}\nso what?")] == [True]
    assert texts.find("- [2026-03-01 12:00, user] PIN 4712") == []
    assert texts.find("- [2026-03-01 12:00, user] So Ana keeps the spar…")[0].recalled
    result = json.dumps({"id": ID, "content": "PIN 4711"})
    pieces = [each.piece for each in texts.find(result)]
    assert json.loads(cut_out(result, pieces)) == {"id": ID, "content": ERASED}
    assert texts.find(result.replace("AB", "AC")) == []


def test_a_piece_is_no_part_of_a_word():
    """Cutting out "tea" leaves "team" and "steak" as they are."""
    assert cut_out("tea team steak tea", ["tea"]) == f"{ERASED} team steak {ERASED}"
    assert (says_nothing(f"{ERASED}. {ERASED}"), says_nothing(f"{ERASED} so")) == (True, False)


def test_all_of_a_message_is_cut():
    """Content, task, arguments (also as JSON in JSON, escaped or broken) and what is only raw."""
    sentence = "Ana keeps the spare key under the blue pot"
    inner = json.dumps({"a": [f"{sentence} \u00e9"]})
    calls = (ToolCall("1", "keep", inner), ToolCall("2", "keep", f'{{"a": "{sentence}'))
    raw = {
        "content": [
            {"type": "thinking", "thinking": f"He says {sentence}", "signature": "c2ln"},
            {"type": "thinking", "thinking": "Something else", "signature": "c2ln"},
            {"type": "tool_use", "input": {sentence: 1}, "arguments": inner},
        ]
    }
    said = message(content=f"So {sentence}.", task=sentence, tool_calls=calls, raw=raw)
    texts = ErasedTexts({ID: SAID})
    assert sum(bool(texts.find(text)) for text in texts_of(said)) == 8
    left = cut_message(said, [sentence])
    assert not any(texts.find(text) for text in texts_of(left))
    assert left.content == f"So {ERASED}."
    assert json.loads(left.tool_calls[0].arguments) == {"a": [f"{ERASED} \u00e9"]}
    # What a provider signed cannot be changed: it goes, and only it.
    assert [each.get("thinking") for each in left.raw["content"]] == ["Something else", None]
    other = message(content="Hello", tool_calls=(ToolCall("1", "f", '{"b":  1}'),), raw={"a": [1]})
    assert cut_message(other, [sentence]) == other

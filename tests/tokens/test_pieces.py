"""Cutting text into pieces and stretches: nothing lost, and no token ever across a cut."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row

from memoranda.tokens.estimate import BREAK, ENCODINGS, STRETCH, pieces, stretches, whole

ANY = st.text(st.characters(exclude_categories=["Cs"]))
# Later versions of Unicode give a category to characters that have none yet.
ASSIGNED = st.text(st.characters(exclude_categories=["Cs", "Cn"]))
# What the patterns tell apart, thrown together.
TRICKY = (
    "aBzé ßǅʰª漢かК한हि\u093f\u0301عم🎉\u200d\ufe0f\u00a0\u2028\u3000\x85\x1c\t\r\n"
    "  09٣²½Ⅷ'’\u017fsTLl!/#_-."
)
CONTRACTIONS = ["'s", "'LL", "'Re", "'\u017f", "don't", "IT'S"]
PARTS = st.one_of(st.sampled_from(TRICKY), st.sampled_from(CONTRACTIONS), st.sampled_from("\n /aA"))
NEAR = st.lists(PARTS).map("".join)


@each_row("encoding", ENCODINGS)
@given(text=ANY)
def test_pieces_cover_the_text(encoding, text):
    """Every character is in one piece, in order."""
    assert "".join(pieces(encoding).findall(text)) == text


@pytest.fixture(scope="module")
def published_patterns(download, tmp_path_factory):
    """The patterns in tiktoken, compiled by the package that knows their dialect."""
    regex, tiktoken = pytest.importorskip("regex"), pytest.importorskip("tiktoken")
    public = pytest.importorskip("tiktoken_ext.openai_public")
    folder = tmp_path_factory.mktemp("tiktoken")
    patterns = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        for name in ENCODINGS:
            download(folder, name)
            parts = public.ENCODING_CONSTRUCTORS[name]()
            patterns[name] = regex.compile(tiktoken.Encoding(**parts)._pat_str)
    return patterns


@each_row("name", ENCODINGS)
@given(text=st.one_of(NEAR, ASSIGNED))
@example(text="x!\n//\n/ a IT'Sx  \n \r\n\u3000b 1234567")
def test_pieces_are_those_of_the_published_patterns(published_patterns, name, text):
    """Written for another engine, the patterns cut every text as tiktoken's own do."""
    assert pieces(name).findall(text) == published_patterns[name].findall(text)


@each_row("name", ENCODINGS)
@given(text=st.one_of(NEAR, ANY))
def test_no_token_crosses_a_piece(name, text):
    """Counted piece by piece, a text has as many tokens as in one: the cuts are the encoding's."""
    module = pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    tokenizer = getattr(module.openai, name)()
    merged = tokenizer.bpe()
    parts = pieces(name).findall(text)
    assert sum(merged.count(part.encode()) for part in parts) == tokenizer.count(text)


@each_row("name", ENCODINGS)
@given(text=NEAR)
def test_no_piece_crosses_a_break(name, text):
    """Cut at any place where stretches may be cut, a text has the very same pieces."""
    cut = pieces(name).findall
    for found in BREAK.finditer(text):
        assert cut(text[: found.start()]) + cut(text[found.start() :]) == cut(text)


def test_stretches_are_cut_where_no_piece_is(oracle, dice):
    """A long text has as many tokens in parts as in one."""
    words = ["tea ", "don't ", "\n", "\n\n  ", "12345 ", "naïve", "!?\n", "漢字 ", "x/y", "  "]
    text = "".join(dice.choices(words, k=80_000))
    parts = list(stretches(text))
    assert len(parts) > 3
    assert all(0 < len(part) <= STRETCH for part in parts)
    assert "".join(parts) == text
    assert sum(map(oracle, parts)) == oracle(text)


@given(size=st.integers(0, 5), unit=st.sampled_from(["a", " ", "漢 ", "\n"]))
def test_stretches_are_bounded_and_complete(size, unit):
    """Also where there is no place to cut, and for an empty text."""
    text = unit * (size * STRETCH // 2)
    parts = list(stretches(text))
    assert "".join(parts) == text
    assert all(0 < len(part) <= STRETCH for part in parts)


def test_whole_text_can_be_written_as_utf8():
    """Pairs become their character, lone surrogates U+FFFD, and the rest stays."""
    assert whole("tea ☕") == "tea ☕"
    assert whole("\ud83d\ude00") == "😀"
    assert whole("a\ud83d\udc00b\udfff") == "a\U0001f400b\ufffd"
    assert whole("\ud83dx") == "\ufffdx"

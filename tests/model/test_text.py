"""Text is stored as it is, or refused with the reason."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.model.checks import clean, content_hash, storable

ANY = st.text(st.characters())


@given(text=ANY)
def test_text_is_kept_or_refused_as_utf8_can_hold_it(text):
    """What passes is unchanged and survives UTF-8 and SQLite; the rest is refused."""
    try:
        assert storable(text, "content") == text
    except InvalidInput:
        surrogate = any("\ud800" <= character <= "\udfff" for character in text)
        assert "\x00" in text or surrogate
    else:
        assert text.encode().decode() == text
        connection = sqlite3.connect(":memory:")
        assert connection.execute("SELECT ?", (text,)).fetchone() == (text,)
        connection.close()


@given(text=ANY)
def test_clean_is_storable_and_not_blank(text):
    """Content needs more than white space, keeps its own, and is not normalised."""
    if not text.strip():
        with pytest.raises(InvalidInput, match="empty"):
            clean(text, "content")
    for kept in (" tea ", "tea\n", "\u00e9", "e\u0301", "\ufeffx", "a\r\nb"):
        assert clean(kept, "content") == kept


def test_what_is_no_text_is_refused():
    """Other types are named in the error."""
    for value in (None, 5, b"tea", ["tea"], True):
        with pytest.raises(InvalidInput, match=f"must be text, got {type(value).__name__}"):
            clean(value, "content")


def test_errors_say_where():
    """A NUL or a lone surrogate is refused with its position and a remedy."""
    with pytest.raises(InvalidInput, match=r"NUL character at position 3.*replace"):
        storable("tea\x00", "content")
    with pytest.raises(InvalidInput, match=r"lone surrogate.*position 2.*errors='replace'"):
        storable("ab\udcff", "content")
    assert storable("", "content") == ""
    assert storable("👋", "content") == "👋"


@given(one=st.text(), other=st.text())
def test_hashes_tell_texts_apart(one, other):
    """Equal texts have equal hashes, others others; 32 hexadecimal digits each."""
    assert (content_hash(one) == content_hash(other)) == (one == other)
    assert len(content_hash(one)) == 32
    assert int(content_hash(one), 16) >= 0

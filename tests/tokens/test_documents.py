"""What a PDF and a recording in a message count: by pages and by length, not by their letters."""

import base64
import os
import zlib

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from memoranda import Conversation
from memoranda.tokens.documents import PAGE_BYTES, PAGE_TOKENS, count_document, count_pages

PAGES = [b"<< /Type /Page /Parent 2 0 R >>", b"<</Type/Page/Parent 2 0 R>>"]


def pdf(*objects):
    """Return a PDF with these objects beside the tree of its pages."""
    tree = b"<< /Type /Pages /Count 3 /Kids [3 0 R] >>"
    return b"%PDF-1.7\n" + b"\nendobj\n".join([tree, *objects, b"%%EOF"])


def packed(*objects):
    """Return a stream that holds objects, as newer files do."""
    inside = zlib.compress(b" ".join(objects))
    return b"<< /Type /ObjStm /Filter /FlateDecode >>\nstream\r\n" + inside + b"\nendstream"


@each_row(
    ("data", "pages"),
    [
        (pdf(*PAGES), 2),
        (pdf(b"<< /Type\n/Page >>", b"<< /Type /PageLabel >>"), 1),
        (pdf(packed(*PAGES), PAGES[0], packed(PAGES[1])), 4),
        (pdf(b"<< /Type /ObjStm >> stream\nsealed\nendstream"), 1),
        (pdf(b"<< /Type /ObjStm >> stream"), 1),
        (pdf(b"<< /Type /ObjStm >>", bytes(2 * PAGE_BYTES)), 3),
    ],
)
def test_the_pages_of_a_pdf_are_counted(data, pages):
    """As they are written, and packed; of one that hides them a size stands for each."""
    assert count_pages(data) == pages
    written = base64.b64encode(data).decode()
    for text in (written, f"data:application/pdf;base64,{written}"):
        assert count_document(text) == pages * PAGE_TOKENS


@settings(max_examples=examples(40))
@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_break_it(data, is_pdf):
    """What only begins like a PDF has a page; anything else is none."""
    written = base64.b64encode(b"%PDF-1." * is_pdf + data).decode()
    found = count_document(written)
    assert (found is not None) == (is_pdf or data.startswith(b"%PDF-"))
    assert found is None or found >= PAGE_TOKENS


def document(data):
    """Return a block of Anthropic's form."""
    written = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": written}
    return {"type": "document", "source": source}


def recording(data):
    """Return a block of OpenAI's form."""
    given = {"data": base64.b64encode(data).decode(), "format": "wav"}
    return {"type": "input_audio", "input_audio": given}


@pytest.mark.parametrize(
    ("block", "least", "most"),
    [
        (document(pdf(*PAGES, os.urandom(300_000))), 2 * PAGE_TOKENS, 2 * PAGE_TOKENS + 100),
        (
            document(pdf(packed(*PAGES * 30), os.urandom(900))),
            60 * PAGE_TOKENS,
            60 * PAGE_TOKENS + 100,
        ),
        (recording(os.urandom(960_000)), 300, 1_500),
    ],
)
def test_a_message_counts_what_its_file_costs(block, least, most):
    """Two pages of 300 kB, sixty of 1 kB, and half a minute of speech of 1 MB."""
    conversation = Conversation()
    conversation.extend([{"role": "user", "content": [block]}])
    assert least <= conversation.messages[0].tokens <= most

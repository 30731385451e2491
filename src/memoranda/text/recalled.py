"""The fence around recalled memory, and how recalled text is recognised when it comes back.

What was recalled into a prompt may return inside a message: whole in its fence, line by line
where a program took the fence away, or quoted by someone. That is use of a memory. Taken for
something newly said it would confirm itself, again and again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from memoranda.text.patterns import compile_pattern, stands_alone

FENCE = "memoranda-memory"
OPENING = compile_pattern(rf"<{FENCE}\b[^<>]*>")
CLOSING = compile_pattern(rf"</{FENCE}>\s*")
_OPENS = compile_pattern("[<\ufe64\uff1c]")
# Letters of other scripts, small capitals and digits, and what they look like.
_PLAIN = str.maketrans(
    "\u0430\u03b1\u1d00\u0501\u1d05\u0435\u03b5\u1d07\u043c\u1d0d\u043f\u03b7\u0578\u0274"
    "0\u043e\u03bf\u0585\u1d0f\u0433\u1d26\u0280\u0443\u03b3\u03c5\u028f",
    "aaaddeeemmnnnnooooorrryyyy",
)
LINE = compile_pattern(
    r"^[ \t]*- \[\d{4}-\d\d-\d\d \d\d:\d\d, [^\]\n]{1,200}\] (.+)$\n?", re.MULTILINE
)
# Between these stands what memory tells in an answer of its own: "Noted: …", "You said: “…”".
MARK = compile_pattern("[:;(\\n\u201c\u201d]")
# A statement has at most so many of them itself.
MOST_MARKS = 5
NOTHING = "Nothing in memory answers this."
NOTED = "Noted."
NO_ANSWER = "(no answer)"
# What memory says where it answers alone, and what stands for an answer that never came.
OWN = frozenset({NOTHING, NO_ANSWER})
_ID = r"(?:fact|ep|ctx|ref)_\w+"
# What the tools of memory say beside records.
OF_TOOLS = compile_pattern(
    rf"Known already as {_ID}\.|Remembered: .* \({_ID}\)|"
    rf"Corrected: {_ID} takes the place of {_ID}\.|"
    rf"Confirmed: {_ID} never fades\.|Nothing is known of .{{0,100}}\.|"
    rf"Forgotten: {_ID}\.|There is no memory .{{0,100}}\.|"
    r"\d[\d,]* \w+, .*; \d[\d,]* conversations; last recorded .*|"
    r"Error: (?:there is no fact .*|tool=.*|content (?:is|seems) .*|"
    r".* is no longer believed.*|"
    r"(?:search_memor(?:ies|y)|store_memory|remember_fact|forget_memory|recall_context|"
    r"correct_fact|confirm_fact|memory_stats|get_entity_info|search_history|expand_messages)\b.*)",
    re.DOTALL,
)
# A shorter sentence may well be said again by someone who means it.
LEAST_WORDS = 4


def escape_fence(text: str) -> str:
    """Return ``text`` such that it cannot open or close the fence around recalled memory."""
    return _OPENS.sub(lambda sign: "‹" if _names_fence(text, sign.end()) else sign[0], text)


def _names_fence(text: str, start: int) -> bool:
    """Return whether the letters from a place on read as the name of the fence, to the eye.

    Case, accents, marks, spaces, and characters that are not seen do not count.
    """
    left = "".join(filter(str.isalpha, FENCE))
    for place in range(start, len(text)):
        plain = unicodedata.normalize("NFKD", text[place]).casefold().translate(_PLAIN)
        letters = "".join(filter(str.isalnum, plain))
        if plain == "<" or not left.startswith(letters):
            return False
        left = left.removeprefix(letters)
        if not left:
            return True
    return False


def without_recalled(text: str) -> str:
    """Return ``text`` without the fenced blocks that recall itself put there."""
    return apart(text)[0]


def apart(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what is new in a text, and the contents of the records in its fenced blocks."""
    kept: list[str] = []
    told: list[str] = []
    start = 0
    while opening := OPENING.search(text, start):
        closing = CLOSING.search(text, opening.end())
        if closing is None:
            break
        kept.append(text[start : opening.start()])
        told += lines(text[opening.end() : closing.start()])
        start = closing.end()
    return "".join([*kept, text[start:]]), tuple(told)


def without_own(text: str) -> str:
    """Return ``text``; empty, if it is boilerplate that memory or its tools put around records."""
    said = text.strip()
    return "" if said in OWN or OF_TOOLS.fullmatch(said) else text


def lines(text: str) -> list[str]:
    """Return the contents of the lines of ``text`` that have the form of recalled records."""
    return [line[1].strip() for line in LINE.finditer(text)]


def is_line_of(line: str, content: str) -> bool:
    """Return whether a recalled line shows ``content``, on one line and perhaps cut at its end."""
    flat = " ".join(content.split())
    return flat == line or (line.endswith("…") and flat.startswith(line[:-1]))


def statements(answer: str) -> Iterator[str]:
    """Yield what may be one whole statement in an answer that memory gave without a model."""
    spans = [(0, 0), *(mark.span() for mark in MARK.finditer(answer)), (len(answer), 0)]
    for place, (_, start) in enumerate(spans, 1):
        for end, _ in spans[place : place + MOST_MARKS + 1]:
            yield answer[start:end]


def without_lines(text: str, known: Mapping[str, object]) -> str:
    """Return ``text`` without the lines of recall whose contents are ``known`` records'."""
    return LINE.sub(lambda line: "" if line[1].strip() in known else line[0], text)


def _flatten(text: str) -> str:
    """Return a text without regard to case and to the spaces between its words."""
    return " ".join(text.split()).casefold()


def without_quotes(text: str, recalled: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return ``text`` without what it quotes of recalled records, and the ids of these.

    Args:
        text: what was said in a conversation.
        recalled: id → content of the records that were recalled into it before.
    """
    used: list[str] = []
    flat = _flatten(text)
    for record, content in recalled.items():
        words = content.split()
        # To compile a pattern takes far longer than to see that nothing is quoted.
        if len(words) < LEAST_WORDS or _flatten(content).removesuffix(".") not in flat:
            continue
        spaced = r"\s+".join(map(re.escape, words)).removesuffix(r"\.")
        quoted = compile_pattern(rf"({spaced})\.?", re.IGNORECASE)
        found = quoted.sub(
            lambda each: "" if stands_alone(each.string, *each.span(1)) else each[0], text
        )
        if found != text:
            used.append(record)
            text, flat = found, _flatten(found)
    return text, tuple(used)

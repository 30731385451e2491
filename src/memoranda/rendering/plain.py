"""Results as plain text that is safe to show anywhere.

Stored text comes from anywhere. It is shown as it is, but never as something that a terminal
would obey: no control character in its raw form.
"""

from __future__ import annotations

DOT = " · "
# Control characters, and what is shown for them: Unicode has pictures of those of ASCII.
VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
VISIBLE |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


def escape_controls(text: str) -> str:
    """Return ``text`` with control characters other than newline and tab made visible."""
    return text.translate(VISIBLE)


def one_line(text: str, longest: int | None = None) -> str:
    """Return ``text`` on one line, safe to show, cut to ``longest`` characters if given."""
    line = escape_controls(" ".join(text.split()))
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def join(*parts: str) -> str:
    """Return what is not empty of ``parts``, with dots between."""
    return DOT.join(filter(None, parts))


def pluralize(number: int, one: str, many: str | None = None) -> str:
    """Return ``number`` with its noun, in the singular or the plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"

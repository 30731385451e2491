"""Takes out of what is said what memory itself had told, and counts that as use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memoranda.model.actions import Action, Touch
from memoranda.model.scope import Scope
from memoranda.model.text import content_hash
from memoranda.parts import Parts
from memoranda.text import recalled as returned


class Heard(NamedTuple):
    """What is new in a text, and the actions that count what was not as use."""

    text: str
    actions: tuple[Action, ...]


def heard(parts: Parts, scope: Scope, text: str) -> Heard:
    """Return what is new in ``text``: no block of recall, and none of its lines."""
    new, told = returned.apart(text)
    loose = returned.lines(new)
    if not told and not loose:
        return Heard(returned.without_own(new), ())
    now = parts.now()
    known = _known(parts, scope, [*told, *loose])
    ids = tuple(
        dict.fromkeys(record for content in [*told, *loose] for record in known.get(content, ()))
    )
    new = returned.without_lines(new, known)
    return Heard(returned.without_own(new), (Touch(ids, now),) if ids else ())


def _known(parts: Parts, scope: Scope, contents: Sequence[str]) -> dict[str, list[str]]:
    hashes = {content_hash(content): content for content in contents}
    found: dict[str, list[str]] = {}
    for record in parts.store.with_hashes(scope, list(hashes), now=parts.now()):
        found.setdefault(hashes[record.content_hash], []).append(record.id)
    return found

"""Judges the new text of MEMORY.md that a model wrote: what may take the place of the old one.

Models answer "No changes.", forget half of what they copy, or make something up. So a new text is
taken only if most of the old lines are still said in it. Above the size that the file may have,
where the model was asked to leave lines out, one is enough; the former text is kept beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memoranda.learning.claims import Turn
from memoranda.learning.llm.claim_checking import names, numbers, stems
from memoranda.notes.document import NoteItem, parse
from memoranda.text.patterns import compile_pattern
from memoranda.text.secrets import has_secret, mask_secrets

# Share of the words of an old line that a new one must have to say it still.
KEPT = 0.5
_MARKS = compile_pattern(r"^[\s>|*+-]*(?:\d{1,3}[.)]\s+)?|[\s|]+$")
_NO_STATEMENT = compile_pattern(r"\s*(?:#.*|[-=*_|: ]*|`{3}.*|~{3}.*|<!--.*)")


@dataclass(frozen=True, slots=True)
class Compression:
    """A shorter text of MEMORY.md that a model wrote, and that holds.

    Attributes:
        text: the whole file.
        lines: what its bullets say, each with its stems.
    """

    text: str
    lines: tuple[tuple[str, frozenset[str]], ...]

    def line_for(self, old: str) -> str | None:
        """Return the bullet that says an old line, whole or shortened; ``None`` if none does."""
        same = next((line for line, _ in self.lines if line == old), None)
        if same is not None or not old:
            return same
        wanted = stems(old)
        shares = [(_share(wanted, said), -at) for at, (_, said) in enumerate(self.lines)]
        share, place = max(shares, default=(0.0, 0))
        return self.lines[-place][0] if share >= KEPT else None


def accept_update(memory: str, update: str, *, most_bytes: int) -> str | None:
    """Return a model's new text of MEMORY.md, secrets masked; ``None`` if it may not be written.

    Args:
        memory: the file as it was shown to the model.
        update: the text that the model gave.
        most_bytes: size above which the model was asked to make the file shorter.
    """
    text = "".join(_without_secrets(update.strip()))
    old, new = list(_statements(memory)), [stems(line) for line in _statements(text)]
    document = parse(text)
    if not old:
        return text if document.bullets or document.headings else None
    if parse(memory).bullets and not document.bullets:
        return None
    lines = set(_statements(text))
    said = [line in lines or any(_share(stems(line), each) >= KEPT for each in new) for line in old]
    is_long = len(memory.encode("utf-8", "replace")) > most_bytes
    wanted = 1 if is_long else (len(old) + 1) // 2
    return text if sum(said) >= wanted else None


def read_compression(
    memory: str, update: str, turns: Sequence[Turn], *, most_bytes: int
) -> Compression | None:
    """Return a model's shorter text of a MEMORY.md that is too long, without what nobody said.

    Args:
        memory: the file as it was shown to the model.
        update: the text that the model gave.
        turns: the conversation that the model was shown.
        most_bytes: the size that the file may have.
    """
    text = accept_update(memory, update, most_bytes=most_bytes)
    if text is None or len(text) >= len(memory):
        return None
    evidence = "\n".join([memory, *(turn.text for turn in turns if turn.person)])
    words, figures = stems(evidence), numbers(evidence)
    known = set(_statements(memory))

    def holds(item: NoteItem) -> bool:
        said = stems(item.text)
        founded = numbers(item.text) <= figures and names(item.text) <= words
        return item.text in known or (founded and _share(said, words) >= KEPT)

    document = parse(text)
    patched = document.patch({item: None for item in document.items if not holds(item)})
    lines = tuple((item.text, frozenset(stems(item.text))) for item in patched.bullets)
    if not patched.items:
        return None
    return Compression(patched.render(), lines)


def _share(wanted: set[str], said: set[str] | frozenset[str]) -> float:
    """Return the share of the wanted stems that are said."""
    return len(wanted & said) / len(wanted) if wanted else 0.0


def _statements(text: str) -> Iterator[str]:
    """Yield the lines of Markdown that say something, without marks."""
    for line in text.splitlines():
        if not _NO_STATEMENT.fullmatch(line):
            yield " ".join(_MARKS.sub("", line).split())


def _without_secrets(text: str) -> Iterator[str]:
    """Yield the lines of a text, those that tell a secret masked."""
    for line in text.splitlines():
        yield f"{mask_secrets(line) if has_secret(line) else line}\n"

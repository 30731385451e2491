"""Cleans and searches all files for what was erased: those of the store, the notes, the prompts."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memoranda.model.capabilities import PURGE
from memoranda.model.models import PlaceKind, Scope, TextPlace
from memoranda.model.ports import Store
from memoranda.notes.prompt_history import PromptHistory, history_file
from memoranda.notes.service import NotesService
from memoranda.text.byte_search import ByteSearch, probes
from memoranda.text.erased import ErasedTexts, is_long, split_words

log = logging.getLogger("memoranda.notes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedFileCleaner:
    """Implements :class:`memoranda.records.erasing.ErasedFiles` for one scope.

    Attributes:
        scope: whose texts were erased.
        store: where they were.
        notes: finds the notes.
        forget: clears caches, overwrites free space; says why it could not.
    """

    scope: Scope
    store: Store
    notes: NotesService
    forget: Callable[[], str | None]

    def clean(self, texts: ErasedTexts | None) -> list[TextPlace]:
        """Cut erased text out of the prompt history, or all of it; return where it was."""
        path = history_file(self.scope.user)
        done = PromptHistory(path, log.warning).erase(texts)
        return [TextPlace(PlaceKind.TYPED, str(path))] if done else []

    def wipe(self, texts: ErasedTexts, staying: Sequence[str]) -> str | None:
        """Clear caches and free space, and search the files; say why it is not all gone."""
        unpurged = self.forget()
        if unpurged is not None:
            return unpurged
        wanted = {probe: phrase for phrase in texts.phrases() for probe in probes(phrase)}
        found = self.store.search_files(wanted)
        if found is None:
            able = next(each for each in self.store.capabilities() if each.name == PURGE)
            return f"no row holds it, but the files of a server cannot be searched: {able.detail}"
        files = list(self._files())
        beside = ByteSearch(wanted).files(files) if files else {}
        left = {text: {*found.get(text, ()), *beside.get(text, ())} for text in {*found, *beside}}
        left = {text: names for text, names in left.items() if not _in_any(text, staying)}
        for text in self._said_otherwise(left, wanted) if left else ():
            left.pop(text, None)
        if not left:
            return None
        names = sorted({name for names in left.values() for name in names})
        return (
            f"{', '.join(names)} may still hold some of it; close other programs that use the "
            f"store, and run memoranda doctor --purge"
        )

    def _said_otherwise(self, left: dict[str, set[str]], wanted: dict[str, str]) -> set[str]:
        """Return what stands in texts of others, or is too short to tell from other texts."""
        short = {
            text for text in left if not is_long(word.folded for word in split_words(wanted[text]))
        }
        return short | self.store.told_by_others(self.scope, left)

    def _files(self) -> Iterator[tuple[str, BinaryIO]]:
        paths = [history_file(self.scope.user)]
        for notes in self.notes.every(self.scope):
            paths += sorted(Path(notes.folder).glob("*.md*"))
        for path in paths:
            if path.is_file():
                yield str(path), io.BytesIO(path.read_bytes())


def _in_any(text: str, others: Sequence[str]) -> bool:
    return any(text in each for each in others)

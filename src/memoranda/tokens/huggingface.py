"""Exact counts by any ``tokenizer.json``, the format of Hugging Face's tokenizers."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path
from typing import Any

from memoranda.model.ports import TokenCounter
from memoranda.tokens.characters import whole
from memoranda.tokens.fallback import estimate_instead

log = logging.getLogger("memoranda.tokens")

INSTALL = "pip install 'memoranda[local]', which brings the package tokenizers"


class HuggingFaceCounter:
    """Counts with a tokenizer of the package tokenizers, whatever its model is. Thread-safe."""

    exact = True

    def __init__(self, name: str, tokenizer: Any) -> None:
        """Count with ``tokenizer``, which is changed to neither cut nor pad."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True  # Read as text, not as the tokens they spell.
        self._name = name
        self._tokenizer = tokenizer

    @property
    def name(self) -> str:
        """The path of the file."""
        return self._name

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has, without those that a model puts around it.

        Where the tokenizer itself fails (one without an unknown token does on characters it
        does not know) the text is estimated, with a warning.
        """
        if not text:
            return 0
        try:
            return len(self._tokenizer.encode(whole(text), add_special_tokens=False).ids)
        except Exception as error:
            log.debug("%s failed on a text", self._name, exc_info=True)
            why = f"it failed on a text: {error!s:.200}"
            counter = estimate_instead(self._name, why=why, remedy="use another tokenizer.json")
            return counter.count(text)


def huggingface_counter(path: Path) -> TokenCounter:
    """Return what counts by the ``tokenizer.json`` at ``path``.

    If the package or the file is missing, or the file is broken, it is an estimate, and a
    warning says why and what to do.
    """
    try:
        tokenizers = import_module("tokenizers")
    except ImportError:
        why = "the package tokenizers is not installed"
        return estimate_instead(str(path), why=why, remedy=INSTALL)
    if not path.is_file():
        remedy = "put the model's tokenizer.json there, or change the setting tokens.tokenizers"
        return estimate_instead(str(path), why="there is no such file", remedy=remedy)
    try:
        return HuggingFaceCounter(str(path), tokenizers.Tokenizer.from_file(str(path)))
    except Exception as error:
        log.debug("%s cannot be read", path, exc_info=True)
        remedy = "download the file again, or bring tokenizers up to date"
        return estimate_instead(str(path), why=f"it cannot be read: {error!s:.200}", remedy=remedy)

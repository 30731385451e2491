"""Exact counts by a model's own tokenizer: OpenAI's encodings, or a ``tokenizer.json``.

Of OpenAI's encodings, what needs no network comes first: the package rs_bpe, which holds the
vocabularies, then tiktoken, which downloads them once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from memoranda.model.ports import TokenCounter
from memoranda.tokens.estimate import estimate_instead, stretches, whole

log = logging.getLogger("memoranda.tokens")

REMEDY = (
    "pip install 'memoranda[tokens]', and where there is no network set TIKTOKEN_CACHE_DIR to a "
    "folder in which tiktoken has downloaded {} before"
)

_loaded: dict[str, TokenCounter] = {}
_loading = Lock()


class ExactCounter:
    """Counts with a tokenizer itself. Special tokens in a text are ordinary text to it.

    Attributes:
        name: the encoding, or the path of the tokenizer's file.
    """

    exact = True

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        """Count with ``count``, which takes any text without lone surrogates."""
        self.name = name
        self._count = count

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has; a lone surrogate counts as U+FFFD."""
        return self._count(whole(text)) if text else 0


def openai_counter(encoding: str, *, timeout: float) -> TokenCounter:
    """Return what counts in one of OpenAI's encodings: exactly, if that can be had at all.

    The first call in a process decides, and later ones get the same counter. If no tokenizer
    can be loaded it is an estimate, and a warning says why and what to do.

    Args:
        encoding: ``cl100k_base`` or ``o200k_base``.
        timeout: seconds to wait for a download. It goes on afterwards, so that the next
            process finds the vocabulary.
    """
    with _loading:
        if encoding not in _loaded:
            _loaded[encoding] = _load(encoding, timeout)
        return _loaded[encoding]


def _load(encoding: str, timeout: float) -> TokenCounter:
    tried = []
    for way in (rust, partial(tiktoken, timeout=timeout)):
        found = way(encoding)
        if isinstance(found, ExactCounter):
            return found
        tried.append(found)
    remedy = REMEDY.format(encoding)
    return estimate_instead(encoding, why="; ".join(tried), remedy=remedy, encoding=encoding)


def rust(encoding: str) -> ExactCounter | str:
    """Return a counter by rs_bpe, or why there is none."""
    try:
        return ExactCounter(encoding, getattr(import_module("rs_bpe.bpe").openai, encoding)().count)
    except (ImportError, AttributeError) as error:
        return f"rs_bpe: {error}"


def tiktoken(encoding: str, *, timeout: float) -> ExactCounter | str:
    """Return a counter by tiktoken, or why there is none in time.

    It may download the vocabulary, and itself waits for ever: so it does on a thread that nothing
    waits for.
    """
    if not find_spec("tiktoken"):
        return "tiktoken is not installed"
    answer: SimpleQueue[ExactCounter | str] = SimpleQueue()
    work = Thread(
        target=lambda: answer.put(_tiktoken(encoding)),
        name=f"memoranda-download-{encoding}",
        daemon=True,
    )
    work.start()
    try:
        return answer.get(timeout=timeout)
    except Empty:
        return f"the download took longer than {timeout:g} s"


def _tiktoken(encoding: str) -> ExactCounter | str:
    try:
        package = import_module("tiktoken")
        # Not tiktoken.get_encoding: it would hold a lock for all encodings while it downloads.
        parts = import_module("tiktoken_ext.openai_public").ENCODING_CONSTRUCTORS[encoding]()
        encode = package.Encoding(**parts).encode_ordinary
    except Exception as error:
        log.debug("tiktoken could not load %s", encoding, exc_info=True)
        return f"tiktoken: {type(error).__name__}: {error!s:.200}"
    return ExactCounter(encoding, lambda text: sum(len(encode(part)) for part in stretches(text)))


INSTALL = "pip install 'memoranda[local]', which brings the package tokenizers"


def tokenizer_counter(name: str, tokenizer: Any) -> ExactCounter:
    """Return what counts with a tokenizer of the package tokenizers, whatever its model is.

    Without the tokens that a model puts around a text. Where the tokenizer itself fails (one
    without an unknown token does on characters it does not know) the text is estimated, with a
    warning.
    """
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # Read as text, not as the tokens they spell.

    def count(text: str) -> int:
        try:
            return len(tokenizer.encode(text, add_special_tokens=False).ids)
        except Exception as error:
            log.debug("%s failed on a text", name, exc_info=True)
            why = f"it failed on a text: {error!s:.200}"
            return estimate_instead(name, why=why, remedy="use another tokenizer.json").count(text)

    return ExactCounter(name, count)


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
        return tokenizer_counter(str(path), tokenizers.Tokenizer.from_file(str(path)))
    except Exception as error:
        log.debug("%s cannot be read", path, exc_info=True)
        remedy = "download the file again, or bring tokenizers up to date"
        return estimate_instead(str(path), why=f"it cannot be read: {error!s:.200}", remedy=remedy)

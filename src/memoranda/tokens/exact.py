"""Exact counts by a model's own tokenizer: OpenAI's encodings, or a ``tokenizer.json``.

Of OpenAI's encodings, what needs no network comes first: the package rs_bpe, which holds the
vocabularies, then tiktoken, which downloads them once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from memoranda.model.ports import TokenCounter
from memoranda.tokens.estimate import EstimatedCounter, stretches, warn_of_estimate, whole

REMEDY = (
    "pip install 'memoranda[tokens]', and where there is no network set TIKTOKEN_CACHE_DIR to a "
    "folder in which tiktoken has downloaded {} before"
)
Count = Callable[[str], int]


class ExactCounter:
    """Counts with a tokenizer itself. Special tokens in a text are ordinary text to it.

    Attributes:
        name: the encoding, or the path of the tokenizer's file.
    """

    exact = True

    def __init__(self, name: str, count: Count) -> None:
        """Count with ``count``, which takes any text without lone surrogates."""
        self.name = name
        self._count = count

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has; a lone surrogate counts as U+FFFD."""
        return self._count(whole(text)) if text else 0


@cache
def openai_counter(encoding: str, timeout: float) -> TokenCounter:
    """Return what counts in one of OpenAI's encodings: exactly, if that can be had at all.

    The first call in a process decides. If no tokenizer can be loaded it is an estimate, and a
    warning says why and what to do.

    Args:
        encoding: ``cl100k_base`` or ``o200k_base``.
        timeout: seconds to wait for a download. It goes on afterwards, so that the next
            process finds the vocabulary.
    """
    try:
        return ExactCounter(encoding, rust(encoding))
    except (ImportError, AttributeError) as error:
        why = f"rs_bpe: {error}"
    # The download itself waits for ever: so it does on a thread that nothing waits for.
    answer: SimpleQueue[Count | str] = SimpleQueue()
    name = f"memoranda-download-{encoding}"
    Thread(target=lambda: answer.put(tiktoken(encoding)), name=name, daemon=True).start()
    try:
        found = answer.get(timeout=timeout)
    except Empty:
        found = f"tiktoken: the download took longer than {timeout:g} s"
    if not isinstance(found, str):
        return ExactCounter(encoding, found)
    estimate = EstimatedCounter(encoding)
    warn_of_estimate(encoding, f"{why}; {found}", REMEDY.format(encoding))
    return estimate


def rust(encoding: str) -> Count:
    """Return what counts by rs_bpe."""
    count: Count = getattr(import_module("rs_bpe.bpe").openai, encoding)().count
    return count


def tiktoken(encoding: str) -> Count | str:
    """Return what counts by tiktoken, or why nothing does; it may download the vocabulary."""
    try:
        package = import_module("tiktoken")
        # Not tiktoken.get_encoding: it would hold a lock for all encodings while it downloads.
        parts = import_module("tiktoken_ext.openai_public").ENCODING_CONSTRUCTORS[encoding]()
        encode = package.Encoding(**parts).encode_ordinary
    except Exception as error:  # noqa: BLE001 - of the network, of a broken file, of the import
        return f"tiktoken: {type(error).__name__}: {error!s:.200}"
    return lambda text: sum(len(encode(part)) for part in stretches(text))


def huggingface_counter(path: Path) -> TokenCounter:
    """Return what counts by the ``tokenizer.json`` at ``path``.

    If the package or the file is missing, or the file is broken, it is an estimate, and a
    warning says why and what to do.
    """
    try:
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001 - tokenizers raises Exception itself
        remedy = (
            "put the model's tokenizer.json there, change the setting tokens.tokenizers, or "
            "pip install 'memoranda[tokens]'"
        )
        warn_of_estimate(str(path), f"{error!s:.200}", remedy)
        return EstimatedCounter()
    return tokenizer_counter(str(path), tokenizer)


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
        except Exception as error:  # noqa: BLE001 - tokenizers raises Exception itself
            warn_of_estimate(name, f"{error!s:.200}", "use another tokenizer.json")
            return EstimatedCounter().count(text)

    return ExactCounter(name, count)

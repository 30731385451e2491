"""Exact counts by a model's own tokenizer: OpenAI's encodings, or a ``tokenizer.json``.

OpenAI's encodings are counted by the package rs_bpe, which holds their vocabularies: nothing is
downloaded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from memoranda.model.ports import TokenCounter
from memoranda.text.patterns import join_surrogates
from memoranda.tokens.estimate import EstimatedCounter, warn_of_estimate

INSTALL = "pip install 'memoranda[tokens]'"


class ExactCounter:
    """Counts with a tokenizer itself. Special tokens in a text are ordinary text to it.

    Where the tokenizer fails (one without an unknown token does on characters it does not know)
    the text is estimated, with a warning.

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
        try:
            return self._count(join_surrogates(text)) if text else 0
        except Exception as error:  # noqa: BLE001 - tokenizers raises Exception itself
            warn_of_estimate(self.name, type(error).__name__, "use another tokenizer.json")
            return EstimatedCounter().count(text)


def openai_counter(encoding: str) -> TokenCounter:
    """Return what counts in ``cl100k_base`` or ``o200k_base``: exactly, if rs_bpe is there.

    Else it is an estimate, and a warning says why and what to do.
    """
    try:
        tokenizer = getattr(import_module("rs_bpe.bpe").openai, encoding)()
    except (ImportError, AttributeError) as error:
        warn_of_estimate(encoding, f"rs_bpe: {error}", INSTALL)
        return EstimatedCounter(encoding)
    return ExactCounter(encoding, tokenizer.count)


def huggingface_counter(path: Path) -> TokenCounter:
    """Return what counts by the ``tokenizer.json`` at ``path``, without what a model puts around.

    If the package or the file is missing, or the file is broken, it is an estimate, and a
    warning says why and what to do.
    """
    try:
        tokenizer = import_module("tokenizers").Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001 - tokenizers raises Exception itself
        remedy = "put the model's tokenizer.json there, change the setting tokens.tokenizers, or "
        warn_of_estimate(str(path), f"{error!s:.200}", remedy + INSTALL)
        return EstimatedCounter()
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # Read as text, not as the tokens they spell.
    return ExactCounter(
        str(path), lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    )

"""Names found by an installed spaCy pipeline: the provider ``spacy`` (extra ``spacy``).

Any pipeline that fills ``doc.ents``, by its package name or its folder. spaCy itself, and the
pipeline, are loaded when the first text is read, so that starting costs nothing.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memoranda.errors import ConfigError, MissingExtra
from memoranda.model.models import Mention
from memoranda.model.processes import follow_forks
from memoranda.text.entity_labels import entity_type
from memoranda.text.limits import MOST_READ
from memoranda.text.patterns import compile_pattern, encodable

if TYPE_CHECKING:
    from spacy.language import Language

# Of every name: above the rules' names, below marks, which have a form of their own. spaCy's
# pipelines do not say how sure they are.
CONFIDENCE = 0.85

_BEFORE = compile_pattern(r"(?:(?:the|a|an)\s|[\s\"'“”\u2018’(\[])+", re.IGNORECASE)
_AFTER = compile_pattern(r"(?:['’]s|[\s\"'“”\u2018’)\],;:!?])+\Z")


class SpacyNames:
    """A spaCy pipeline as an :class:`~memoranda.model.ports.EntityExtractor`.

    Thread-safe: one text at a time, since a pipeline's vocabulary grows as it reads. Reads
    the first :data:`~memoranda.text.limits.MOST_READ` characters.
    """

    def __init__(self, model: str) -> None:
        """Take the installed pipeline ``model``, by its package name or its folder.

        Raises:
            MissingExtra: spaCy is not installed.
            ConfigError: there is no such pipeline.
        """
        if find_spec("spacy") is None:
            raise MissingExtra(f"the spaCy pipeline {model}", "spacy")
        try:
            distribution(model)
        except (PackageNotFoundError, ValueError):
            folder = Path(model).expanduser()
            if not (model and (folder / "config.cfg").is_file()):
                raise ConfigError(
                    f"entities.spacy_model={model!r} is neither an installed spaCy pipeline nor "
                    f"the folder of one; install it (python -m spacy download NAME) or correct it"
                ) from None
            model = str(folder)
        self._model = model
        self.after_fork()
        follow_forks(self)
        self._pipeline: Language | None = None

    def after_fork(self) -> None:
        """Have a lock that nobody holds, as in a process that was forked."""
        self._lock = Lock()

    def extract(self, text: str) -> list[Mention]:
        """Return the names in the order of their start, none overlapping.

        Raises:
            ConfigError: the pipeline cannot be loaded, or finds no names at all.
        """
        read = encodable(text[:MOST_READ])
        with self._lock:
            if self._pipeline is None:
                self._pipeline = _loaded(self._model)
            found = [(e.start_char, e.end_char, e.label_) for e in self._pipeline(read).ents]
        mentions = (_mention(text, *each) for each in sorted(found))
        return [mention for mention in mentions if mention is not None]


def _loaded(model: str) -> Language:
    try:
        pipeline: Language = import_module("spacy").load(model)
        metas = [pipeline.get_pipe_meta(name) for name in pipeline.pipe_names]
    except Exception as error:
        raise ConfigError(
            f"entities.spacy_model={model!r} could not be loaded: {type(error).__name__}: {error}; "
            f"install a pipeline that fits the installed spaCy (python -m spacy validate)"
        ) from error
    if not any("doc.ents" in meta.assigns for meta in metas):
        raise ConfigError(
            f"entities.spacy_model={model!r} has no component that finds names (it has "
            f"{', '.join(pipeline.pipe_names) or 'none'}); choose a pipeline with ner"
        )
    return pipeline


def _mention(text: str, start: int, end: int, label: str) -> Mention | None:
    """Return a name without the article, possessive and quotes that stand around it."""
    kind = entity_type(label)
    before = _BEFORE.match(text, start, end)
    start = before.end() if before else start
    after = _AFTER.search(text, start, end)
    end = after.start() if after else end
    if kind is None or not any(character.isalnum() for character in text[start:end]):
        return None
    return Mention(text[start:end], kind, start, end, CONFIDENCE)

"""The providers that find names in a text: rules, a spaCy pipeline, a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoranda.entities.pipeline import FAST, EntityPipeline
from memoranda.entities.rules import RuleExtractor
from memoranda.model.ports import EntityExtractor, LanguageModel
from memoranda.settings.parsing import names as strategy_names

if TYPE_CHECKING:
    from memoranda.entities.model_names import Run
    from memoranda.settings.sections import EntitySettings


@dataclass(frozen=True, slots=True)
class EntityProviders:
    """What can find names in a text, the language model apart.

    Attributes:
        ready: providers by name.
        missing: why others are not among them.
    """

    ready: Mapping[str, EntityExtractor]
    missing: Mapping[str, str]

    def pipeline(
        self,
        strategies: Mapping[str, tuple[str, ...]],
        model: LanguageModel | None,
        run: Run,
    ) -> EntityPipeline:
        """Return the pipeline of these strategies, with ``model`` as the provider ``llm``."""
        from memoranda.entities.model_names import ModelNames  # noqa: PLC0415 - only for a model

        asked = {} if model is None else {"llm": ModelNames(model, run=run)}
        return EntityPipeline({**self.ready, **asked}, strategies, missing=self.missing)

    def fast(self, settings: EntitySettings) -> EntityExtractor:
        """Return the fast extractor, which reads each text as it is stored, without a model."""
        order = tuple(name for name in strategy_names(settings.fast) if name in self.ready)
        if order == ("regex",):
            return self.ready["regex"]
        return EntityPipeline(self.ready, {FAST: order}, missing=self.missing).using(FAST)


def open_entity_providers(settings: EntitySettings) -> EntityProviders:
    """Return the providers of names that the settings name.

    Raises:
        ConfigError: there is no such spaCy pipeline.
        MissingExtra: a spaCy pipeline is named, and spaCy is not installed.
    """
    ready: dict[str, EntityExtractor] = {"regex": RuleExtractor()}
    if settings.spacy_model is not None:
        from memoranda.providers.spacy_names import SpacyNames  # noqa: PLC0415 - only if named

        ready["spacy"] = SpacyNames(settings.spacy_model)
    return EntityProviders(ready, {})

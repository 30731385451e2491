"""Which providers find the names in a text, and in what order (requirement S4.36).

The quick ones read each text as it comes; the slow and better ones read it again at night.
A provider that fails costs its own names only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memoranda.entities.rules import RuleExtractor
from memoranda.errors import ConfigError, MemorandaError, MissingExtra, StoreClosed
from memoranda.model.models import Mention
from memoranda.model.ports import EntityExtractor

if TYPE_CHECKING:
    from memoranda.settings.sections import EntitySettings

log = logging.getLogger("memoranda.entities")

RULES = "regex"
FAST, ACCURATE = "fast", "accurate"
# What is said of a provider that nobody set up.
REMEDIES: Mapping[str, str] = {
    "spacy": "no spaCy pipeline is named; set entities.spacy_model to one that is installed, "
    "or to its folder",
    "llm": "no language model is set up; set llm.model",
}


def open_entity_providers(settings: EntitySettings) -> dict[str, EntityExtractor]:
    """Return the providers of names that the settings name, the language model apart.

    Raises:
        ConfigError: there is no such spaCy pipeline.
        MissingExtra: a spaCy pipeline is named, and spaCy is not installed.
    """
    ready: dict[str, EntityExtractor] = {RULES: RuleExtractor()}
    if settings.spacy_model is not None:
        from memoranda.providers.spacy_names import SpacyNames  # noqa: PLC0415 - only if named

        ready["spacy"] = SpacyNames(settings.spacy_model)
    return ready


class EntityReading(NamedTuple):
    """What a strategy found in one text.

    Attributes:
        mentions: in order, none overlapping.
        failed: the providers that failed on this text: it is worth reading again.
    """

    mentions: list[Mention]
    failed: tuple[str, ...] = ()


class EntityPipeline:
    """Providers of names, and strategies that say which of them run, in what order.

    As an :class:`~memoranda.model.ports.EntityExtractor` it reads by the strategy ``fast``.
    Thread-safe as far as its providers are. Safe to share: it keeps no text.

    Attributes:
        missing: the providers that strategies name and that cannot run, each with the remedy.
            One that turns out to be unusable when it is first needed joins them.
    """

    def __init__(
        self, providers: Mapping[str, EntityExtractor], strategies: Mapping[str, Sequence[str]]
    ) -> None:
        """Put ``providers`` in the order of each of the ``strategies``.

        Args:
            providers: by name: ``regex``, ``spacy``, ``llm``.
            strategies: provider names by strategy. Those that are not among the providers
                are passed over and listed in :attr:`missing`.
        """
        self._providers, self._strategies = providers, strategies
        self.missing = {
            name: REMEDIES[name]
            for order in strategies.values()
            for name in order
            if name not in providers
        }

    @property
    def strategies(self) -> dict[str, tuple[str, ...]]:
        """The providers that run, by strategy, in their order."""
        return {
            name: tuple(each for each in order if each not in self.missing)
            for name, order in self._strategies.items()
        }

    @property
    def accurate_available(self) -> bool:
        """Whether the strategy ``accurate`` has more than rules to run (requirement S4.11)."""
        return any(name != RULES for name in self.strategies.get(ACCURATE, ()))

    def extract(self, text: str) -> list[Mention]:
        """Return mentions in the order of their start, none overlapping."""
        return self.read(FAST, text).mentions

    def read(self, strategy: str, text: str) -> EntityReading:
        """Return what ``strategy`` finds in ``text``, and which of its providers failed on it.

        A provider that fails is logged, without the text, and passed over.
        """
        found = {name: self._ask(name, text) for name in self.strategies[strategy]}
        failed = tuple(name for name, mentions in found.items() if mentions is None)
        mentions = resolve_overlaps(filter(None, found.values()))
        return EntityReading(mentions, failed)

    def _ask(self, name: str, text: str) -> list[Mention] | None:
        """Return what the provider finds; ``None`` if it fails."""
        try:
            return list(self._providers[name].extract(text))
        except (MissingExtra, ConfigError) as error:
            # It cannot run here at all, and is not asked again.
            self.missing[name] = str(error)
            log.warning("names are found without %s: %s", name, error)
        except StoreClosed:
            raise
        except MemorandaError as error:
            log.warning("%s failed on a text of %d characters: %s", name, len(text), error)
        except Exception:
            log.exception("%s failed on a text of %d characters", name, len(text))
        return None


def resolve_overlaps(found: Iterable[Iterable[Mention]]) -> list[Mention]:
    """Return the mentions of all providers, ordered and free of overlaps.

    Where mentions overlap, the highest confidence wins, then the longest span, then the
    earlier provider.

    Args:
        found: what each provider found, the preferred provider first.
    """
    kept: list[Mention] = []
    every = chain.from_iterable(found)
    for each in sorted(every, key=lambda each: (-each.confidence, each.start - each.end)):
        if all(each.end <= other.start or other.end <= each.start for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda mention: mention.start)

"""Which providers find the names in a text, and in what order (requirement S4.36).

The quick ones read each text as it comes; the slow and better ones read it again at night.
A provider that fails costs its own names only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memoranda.errors import ConfigError, InvalidInput, MemorandaError, MissingExtra
from memoranda.model.models import Mention
from memoranda.model.ports import EntityExtractor

log = logging.getLogger("memoranda.entities")

RULES = "regex"
FAST, ACCURATE = "fast", "accurate"
STRATEGIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {FAST: (RULES,), ACCURATE: (RULES, "spacy", "llm")}
)
REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "spacy": "no spaCy pipeline is named; set entities.spacy_model to one that is installed, "
        "or to its folder",
        "llm": "no language model is set up; set llm.model",
    }
)
"""What is said of a provider that nobody set up and for which no other reason was given."""


@dataclass(frozen=True, slots=True)
class EntityReading:
    """What a strategy found in one text.

    Attributes:
        mentions: in order, none overlapping.
        failed: the providers that failed on this text: it is worth reading again.
    """

    mentions: list[Mention]
    failed: tuple[str, ...] = ()


class EntityPipeline:
    """Providers of names, and strategies that say which of them run, in what order.

    Thread-safe as far as its providers are. Safe to share: it keeps no text.
    """

    def __init__(
        self,
        providers: Mapping[str, EntityExtractor],
        strategies: Mapping[str, Iterable[str]] = STRATEGIES,
        *,
        missing: Mapping[str, str] | None = None,
    ) -> None:
        """Put ``providers`` in the order of each of the ``strategies``.

        Args:
            providers: by name: ``regex``, ``spacy``, ``llm`` or any other.
            strategies: provider names by strategy. Names that are not among the providers
                are passed over and listed in :attr:`missing`.
            missing: why a provider is not set up, by name, where that is known better than
                :data:`REMEDIES` does.
        """
        self._providers = dict(providers)
        self._strategies = {name: tuple(order) for name, order in strategies.items()}
        reasons = {**REMEDIES, **(missing or {})}
        self._missing = {
            name: reasons.get(name, f"no provider has the name {name!r}; use {', '.join(REMEDIES)}")
            for name in dict.fromkeys(name for order in self._strategies.values() for name in order)
            if name not in self._providers
        }

    @property
    def strategies(self) -> dict[str, tuple[str, ...]]:
        """The providers that run, by strategy, in their order."""
        return {
            name: tuple(each for each in order if each not in self._missing)
            for name, order in self._strategies.items()
        }

    @property
    def missing(self) -> dict[str, str]:
        """The providers that strategies name and that cannot run, each with the remedy.

        One that turns out to be unusable when it is first needed joins them.
        """
        return dict(self._missing)

    @property
    def accurate_available(self) -> bool:
        """Whether the strategy ``accurate`` has more than rules to run (requirement S4.11)."""
        return any(name != RULES for name in self.strategies.get(ACCURATE, ()))

    def using(self, strategy: str) -> EntityExtractor:
        """Return this pipeline as an extractor that always uses ``strategy``.

        Raises:
            InvalidInput: there is no such strategy.
        """
        self._order(strategy)
        return _StrategyExtractor(self, strategy)

    def extract_with(self, strategy: str, text: str) -> list[Mention]:
        """Return the mentions that ``strategy`` finds, in order, none overlapping.

        Raises:
            InvalidInput: there is no such strategy.
        """
        return self.read(strategy, text).mentions

    def read(self, strategy: str, text: str) -> EntityReading:
        """Return what ``strategy`` finds in ``text``, and which of its providers failed on it.

        A provider that fails is logged, without the text, and passed over.

        Raises:
            InvalidInput: there is no such strategy.
        """
        found: list[list[Mention]] = []
        failed: list[str] = []
        for name in self._order(strategy):
            if name in self._missing:
                continue
            mentions = self._ask(name, text)
            if mentions is None:
                failed.append(name)
            else:
                found.append(mentions)
        return EntityReading(resolve_overlaps(text, found), tuple(failed))

    def _order(self, strategy: str) -> tuple[str, ...]:
        order = self._strategies.get(strategy)
        if order is None:
            known = ", ".join(self._strategies) or "none is configured"
            raise InvalidInput(f"strategy={strategy!r:.80} does not exist; use one of: {known}")
        return order

    def _ask(self, name: str, text: str) -> list[Mention] | None:
        """Return what the provider finds; ``None`` if it fails."""
        try:
            return list(self._providers[name].extract(text))
        except (MissingExtra, ConfigError) as error:
            # It cannot run here at all, and is not asked again.
            self._missing[name] = str(error)
            log.warning("names are found without %s: %s", name, error)
        except MemorandaError as error:
            log.warning("%s failed on a text of %d characters: %s", name, len(text), error)
        except Exception:
            log.exception("%s failed on a text of %d characters", name, len(text))
        return None


@dataclass(frozen=True, slots=True)
class _StrategyExtractor:
    """One strategy of a pipeline as an :class:`~memoranda.model.ports.EntityExtractor`."""

    pipeline: EntityPipeline
    strategy: str

    def extract(self, text: str) -> list[Mention]:
        """Return mentions in the order of their start, none overlapping."""
        return self.pipeline.extract_with(self.strategy, text)


def resolve_overlaps(text: str, found: Sequence[Iterable[Mention]]) -> list[Mention]:
    """Return the mentions of all providers, ordered and free of overlaps.

    Where mentions overlap, the highest confidence wins, then the longest span, then the
    earlier provider. What does not hold what the text says at its place is dropped, as is a
    confidence that is none. The result is the same in whatever order a provider names them.

    Args:
        text: the text that was read.
        found: what each provider found, the preferred provider first.
    """
    sound = [
        (place, mention)
        for place, mentions in enumerate(found)
        for mention in mentions
        if _is_sound(text, mention)
    ]
    taken = bytearray(len(text))
    kept: list[Mention] = []
    for _, mention in sorted(sound, key=_rank):
        if not any(taken[mention.start : mention.end]):
            taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
            kept.append(mention)
    return sorted(kept, key=lambda mention: mention.start)


def _rank(found: tuple[int, Mention]) -> tuple[float, int, int, int, str]:
    place, mention = found
    length = mention.end - mention.start
    return -mention.confidence, -length, place, mention.start, mention.type


def _is_sound(text: str, mention: Mention) -> bool:
    return (
        0 <= mention.start < mention.end <= len(text)
        and text[mention.start : mention.end] == mention.text
        and 0 <= mention.confidence <= 1
    )

"""Opens the embedding model and the language model that the settings name.

The imports inside functions are optional extras: what is not asked for is not loaded.
"""

# ruff: noqa: PLC0415 - as the docstring says

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from memoranda.errors import ConfigError, MissingExtra, ModelUnavailable
from memoranda.model.passwords import hide_password
from memoranda.model.ports import Embedder, LanguageModel
from memoranda.providers.circuit_breaker import CircuitBreaker
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.providers.llm.spec import parse_spec, require_key

if TYPE_CHECKING:
    from memoranda.providers.embedding.local_model import LocalEmbedder
    from memoranda.settings.sections import EmbeddingSettings, LLMSettings, RetrievalSettings

MATRYOSHKA = {"text-embedding-3-large": 256, "text-embedding-3-small": 256}


def open_embedder(
    settings: EmbeddingSettings,
    given: Embedder | CachedEmbedder | None = None,
    *,
    masks: bool = True,
) -> tuple[CachedEmbedder | None, str | None]:
    """Return the model that is given, or that of the settings; or none, and why.

    Args:
        settings: which model.
        given: a model of the caller's own; or that of another memory, whose server is then asked
            with the same patience.
        masks: whether a server is sent ``[…]`` in the place of secrets.

    Raises:
        ConfigError: the model's name is of no known form.
        MissingExtra: it needs an extra that is not installed.
        ModelUnavailable: the local model was asked for, and its files are not there.
    """
    kind, _, name = settings.model.partition(":")
    if isinstance(given, CachedEmbedder):
        return CachedEmbedder(given.inner, breaker=given.breaker), None
    if given is not None:
        return CachedEmbedder(given), None
    if settings.model == "none":
        return None, "switched off (embedding.model = none)"
    breaker = None
    try:
        match kind:
            case "auto" | "local" | "multilingual":
                model = local_embedder(kind)
                found: Embedder = model(settings.folder, threads=settings.threads)
                model.find(settings.folder)  # Say now, not at the first search, if there is none.
            case "openai" if name:
                from memoranda.providers.embedding.openai_embedder import OpenAIEmbedder

                found = OpenAIEmbedder(
                    name,
                    dimensions=settings.dimensions or MATRYOSHKA.get(name, 1536),
                    base_url=settings.base_url,
                    api_key=settings.api_key.get_secret_value() if settings.api_key else None,
                    masks=masks,
                )
                server = hide_password(settings.base_url or kind)
                breaker = CircuitBreaker(server, settings.timeout)
            case _:
                known = "auto, local, multilingual, none or openai:NAME"
                raise ConfigError(f"embedding.model={settings.model!r} is unknown; use {known}")
    except (MissingExtra, ModelUnavailable) as error:
        if kind != "auto":
            raise
        return None, str(error)
    return CachedEmbedder(found, owned=True, breaker=breaker), None


def local_embedder(name: str) -> type[LocalEmbedder]:
    """Return the kind of model on this machine that ``embedding.model`` names."""
    if name == "multilingual":
        from memoranda.providers.embedding.multilingual import MultilingualE5

        return MultilingualE5
    from memoranda.providers.embedding.minilm import MiniLM

    return MiniLM


def require_model(settings: RetrievalSettings, off_because: str | None) -> None:
    """Refuse to search by meaning alone where nothing can tell it.

    Raises:
        ConfigError: ``retrieval.fusion`` is ``cosine``, and there is no model.
    """
    if settings.fusion == "cosine" and off_because is not None:
        raise ConfigError(
            f"retrieval.fusion = cosine searches by meaning alone, and there is no embedding "
            f"model: {off_because}"
        )


def open_language_model(
    settings: LLMSettings, given: LanguageModel | str | None
) -> LanguageModel | None:
    """Return the language model: the one given, else that of the settings, else none.

    Cheap: nothing is sent, and pydantic-ai is not loaded, before it is asked.

    Args:
        settings: which model, and how it is asked.
        given: a model of the caller's own, or a name as in ``llm.model``.

    Raises:
        ConfigError: the name is of no known form, or its key is missing.
        MissingExtra: the extra ``llm`` is not installed.
    """
    if given is not None and not isinstance(given, str):
        return given
    name = given or settings.model
    if name is None:
        return None
    from memoranda.providers.llm.pydantic_ai_model import PydanticAIModel

    key = settings.api_key.get_secret_value() if settings.api_key else None
    to = parse_spec(name, key=key, timeout=settings.timeout, retries=settings.retries)
    if not (find_spec("pydantic_ai") and find_spec(to.provider)):
        raise MissingExtra(f"the language model {to}", "llm")
    require_key(to)
    return PydanticAIModel(to)

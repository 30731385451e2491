"""Opens the embedding model and the language model that the settings name.

The imports inside functions are optional extras: what is not asked for is not loaded.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from memoranda.errors import ConfigError, MissingExtra, ModelUnavailable
from memoranda.model.ports import Embedder, LanguageModel
from memoranda.providers.embedding.cache import CachedEmbedder

if TYPE_CHECKING:
    from memoranda.settings.sections import EmbeddingSettings, LLMSettings, RetrievalSettings

MATRYOSHKA = {"text-embedding-3-large": 256, "text-embedding-3-small": 256}


def open_embedder(
    settings: EmbeddingSettings, given: Embedder | None = None
) -> tuple[CachedEmbedder | None, str | None]:
    """Return the model that is given, or that of the settings; or none, and why.

    Raises:
        ConfigError: the model's name is of no known form.
        MissingExtra: it needs an extra that is not installed.
        ModelUnavailable: the local model was asked for, and its files are not there.
    """
    kind, _, name = settings.model.partition(":")
    match kind:
        case _ if given is not None:
            return CachedEmbedder(given), None
        case "none":
            return None, "switched off (embedding.model = none)"
        case "auto":
            return _local_if_there(settings)
        case "local":
            return CachedEmbedder(_local(settings), owned=True), None
        case "openai" if name:
            return CachedEmbedder(_openai(settings, name), owned=True), None
        case "sentence-transformers" if name:
            return CachedEmbedder(_sentence_transformers(name), owned=True), None
    message = (
        f"embedding.model={settings.model!r} is unknown; use auto, local, none, "
        f"openai:NAME or sentence-transformers:NAME"
    )
    raise ConfigError(message)


def require_model(settings: RetrievalSettings, off_because: str | None) -> None:
    """Refuse to search by meaning alone where nothing can tell it.

    Raises:
        ConfigError: ``retrieval.fusion`` is ``cosine``, and there is no model.
    """
    if settings.fusion == "cosine" and off_because is not None:
        message = (
            f"retrieval.fusion = cosine searches by meaning alone, and there is no embedding "
            f"model: {off_because}"
        )
        raise ConfigError(message)


def _local_if_there(settings: EmbeddingSettings) -> tuple[CachedEmbedder | None, str | None]:
    try:
        return CachedEmbedder(_local(settings), owned=True), None
    except (MissingExtra, ModelUnavailable) as error:
        return None, str(error)


def _local(settings: EmbeddingSettings) -> Embedder:
    if not all(find_spec(name) for name in ("onnxruntime", "tokenizers", "safetensors")):
        raise MissingExtra("the local embedding model", "local")
    from memoranda.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - extra `local`
    from memoranda.providers.embedding.model_files import find  # noqa: PLC0415 - extra `local`

    find(settings.folder)  # Say now, and not at the first search, if the files are missing.
    return MiniLM(settings.folder, threads=settings.threads)


def _openai(settings: EmbeddingSettings, name: str) -> Embedder:
    if not find_spec("openai"):
        raise MissingExtra(f"the embedding model openai:{name}", "openai")
    from memoranda.providers.embedding.openai_embedder import OpenAIEmbedder  # noqa: PLC0415 - extra `openai`

    key = settings.api_key
    return OpenAIEmbedder(
        name,
        dimensions=settings.dimensions or MATRYOSHKA.get(name, 1536),
        base_url=settings.base_url,
        api_key=None if key is None else key.get_secret_value(),
    )


def _sentence_transformers(name: str) -> Embedder:
    if not find_spec("sentence_transformers"):
        raise MissingExtra(f"the model {name}", "sentence-transformers")
    from memoranda.providers.embedding.sentence_models import (  # noqa: PLC0415 - an extra
        SentenceTransformerEmbedder,
    )

    return SentenceTransformerEmbedder(name)


def open_language_model(
    settings: LLMSettings, given: LanguageModel | str | None
) -> LanguageModel | None:
    """Return the language model: the one given, else that of the settings, else none.

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
    if not find_spec("pydantic_ai"):
        raise MissingExtra(f"the language model {name}", "llm")
    from memoranda.providers.llm.pydantic_ai_model import open_model as opened  # noqa: PLC0415 - extra `llm`

    key = settings.api_key
    return opened(
        name,
        api_key=None if key is None else key.get_secret_value(),
        timeout=settings.timeout,
        retries=settings.retries,
    )

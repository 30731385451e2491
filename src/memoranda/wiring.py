"""Puts the parts together: which store, which model, from a location and the settings.

The imports inside functions are the optional extras, so that what is not installed, or not
asked for, is not loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from memoranda.entities.model_names import ModelNames, Run
from memoranda.entities.names import RuleNameMatcher
from memoranda.entities.pipeline import FAST, EntityPipeline
from memoranda.entities.rules import RuleExtractor
from memoranda.errors import ConfigError, MissingExtra, ModelUnavailable
from memoranda.model.models import Kind
from memoranda.model.ports import Embedder, EntityExtractor, LanguageModel, Store
from memoranda.providers.embedding.cache import CachedEmbedder
from memoranda.providers.spacy_names import SpacyNames
from memoranda.records.drafts import Retention
from memoranda.settings.sections import (
    EmbeddingSettings,
    EntitySettings,
    LLMSettings,
    RetrievalSettings,
    names,
    parse_span,
)
from memoranda.settings.settings import Settings
from memoranda.store.chroma.place import FOLDER, SERVERS, parse
from memoranda.store.sqlite.store import SqliteStore
from memoranda.text.analysis import TermAnalyzer
from memoranda.tokens.catalog import Catalog

MEMORY = ":memory:"
LATER = ("postgresql://", "postgres://")
NEARLY_CHROMA = ("chroma:", "chroma+http:", "chroma+https:")
"""What is no file, but an address with too few slashes."""
DRIVE = re.compile(r"/?[A-Za-z]:(?:[\\/]|$)")
MATRYOSHKA = {"text-embedding-3-large": 256, "text-embedding-3-small": 256}  # seed 004


def place(location: str | Path | None, settings: Settings) -> str:
    """Return where the memory is: the location, else the setting, else the user's folder.

    A path as it is on this machine, ``:memory:``, or an address.

    Raises:
        ConfigError: the location is of a kind that does not exist.
    """
    given: object = settings.location if location is None else location
    if given is None:
        return str(user_data_path("memoranda") / "memory.db")
    if not isinstance(given, str | Path) or not str(given).strip():
        message = f"location={given!r:.80} is no path; use a file or :memory:"
        raise ConfigError(message)
    text = str(given)
    if text.startswith(LATER):
        message = f"{text.partition(':')[0]} stores are not part of this version; name a file"
        raise ConfigError(message)
    if text.startswith(FOLDER):
        return folder_place(_folder(text))
    if text.startswith(SERVERS):
        return text
    if "://" in text or text.startswith(NEARLY_CHROMA):
        message = (
            f"location {text!r} is unknown; use a file, :memory:, chroma:///folder or "
            f"chroma+http://host:port"
        )
        raise ConfigError(message)
    return text if text == MEMORY else str(Path(text).expanduser())


def _folder(text: str) -> Path:
    """Return the folder that ``chroma://`` names, from the root on.

    Raises:
        ConfigError: it names none, or one of another system.
    """
    path = text.removeprefix(FOLDER)
    drive = DRIVE.match(path)
    if drive and os.name == "posix":
        message = f"location {text!r} is a folder of Windows; here it is chroma:///folder"
        raise ConfigError(message)
    if not path.strip("/ "):
        message = f"location {text!r} names no folder; use chroma:///folder, or chroma://~/folder"
        raise ConfigError(message)
    try:
        return Path(path.removeprefix("/") if drive else path).expanduser().absolute()
    except RuntimeError as error:  # There is no such user.
        message = f"location {text!r} cannot be used: {error}"
        raise ConfigError(message) from error


def file_of(place: str) -> Path | None:
    """Return the file or folder of this machine that a :func:`place` is, if it is one."""
    if is_folder(place):
        return Path(place.removeprefix(FOLDER))
    return None if place == MEMORY or is_server(place) else Path(place)


def folder_place(folder: str | Path) -> str:
    """Return the :func:`place` of a store that Chroma keeps in a folder."""
    return f"{FOLDER}{folder}"


def is_folder(place: str) -> bool:
    """Return whether a :func:`place` is a folder that Chroma keeps its files in."""
    return place.startswith(FOLDER)


def is_server(place: str) -> bool:
    """Return whether a :func:`place` is on a server."""
    return place.startswith(SERVERS)


def medium(place: str) -> str:
    """Return what a :func:`place` is: a file, a folder or a server."""
    return "folder" if is_folder(place) else "server" if is_server(place) else "file"


def open_store(location: str | Path | None, settings: Settings) -> Store:
    """Open the store at the :func:`place` of ``location``.

    Raises:
        ConfigError: the location is of a kind that does not exist.
        StoreError: it cannot be opened.
    """
    path = place(location, settings)
    if is_folder(path) or is_server(path):
        return _chroma(path, settings)
    if location is None and settings.location is None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    return SqliteStore(
        path,
        analyzer=TermAnalyzer(),
        names=RuleNameMatcher(),
        busy_timeout=settings.storage.busy_timeout,
        power_safe=settings.storage.durability == "power",
    )


def _chroma(location: str, settings: Settings) -> Store:
    if not find_spec("chromadb"):
        raise MissingExtra(f"a store on Chroma ({location.partition('://')[0]}://)", "chroma")
    from memoranda.store.chroma.store import ChromaStore  # noqa: PLC0415 - extra `chroma`

    token = settings.storage.token
    place = parse(location, token=None if token is None else token.get_secret_value())
    return ChromaStore(place, analyzer=TermAnalyzer(), names=RuleNameMatcher())


def foreign_memories(path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return id, text and metadata of what another program keeps in a folder of Chroma.

    Raises:
        InvalidInput: the folder has no such memories.
        MissingExtra: the extra ``chroma`` is not installed.
        StoreError: the folder cannot be used.
    """
    if not find_spec("chromadb"):
        raise MissingExtra(f"reading the memories of Chroma in {path}", "chroma")
    from memoranda.store.chroma.foreign import foreign  # noqa: PLC0415 - extra `chroma`

    return foreign(path)


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
    from memoranda.providers.embedding.files import find  # noqa: PLC0415 - extra `local`
    from memoranda.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - extra `local`

    find(settings.folder)  # Say now, and not at the first search, if the files are missing.
    return MiniLM(settings.folder, threads=settings.threads)


def _openai(settings: EmbeddingSettings, name: str) -> Embedder:
    if not find_spec("openai"):
        raise MissingExtra(f"the embedding model openai:{name}", "openai")
    from memoranda.providers.embedding.openai import OpenAIEmbedder  # noqa: PLC0415 - extra `openai`

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


def open_model(settings: LLMSettings, given: LanguageModel | str | None) -> LanguageModel | None:
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
    from memoranda.providers.llm.client import open_model as opened  # noqa: PLC0415 - extra `llm`

    key = settings.api_key
    return opened(
        name,
        api_key=None if key is None else key.get_secret_value(),
        timeout=settings.timeout,
        retries=settings.retries,
    )


@dataclass(frozen=True, slots=True)
class NameProviders:
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
        asked = {} if model is None else {"llm": ModelNames(model, run=run)}
        return EntityPipeline({**self.ready, **asked}, strategies, missing=self.missing)

    def fast(self, settings: EntitySettings) -> EntityExtractor:
        """Return what reads each text as it comes. Asks no language model."""
        order = tuple(name for name in names(settings.fast) if name in self.ready)
        if order == ("regex",):
            return self.ready["regex"]
        return EntityPipeline(self.ready, {FAST: order}, missing=self.missing).using(FAST)


def name_providers(settings: EntitySettings) -> NameProviders:
    """Return the providers of names that the settings name.

    Raises:
        ConfigError: there is no such spaCy pipeline.
        MissingExtra: a spaCy pipeline is named, and spaCy is not installed.
    """
    ready: dict[str, EntityExtractor] = {"regex": RuleExtractor()}
    if settings.spacy_model is not None:
        ready["spacy"] = SpacyNames(settings.spacy_model)
    return NameProviders(ready, {})


def catalog(settings: Settings) -> Catalog:
    """Return what is known of models: their context windows and tokenizers."""
    chosen = settings.tokens
    return Catalog(
        limits=chosen.limits, tokenizers=chosen.tokenizers, load_timeout=chosen.load_timeout
    )


def retention(settings: Settings) -> Retention:
    """Return the retention policy of the settings."""
    chosen = {Kind(kind): value for kind, value in settings.retention}
    return Retention(
        zone=settings.zone,
        spans={
            kind: parse_span(value)
            for kind, value in chosen.items()
            if value not in {"forever", "day"}
        },
        until_midnight=frozenset(kind for kind, value in chosen.items() if value == "day"),
    )

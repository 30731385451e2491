"""Names from a spaCy pipeline: one that is made here, by its folder and as a package."""

from __future__ import annotations

import importlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from memoranda.entities.pipeline import EntityPipeline
from memoranda.entities.rules import RuleExtractor
from memoranda.errors import ConfigError, MissingExtra
from memoranda.model.models import Mention
from memoranda.model.ports import EntityExtractor
from memoranda.providers import spacy_names
from memoranda.providers.spacy_names import SpacyNames
from memoranda.text.limits import MOST_READ

TEXT = "imani lives in the hague since 1999"
KNOWN = (("PERSON", "imani"), ("GPE", "the hague"), ("DATE", "since 1999"), ("GPE", "bergen"))


@pytest.fixture(autouse=True, scope="module")
def spacy():
    """The package, loaded by the process that runs these tests."""
    return pytest.importorskip("spacy", reason="the extra spacy is not installed")


def ruled_pipeline(spacy, folder, *patterns):
    """Write a pipeline of patterns: exact, so that laws can be seen; return its folder."""
    pipeline = spacy.blank("xx")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": text} for label, text in patterns])
    pipeline.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def folder(spacy, tmp_path_factory):
    """Return the folder of a small pipeline, which is one for all tests."""
    return ruled_pipeline(spacy, tmp_path_factory.mktemp("spacy") / "tiny", *KNOWN)


def test_a_pipeline_by_its_folder(folder):
    """People and places are typed as ours, without articles; dates are no names."""
    extractor: EntityExtractor = SpacyNames(str(folder))
    assert extractor.extract(TEXT) == [
        Mention("imani", "person", 0, 5, spacy_names.CONFIDENCE),
        Mention("hague", "location", 19, 24, spacy_names.CONFIDENCE),
    ]
    assert extractor.extract("") == []


def test_an_installed_pipeline_by_its_name(folder, tmp_path, monkeypatch):
    """A package that holds a pipeline is found by its name, as pip leaves it."""
    package = tmp_path / "tiny_names"
    shutil.copytree(folder, package / "en_tiny_names-1.0")
    meta = {"lang": "en", "name": "tiny_names", "version": "1.0"}
    (package / "meta.json").write_text(json.dumps(meta), "utf-8")
    (package / "__init__.py").write_text(
        "from spacy.util import load_model_from_init_py\n"
        "def load(**options):\n    return load_model_from_init_py(__file__, **options)\n",
        "utf-8",
    )
    information = tmp_path / "tiny_names-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: tiny_names\nVersion: 1.0\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert SpacyNames("tiny_names").extract(TEXT) == SpacyNames(str(folder)).extract(TEXT)


def test_it_is_loaded_when_it_is_first_needed(folder, tmp_path):
    """Making the provider reads nothing of the pipeline; the first text does."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    extractor = SpacyNames(str(copy))
    (copy / "meta.json").write_text("{", "utf-8")
    with pytest.raises(ConfigError, match="could not be loaded"):
        extractor.extract(TEXT)


def test_what_is_no_pipeline_of_names_is_refused(spacy, tmp_path):
    """An absent one at once, with the remedy; what would find nothing when it is loaded."""
    for model in ("no_such_pipeline", "", "pytest.no", "/no/such/folder"):
        with pytest.raises(ConfigError, match="python -m spacy download"):
            SpacyNames(model)
    with pytest.raises(ConfigError, match="could not be loaded"):
        SpacyNames("pytest").extract(TEXT)
    pipeline = spacy.blank("xx")
    pipeline.add_pipe("sentencizer")
    pipeline.to_disk(tmp_path / "plain")
    with pytest.raises(ConfigError, match=r"no component that finds names \(it has sentencizer\)"):
        SpacyNames(str(tmp_path / "plain")).extract(TEXT)


def test_without_spacy_the_extra_is_named(folder, monkeypatch):
    """Where spaCy is not installed the error says which extra brings it."""
    monkeypatch.setattr(spacy_names, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"memoranda\[spacy\]"):
        SpacyNames(str(folder))


@pytest.fixture
def ruled(spacy, tmp_path):
    """Return a function that makes a provider of patterns."""
    folder = tmp_path / "ruled"
    return lambda *patterns: SpacyNames(str(ruled_pipeline(spacy, folder, *patterns)))


def test_a_name_stands_alone(ruled):
    """Articles, quotes and possessives around a name are no part of it."""
    rows = [
        ("by Ana's dog", "PERSON", "Ana's", ["Ana"]),
        ("at The Acme Works", "ORG", "The Acme Works", ["Acme Works"]),
        ('see "Blue Rider"', "WORK_OF_ART", '"Blue Rider"', ["Blue Rider"]),
        ("on the 5th", "ORDINAL", "5th", []),
    ]
    extractor = ruled(*(row[1:3] for row in rows))
    for text, _, _, names in rows:
        assert [mention.text for mention in extractor.extract(text)] == names
    found = ruled(("ORG", "the")).extract("the the")
    assert {mention.text for mention in found} == {"the"}


def test_places_count_in_the_text_as_it_is(ruled):
    """Lone surrogates and characters beyond the basic plane move no mention; there is a limit."""
    extractor = ruled(("PERSON", "Bo"))
    text = "\ud800 🎉 hi Bo"
    (mention,) = extractor.extract(text)
    assert text[mention.start : mention.end] == mention.text == "Bo"
    long = "Bo " + "x " * (MOST_READ // 2) + "Bo"
    assert [mention.start for mention in extractor.extract(long)] == [0]


def test_threads_may_share_it(folder):
    """Many threads that start at once load one pipeline and get the same answer."""
    extractor = SpacyNames(str(folder))
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(extractor.extract, [TEXT] * 32))
    assert answers == [SpacyNames(str(folder)).extract(TEXT)] * 32


def test_a_failure_on_a_text_is_logged_and_the_next_text_is_read(ruled, caplog):
    """What a component raises costs the names of this text alone."""
    extractor = ruled(("PERSON", "Bo"))
    pipeline = EntityPipeline({"spacy": extractor}, {"fast": ["spacy"]})
    assert pipeline.extract("Bo")
    extractor._pipeline.max_length = 3
    assert pipeline.read("fast", "Bo Bo Bo").failed == ("spacy",)
    assert "spacy failed on a text of 8 characters" in caplog.text
    assert pipeline.extract("Bo")


def test_it_adds_to_the_rules(folder):
    """In a pipeline, marks stay the rules' own, and names without capitals are found as well."""
    providers = {"regex": RuleExtractor(), "spacy": SpacyNames(str(folder))}
    pipeline = EntityPipeline(providers, {"accurate": ["regex", "spacy"]})
    assert pipeline.accurate_available
    found = pipeline.read("accurate", "imani works near bergen now @bo").mentions
    assert [(mention.text, mention.type) for mention in found] == [
        ("imani", "person"),
        ("bergen", "location"),
        ("@bo", "mention"),
    ]

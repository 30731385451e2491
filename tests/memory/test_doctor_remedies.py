"""The doctor: what is well is called well, and each remedy fits what is wrong."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from tables import each_row

from memoranda import Memory, Settings
from memoranda.maintenance.doctor import REINSTALL, Doctor
from memoranda.memory import scope_of, services_of
from memoranda.testing.embedders import HashEmbedder

QUIET = {"consolidation": {"automatic": False}, "timezone": "UTC"}


def found(memory):
    """Return what the doctor found, by name."""
    return {check.name: check for check in memory.doctor()}


@each_row(
    ("fusion", "min_score", "model", "fast"),
    [
        each
        for each in product(
            ("blend", "rrf", "cosine"),
            (None, 0.0, 0.3, 0.99),
            (None, HashEmbedder()),
            ("regex", "regex, spacy"),
        )
        if each[0] != "cosine" or each[2] is not None
    ],
)
def test_no_way_of_searching_is_ill_by_a_setting(fusion, min_score, model, fast):
    """Whatever the settings ask for, an arm finds its canary or is told to be off."""
    chosen = Settings(
        **QUIET,
        embedding={"model": "none"},
        entities={"fast": fast},
        retrieval={"fusion": fusion, "min_score": min_score}
        if min_score is not None
        else {"fusion": fusion},
    )
    with Memory(":memory:", settings=chosen, embedder=model) as memory:
        memory.remember("Ana lives in Lisbon")
        checks = found(memory)
    assert [check for check in checks.values() if check.ok is False] == []
    asked = {name for name, check in checks.items() if name.endswith(" arm") and check.ok}
    off = {name for name, check in checks.items() if name.endswith(" arm") and not check.ok}
    assert "entity arm" in asked
    assert ("vector arm" in asked) is (model is not None)
    assert ("lexical arm" in asked) is ("temporal arm" in asked) is (fusion != "cosine")
    assert all(checks[name].detail.startswith("off: ") for name in off)
    assert all(checks[name].remedy is None for name in off)


def test_names_that_nobody_reads_again_are_not_missed():
    """Without the stage at night, what it would use is no matter; what each text uses is."""
    off = {"schedule": {"enrich": "off"}, "embedding": {"model": "none"}}
    for fast, remedy in (("regex", False), ("regex, spacy", True)):
        chosen = Settings(**QUIET, **off, entities={"fast": fast})
        with Memory(":memory:", settings=chosen) as memory:
            names = found(memory)["names"]
            assert (names.ok is None, names.remedy is not None) == (remedy, remedy)
            assert "llm" not in (names.remedy or "")
    with Memory(":memory:", settings=Settings(**QUIET, embedding={"model": "none"})) as memory:
        assert "entities.spacy_model" in found(memory)["names"].remedy


class ConstantEmbedder(HashEmbedder):
    """Finds all texts alike."""

    def embed(self, texts):
        """Return the same vector for each text."""
        return np.eye(1, self.dimensions, dtype=np.float32).repeat(len(texts), axis=0)


def test_a_model_that_tells_nothing_apart_is_to_be_changed():
    """No installation mends it, so none is advised."""
    with Memory(":memory:", settings=Settings(**QUIET), embedder=ConstantEmbedder()) as memory:
        check = found(memory)["vector arm"]
    assert check.ok is False
    assert check.remedy.startswith("choose another embedding.model")


def test_without_rules_for_names_the_setting_is_named():
    """The remedy is a command that sets what finds names without more."""
    chosen = Settings(**QUIET, embedding={"model": "none"}, entities={"fast": "spacy"})
    with Memory(":memory:", settings=chosen) as memory:
        check = found(memory)["entity arm"]
        assert (check.ok, check.remedy) == (False, "memoranda config set entities.fast regex")


class ForgetfulMemory:
    """A memory in which nothing is found, as where files of the package are missing."""

    def __init__(self, memory):
        """Store in ``memory``."""
        self.remember = memory.remember
        self.stats = memory.stats

    def search(self, _query, **_limits):
        """Find nothing."""
        return []

    def entity(self, _name):
        """Know nobody."""


def test_to_install_anew_is_the_last_resort():
    """It is advised only where the settings and the model are as they should be."""
    with Memory(":memory:", settings=Settings(**QUIET), embedder=HashEmbedder()) as memory:
        services, scope = services_of(memory), scope_of(memory)
        doctor = Doctor(
            store=services.store,
            settings=services.settings,
            derivations=services.derivations,
            embedder=services.embedder,
            language_model=None,
            names=services.names(scope),
            notes="none",
            scope=scope,
            now=services.clock.now(),
            open_canaries=partial(nullcontext, ForgetfulMemory(memory)),
        )
        ill = {each.name: each.remedy for each in doctor.examine() if each.ok is False}
        again = replace(doctor, open_canaries=partial(nullcontext, memory))
        well = [each.name for each in again.examine() if each.ok is False]
    assert ill.keys() == {"lexical arm", "vector arm", "entity arm", "temporal arm"}
    assert {name for name, remedy in ill.items() if remedy == REINSTALL} == ill.keys() - {
        "vector arm"
    }
    assert well == []

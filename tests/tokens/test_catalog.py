"""What a model's name means: limits, tokenizers and formats, the user's before the known ones."""

import tomllib
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.model.models import Image
from memoranda.tokens import catalog as catalogs
from memoranda.tokens.catalog import ANTHROPIC, LIST, OTHERS, Catalog, ModelFamily, families
from memoranda.tokens.estimate import ENCODINGS, EstimatedCounter

TEXT = "Ana flies to São Paulo. 安娜飞往圣保罗。"


KNOWN = {
    "gpt-4o-2024-08-06": ("GPT-4o", 128_000, "o200k_base"),
    "openrouter/openai/GPT-4o:extended": ("GPT-4o", 128_000, "o200k_base"),
    "ft:gpt-4o-mini-2024-07-18:acme::1": ("GPT-4o mini", 128_000, "o200k_base"),
    "gpt-4-0613": ("GPT-4", 8_192, "cl100k_base"),
    "azure/gpt-35-turbo": ("GPT-3.5", 16_385, "cl100k_base"),
    "o3-mini-2025-01-31": ("o1, o3", 200_000, "o200k_base"),
    "us.anthropic.claude-3-5-sonnet-20241022-v2:0": ("Claude", 200_000, "estimate"),
    "claude-3-7-sonnet@20250219": ("Claude", 200_000, "estimate"),
    "claude-opus-4-6": ("Claude 4.6", 1_000_000, "estimate"),
    "models/gemini-2.5-pro": ("Gemini 1.5 Flash, 2.0, 2.5", 1_048_576, "estimate"),
    "meta-llama/Llama-3.1-8B-Instruct": ("Llama 3.1 to 3.3", 131_072, "estimate"),
    "llama3.2:3b": ("Llama 3.1 to 3.3", 131_072, "estimate"),
    "Qwen/Qwen2.5-7B-Instruct": ("Qwen", 32_768, "estimate"),
    "moonshotai/kimi-k2": ("Kimi K2", 131_072, "estimate"),
    "z-ai/glm-4.6": ("GLM since 4.6", 200_000, "estimate"),
    "MiniMaxAI/MiniMax-M2": ("MiniMax M2", 196_608, "estimate"),
    "us.amazon.nova-pro-v1:0": ("Nova Pro, Lite", 300_000, "estimate"),
    "granite4": ("Granite since 3.1", 131_072, "estimate"),
    "devstral:24b": ("Mistral", 128_000, "estimate"),
    "codestral:22b": ("Codestral 22B, Mistral 7B, Mixtral 8x7B", 32_768, "estimate"),
}


def test_well_known_models_are_known():
    """With their providers before the name, in any case, and with dates and tags behind it."""
    known = {model: Catalog().known(model) for model in KNOWN}
    assert {m: (one.name, one.window, one.tokenizer) for m, one in known.items()} == KNOWN


def test_an_unknown_model_is_said_to_be_unknown():
    """No limit is made up; it is measured by the cautious estimate in the common format."""
    catalog = Catalog()
    for model in (None, "", "  ", "my-model", "gp", "x/y:z", "o", "llama"):
        assert catalog.known(model) == ModelFamily()
        assert catalog.known(model).window is None
        assert catalog.meter(model).counter.name == "estimate (cl100k_base)"
        assert catalog.meter(model).format == OTHERS


def test_the_list_is_sound():
    """Every family has a pattern of its own, small letters, a limit, and a tokenizer we have."""
    known = families()
    names = {family.name for family in known.values()}
    entries = tomllib.loads(LIST.read_text("utf-8"))["family"]
    assert len(known) == sum(len(entry["match"]) for entry in entries)
    assert len(names) > 40
    for pattern, family in known.items():
        assert pattern == pattern.lower()
        assert family.window >= 4_000
        assert family.tokenizer in {"estimate", *ENCODINGS}
        assert family.factor == 1 or family.tokenizer == "estimate"
        sample = pattern.replace("*", "x")
        assert fnmatchcase(sample, pattern)
        assert Catalog().known(sample).name == family.name


def test_the_format_is_the_providers():
    """Claude's pictures are counted by area, small OpenAI models' by patches, others' by tiles."""
    meter = Catalog().meter
    assert meter("claude-haiku-4-5").format == ANTHROPIC
    image = Image("https://a")
    assert meter("claude-opus-4-7").format.images(image) == 4_784
    assert meter("gpt-4.1-mini").format.images(image) == 2_489
    assert meter("gpt-4o-mini").format.images(image) == 2_833 + 8 * 5_667
    assert meter("llama3").format == OTHERS
    assert meter("gemini-2.5-flash").message("", images=[image]) == 1_548 + 4


def test_claude_is_counted_with_a_margin():
    """Its tokenizers are not public and make more tokens: the estimate says by how much."""
    plain = EstimatedCounter().count(TEXT)
    for model, factor in {"claude-sonnet-4-5": 1.25, "claude-opus-4-7": 1.7}.items():
        counter = Catalog().meter(model).counter
        assert (counter.name, counter.exact) == (f"estimate (cl100k_base × {factor:g})", False)
        assert counter.count(TEXT) == pytest.approx(plain * factor, abs=1)


def test_the_users_limits_win():
    """Over known models and for unknown ones, by name and by pattern, with and without provider."""
    limits = {"gpt-4o*": 5_000, "my-*": 6_000, "openai/gpt-4": 7_000, "My-Big": 8}
    windows = {
        "gpt-4o-mini": 5_000,
        "azure/gpt-4o": 5_000,
        "my-model": 6_000,
        "host/my-model:7b": 6_000,
        "openai/gpt-4": 7_000,
        "gpt-4": 8_192,
        "my-big": 8,
    }
    catalog = Catalog(limits=limits)
    assert {model: catalog.known(model).window for model in windows} == windows
    # A limit for all models comes before what is known of one, and after what the user says of it.
    usual = {"gpt-4o-mini": 5_000, "gpt-4": 7, "unknown": 7, None: 7}
    assert {model: catalog.window(model, 7) for model in usual} == usual
    assert (catalog.window("gpt-4"), catalog.window("unknown")) == (8_192, None)


@given(order=st.permutations(["*", "gpt-*", "gpt-4o*", "gpt-4o", "gpt-4o-mini*"]))
def test_of_several_patterns_the_longest_counts(order):
    """Whatever their order; a name before a pattern of the same letters."""
    catalog = Catalog(limits={pattern: len(pattern) for pattern in order})
    expected = {
        "gpt-4o": "gpt-4o",
        "gpt-4o-mini-2024": "gpt-4o-mini*",
        "gpt-4o-audio": "gpt-4o*",
        "gpt-9": "gpt-*",
        "other": "*",
    }
    for model, pattern in expected.items():
        assert catalog.known(model).window == len(pattern)


@pytest.mark.usefixtures("fresh")
def test_the_users_tokenizers_win(tmp_path, caplog):
    """An encoding, an estimate, or a file, which the known factor does not touch."""
    path = str(tmp_path / "tokenizer.json")
    catalog = Catalog(
        tokenizers={"claude-*": "estimate", "my-*": "o200k_base", "gpt-4o": "estimate", "x": path}
    )
    assert catalog.meter("claude-opus-4-7").counter.name == "estimate (cl100k_base × 1.7)"
    assert catalog.known("my-model").tokenizer == "o200k_base"
    assert catalog.meter("gpt-4o").counter.name == "estimate (o200k_base)"
    assert catalog.known("x").tokenizer == path
    assert catalog.meter("x").counter.name == "estimate (cl100k_base)"
    assert path in caplog.text


@pytest.mark.usefixtures("fresh")
def test_openai_models_are_counted_exactly():
    """Where a tokenizer is there."""
    pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    for model in ("gpt-4o", "gpt-4"):
        counter = Catalog().meter(model).counter
        assert counter.exact
        assert counter.name == Catalog().known(model).tokenizer


def test_models_share_counters_and_caches(monkeypatch):
    """A text that was counted for one model is not counted again for the next of its family."""
    monkeypatch.setattr(catalogs, "KEPT", 2)
    catalog = Catalog()
    first, second = catalog.meter("llama3"), catalog.meter("mistral-small")
    assert first.counter is second.counter
    for text in ("tea", "\ud83d", "tea", "bag", "bag", "", "long" * 5_000):
        assert first.counter.count(text) == EstimatedCounter().count(text)
    assert (first.counter.name, first.counter.exact) == ("estimate (cl100k_base)", False)
    assert first.counter._kept.cache_info()[:4] == (2, 4, 2, 2)


def test_any_number_of_names_takes_bounded_memory():
    """Names come from outside: a catalog does not grow with every new one."""
    catalog = Catalog()
    for number in range(2_500):
        catalog.meter(f"unknown-{number}")
    assert catalog.known.cache_info().currsize <= 1_000
    assert catalog._counter.cache_info().currsize == 1

"""Settings: one value, read in one place; what is wrong in it is named."""

import time
from datetime import datetime, timedelta

import pytest
import tzlocal

from memoranda import Memory, Settings, errors
from memoranda.settings.parsing import parse_span
from memoranda.settings.sections import users_by_token

ONE, TWO = "0123456789abcdef", "fedcba9876543210=="


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Write the settings file of this test."""
    path = tmp_path / "config.toml"
    monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
    return path


def test_arguments_win_over_the_environment_and_that_over_the_file(file, monkeypatch):
    """The order of the sources: file, environment, arguments."""
    file.write_text('timezone = "UTC"\n[embedding]\nmodel = "none"\nthreads = 3\n')
    assert Settings().embedding.threads == 3
    monkeypatch.setenv("MEMORANDA_EMBEDDING__THREADS", "4")
    monkeypatch.setenv("MEMORANDA_TIMEZONE", "Europe/Lisbon")
    settings = Settings()
    assert (settings.embedding.threads, settings.embedding.model) == (4, "none")
    assert settings.timezone == "Europe/Lisbon"
    assert Settings(timezone="Asia/Tokyo").timezone == "Asia/Tokyo"
    assert Settings(embedding={"threads": 5}).embedding.threads == 5


WRONG = [
    ({"colour": "red"}, "settings: colour is unknown"),
    ({"embeding": {"model": "none"}}, "embeding is unknown; did you mean embedding"),
    ({"embedding": {"modle": "none"}}, r"embedding.modle is .*; did you mean embedding.model\?"),
    ({"timezone": "Lisbon"}, "timezone: .*'Lisbon' is no time zone; use a name such as"),
    ({"timezone": "../../etc/passwd"}, "timezone"),
    ({"user": " "}, "user: ' ' names nothing"),
    ({"retrieval": {"fusion": "magic"}}, "retrieval.fusion='magic' should be 'blend', 'rrf' or"),
    ({"retrieval": {"rrf_k": 0}}, "retrieval.rrf_k"),
    ({"retention": {"fact": "soon"}}, "retention.fact: .*'soon' is no time span; write forever"),
    ({"retention": {"fact": "0d"}}, "'0d' is no time span"),
    ({"retention": {"fact": "9999999999999d"}}, "too long a time; write forever"),
    ({"conversation": {"budget_share": 1.5}}, "conversation.budget_share"),
    ({"conversation": {"strategy": "magic"}}, "'magic' is none of rolling_window, recency"),
    ({"entities": {"fast": "regex, llm"}}, "entities.fast='regex, llm' String should match"),
    ({"tokens": {"limits": {"m": 0}}}, "tokens.limits.m=0 should be greater than 0"),
    ({"tokens": {"tokenizers": {"m": "bert"}}}, "tokens.tokenizers.m='bert' String should match"),
    ({"mcp": {"tokens": ONE}}, "entry 1 is no TOKEN=USER"),
    ({"mcp": {"tokens": f"{ONE}=ana,"}}, "entry 2 is no TOKEN=USER"),
    ({"mcp": {"tokens": "short-secret=ana"}}, "entry 1 .* a token of 16 or more ASCII characters"),
    ({"mcp": {"tokens": f"{ONE}é=ana"}}, "entry 1 is"),
    ({"mcp": {"tokens": f"{ONE}=ana, {ONE}=ben"}}, "entry 2 .* its token stands twice"),
]


def test_a_wrong_setting_is_named_with_its_place(subtests):
    """The message says where the fault is, what was given and what would do."""
    for values, message in WRONG:
        with subtests.test(f"{values}"):
            with pytest.raises(errors.ConfigError, match=message) as caught:
                Settings(**values)
            assert ONE not in str(caught.value)


def test_tokens_have_their_users():
    """A token may itself hold ``=``; none is ever shown; a text without any is none."""
    settings = Settings(mcp={"tokens": f"{ONE}=ana, {TWO}=ben"})
    assert users_by_token(settings.mcp.tokens) == {ONE: "ana", TWO: "ben"}
    assert ONE not in repr(settings)
    assert Settings(mcp={"tokens": ""}).mcp.tokens is None


def test_a_folder_in_place_of_the_file_harms_nothing(file):
    """Where there is no file, the defaults stand."""
    file.mkdir()
    assert Settings().user == "default"


def test_settings_never_change():
    """A value that was read stays what it is."""
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.user = "ana"
    with pytest.raises(ValueError, match="frozen"):
        settings.embedding.model = "none"


def test_an_api_key_is_in_no_text():
    """Printing settings gives no secret away."""
    settings = Settings(embedding={"api_key": "sk-secret"})
    assert "sk-secret" not in f"{settings!r} {settings} {settings.model_dump()}"


def test_an_unknown_model_is_named(tmp_path, subtests):
    """The message lists what there is; no file is made."""
    unknown = r"embedding\.model=.* is unknown; use auto, local"
    for model in ("magic", "openai", "openai:", "sentence-transformers:x", ""):
        with subtests.test(model), pytest.raises(errors.ConfigError, match=unknown):
            Memory(tmp_path / "m.db", settings=Settings(embedding={"model": model}))
        assert not (tmp_path / "m.db").exists()


def test_a_location_can_be_set(tmp_path, monkeypatch):
    """Without an argument the memory is where the settings say."""
    monkeypatch.setenv("MEMORANDA_LOCATION", str(tmp_path / "set.db"))
    with Memory(settings=Settings(embedding={"model": "none"})) as memory:
        memory.remember("Ana likes tea")
    assert (tmp_path / "set.db").exists()


def test_spans_are_read():
    """A number and a unit."""
    assert parse_span("30d") == timedelta(days=30)
    assert parse_span(" 2 w ") == timedelta(weeks=2)
    assert parse_span("90s") == timedelta(seconds=90)


def test_the_machines_zone_keeps_its_rules(machine_in_lisbon):
    """Without a setting the zone is the machine's, with both its summer and its winter time."""
    del machine_in_lisbon
    zone = Settings().zone
    assert datetime(2026, 1, 1, tzinfo=zone).utcoffset() == timedelta(0)
    assert datetime(2026, 7, 1, tzinfo=zone).utcoffset() == timedelta(hours=1)


@pytest.mark.parametrize("name", ["Nowhere/Else", "<+03>-3"])
def test_a_machine_of_no_known_zone_says_what_to_set(monkeypatch, name):
    """Where the machine's zone has no name, the error names the setting that helps."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", name)
        patch.setattr(tzlocal.unix, "_cache_tz", None)
        with pytest.raises(errors.ConfigError, match="set timezone, such as Europe/Lisbon"):
            Memory(":memory:", settings=Settings(embedding={"model": "none"}))
        chosen = Settings(embedding={"model": "none"}, timezone="UTC")
        Memory(":memory:", settings=chosen).close()


@pytest.fixture
def machine_in_lisbon(monkeypatch):
    """A machine that stands in Lisbon."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Lisbon")
        time.tzset()
        tzlocal.reload_localzone()
        yield
    time.tzset()
    tzlocal.reload_localzone()

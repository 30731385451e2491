"""Settings: one value, read in one place, of files in either format; what is wrong is named."""

import os
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import tzlocal

from memoranda import Memory, Settings, errors
from memoranda.settings import fields as declared
from memoranda.settings.parsing import parse_span
from memoranda.settings.sections import users_by_token
from memoranda.settings.settings import config_path

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
    ({"embedding": {"modle": "none"}}, r"embedding.modle is .*; did you mean embedding.model\?"),
    ({"timezone": "Lisbon"}, "timezone: .*'Lisbon' is not a time zone; use a name such as"),
    ({"timezone": "../../etc/passwd"}, "timezone"),
    ({"user": " "}, "user: ' ' names nothing"),
    ({"retrieval": {"fusion": "magic"}}, "retrieval.fusion='magic' should be 'blend', 'rrf' or"),
    ({"retention": {"fact": "soon"}}, "retention.fact: .*'soon' is not a time span; write forever"),
    ({"retention": {"fact": "0d"}}, "'0d' is not a time span"),
    ({"retention": {"fact": "9999999999999d"}}, "too long a time; write forever"),
    ({"conversation": {"budget_share": 1.5}}, "conversation.budget_share"),
    (
        {"conversation": {"strategy": "magic"}},
        "strategy='magic' should be 'rolling_window', 'recency', 'imp",
    ),
    ({"entities": {"fast": "regex, llm"}}, "entities.fast='regex, llm' String should match"),
    ({"tokens": {"tokenizers": {"m": "bert"}}}, "tokens.tokenizers.m='bert' String should match"),
    ({"mcp": {"tokens": f"{ONE}=ana,"}}, "entry 2 is not TOKEN=USER"),
    ({"mcp": {"tokens": "short-secret=ana"}}, "entry 1 has a token of 12 characters; .* openssl"),
    ({"mcp": {"tokens": f"{ONE}é=ana"}}, "entry 1 has a token with spaces or letters"),
    ({"mcp": {"tokens": f"{ONE}=ana, {ONE}=ben"}}, "entry 2 has the token of an entry before"),
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


# A robot's own file, in which the section `memory` is ours.
ROBOT = """\
robot:
  name: reachy
agent:
  model: claude
user:
  name: Alex
timezone: UTC
memory:
  context_window_size: 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's configuration folder, which is empty, and nothing that names another."""
    monkeypatch.delenv("MEMORANDA_CONFIG")
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    path = config_path().parent
    path.mkdir(parents=True)
    return path


def test_each_name_in_the_folder_is_read(folder, kitchen, subtests):
    """Either format says the same, under the three names that are looked for, TOML first."""
    assert config_path() == folder / "config.toml"
    assert Settings() == Settings(user="default")
    wanted = {"embedding": {"model": "none"}, "retrieval": {"fusion": "rrf"}, "user": "ana"}
    wanted |= {"tokens": {"limits": {"gpt-4.1": 1000}}}
    for suffix in (".yml", ".yaml", ".toml"):
        with subtests.test(suffix):
            path = folder / f"config{suffix}"
            path.write_text(kitchen[suffix])
            assert config_path() == path
            assert Settings() == Settings(**wanted)


def test_the_variable_names_a_file_of_either_format(folder, kitchen, written, subtests):
    """MEMORANDA_CONFIG wins over the folder; line ends and the mark of Windows change nothing."""
    for other in ("config.toml", "config.yaml"):
        (folder / other).write_text("nonsense: [")
    for suffix in (".toml", ".yaml", ".YML"):
        for mark in (b"", b"\xef\xbb\xbf"):
            with subtests.test(suffix, mark=mark):
                content = kitchen[suffix].replace("\n", "\r\n").encode()
                written(mark + content, f"a{suffix}")
                assert Settings().tokens.limits == {"gpt-4.1": 1000}


def test_a_home_is_found_in_the_variable(folder, monkeypatch):
    """``~`` means the home, as no shell has expanded it."""
    monkeypatch.setenv("MEMORANDA_CONFIG", "~/mine.yaml")
    (Path(os.environ["HOME"]) / "mine.yaml").write_text("user: ana")
    assert folder.is_dir()
    assert Settings().user == "ana"
    assert Settings(embedding={"folder": "~/models"}).embedding.folder == Path.home() / "models"


def test_of_another_programs_file_the_section_memory_is_read(folder, written):
    """S1.37: beside it a robot has sections of its own; a slip of the pen is none of these."""
    path = folder.parent / "config" / "default.yaml"
    path.parent.mkdir()
    path.write_text(ROBOT)
    assert config_path() == folder / "config.toml"  # A working directory chooses no store.
    written(ROBOT)
    settings = Settings()
    assert (settings.conversation.window, settings.user, settings.timezone) == (3, "default", "UTC")
    for slip in (
        "memory:\n  path: /m\nembeding:\n  model: none\n",
        "memory:\n  path: /m\nembedding:\n  modell: none\n",
        "robot:\n  name: reachy\n",
    ):
        written(slip)
        with pytest.raises(errors.ConfigError, match="is unknown"):
            Settings()


WRONG_TOML = [b"timezone = ", b"\xff\xfe", b"[[embedding", b"a=" + b"[" * 3000]
WRONG_YAML = [
    ("user: [1", r"while parsing a flow sequence .* line 1, column 7"),
    ("user: ana\n\tx: y", "line 2, column 1"),
    ("user: ana\nuser: eva", 'found duplicate key "user" .* line 2, column 1'),
    ("- user", r"it holds \['user'\], not names with values"),
    ("just text", "it holds 'just text'"),
    ("? [a]\n: b", "not names with values"),
    ("user: ana\n---\nb: 2", "expected a single document"),
    ("user: \x07", "special characters are not allowed"),
    (b"\xff\xfe", "utf-8"),
    ("a: " + "[" * 400 + "]" * 400, "recursion"),
]


def test_a_file_that_cannot_be_understood_is_named(written, monkeypatch, subtests):
    """The message says which file, and why, with the line where the format's reader knows it."""
    rows = [("a.toml", content, ":") for content in WRONG_TOML]
    for name, content, why in [*rows, *(("a.yaml", *row) for row in WRONG_YAML)]:
        with subtests.test(f"{name} {content!r:.20}"):
            path = written(content, name)
            with pytest.raises(errors.ConfigError, match=why) as caught:
                Settings()
            assert str(caught.value).startswith(f"{path} cannot be understood: ")
            assert "\n" not in str(caught.value)
    written("user = 'ana'", "settings.conf")
    with pytest.raises(errors.ConfigError, match=r"settings\.conf must be named \.toml, \.yaml"):
        Settings()
    monkeypatch.setenv("MEMORANDA_CONFIG", "x" * 300 + ".toml")
    with pytest.raises(errors.ConfigError, match=r"the settings file .* cannot be read: File"):
        Settings()


def test_yaml_means_what_the_setting_is(written, subtests):
    """A word stays a word where the setting is text; what is empty sets nothing."""
    written("user: 007\nembedding:\n  background: no\n  model: 'null'\n")
    settings = Settings()
    assert (settings.user, settings.embedding.background) == ("007", False)
    assert settings.embedding.model == "null"
    for content in ("", "# nothing\n", "---\n", "embedding:\n", "user: ~\n", "{}"):
        with subtests.test(content):
            written(content)
            assert Settings() == Settings(user="default")


def test_what_is_wrong_is_named_with_its_file_and_a_remedy(written, subtests):
    """The message says in which file, what is there, and what helps; no secret is in it."""
    for content, message in [
        ("embeding: {model: none}", "embeding is unknown; did you mean embedding?"),
        ("zzz: {keep: 3}", "zzz is unknown; memoranda config show lists all there are"),
        ("conversation: {keep_recent: 0}",
         "conversation.keep_recent='0' should be greater than 0; see memoranda "),
        ("embedding: 3", "embedding='3' should be a valid dictionary or instance of Embedding"),
        ("tokens: {limits: {gpt-4.1: x}}", "tokens.limits.gpt-4.1='x' should be a valid integer"),
        ("conversation: {prune_at: 0.7, prune_to: 0.75}",
         "conversation: each of aggressive_to=0.4, prune_to=0.75, prune_at=0.7, aggressive_at=0.9"),
    ]:  # fmt: skip
        with subtests.test(content):
            path = written(content)
            with pytest.raises(errors.ConfigError) as caught:
                Settings()
            assert str(caught.value).startswith(f"settings: {path}: {message}")
    wrong = "[embedding]\nthreads = 0\nmodle = 'x'\napi_key = ['sk-swordfish']\n"
    path = written(wrong, "a.toml")
    with pytest.raises(errors.ConfigError, match="api_key") as caught:
        Settings()
    assert str(caught.value).count(f"{path}: embedding.") == 3
    assert "swordfish" not in str(caught.value)


def test_a_wrong_variable_is_named(monkeypatch, subtests):
    """The message begins with the variable; one with a slip names what was meant."""
    settings, nothing = "settings: {}: ", "the environment variable {} sets nothing; "
    for name, value, message in [
        ("MEMORANDA_EMBEDDING__THREADS", "many", settings + "embedding.threads='many' should be"),
        ("MEMORANDA_EMBEDDING", '{"threads": 0}', settings + "embedding.threads=0 should be great"),
        ("MEMORANDA_EMBEDDING__MODLE", "x", settings + "embedding.modle is unknown; did you mean"),
        ("MEMORANDA_TOKENS__LIMITS__GPT", "x", settings + "tokens.limits.gpt='x' should be"),
        ("MEMORANDA_EMBEDING__MODEL", "x", nothing + "did you mean MEMORANDA_EMBEDDING__MODEL?"),
        ("MEMORANDA_TIMEZON", "x", nothing + "did you mean MEMORANDA_TIMEZONE?"),
        ("MEMORANDA_ZZZ__X", "x", nothing + "memoranda config show lists all there are"),
    ]:
        with subtests.test(name), monkeypatch.context() as patch:
            patch.setenv(name, value)
            with pytest.raises(errors.ConfigError) as caught:
                Settings()
            assert str(caught.value).startswith(message.format(name))
    monkeypatch.setenv("memoranda_user", '{"a": 1}')
    monkeypatch.setenv("MEMORANDA_REGENERATE_GOLDENS", "1")
    monkeypatch.setenv("MEMORANDA_TOKENS__LIMITS__GPT", "7")
    assert (Settings().user, Settings().tokens.limits) == ('{"a": 1}', {"gpt": 7})
    monkeypatch.setenv("MEMORANDA_EMBEDDING", "sk-swordfish")
    with pytest.raises(errors.ConfigError, match=r'"embedding".*as a JSON object') as caught:
        Settings()
    assert "swordfish" not in str(caught.value)


def test_the_table_of_the_documents_is_that_of_the_model():
    """docs/settings.md lists every setting with its default and its meaning, in order."""
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.split("\n") if line.startswith("| `")]
    told = [tuple(cell.replace("`", "").strip("| ") for cell in row) for row in rows]
    known = [(field.name, _written(field.default), field.meaning) for field in declared.fields()]
    assert [row for row in told if "config" not in row[0]] == [
        tuple(each for each in row if each) for row in known
    ]


def _written(default):
    if isinstance(default, bool):
        return str(default).lower()
    return "" if default in (None, {}) else str(default).removesuffix(".0")

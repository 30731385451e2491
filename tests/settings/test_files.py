"""The settings file: which it is, in either format, and what is said about a wrong one."""

import os
from pathlib import Path

import pytest

from memoranda import Settings, errors
from memoranda.settings import fields as declared
from memoranda.settings.settings import config_path

TOML = """\
timezone = "UTC"

[embedding]
model = "none"
threads = 3

[conversation]
summaries = "off"
budget_share = 0.5

[tokens.limits]
"gpt-4.1" = 1000
"""
YAML = """\
timezone: UTC

embedding:
  model: none
  threads: 3

conversation:
  summaries: off
  budget_share: 0.5

tokens:
  limits:
    gpt-4.1: 1_000
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The user's configuration folder, which is empty, and nothing that names another."""
    monkeypatch.delenv("MEMORANDA_CONFIG")
    for name in ("XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    path = config_path().parent
    path.mkdir(parents=True)
    return path


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a settings file of any name, and let it be the one."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
        return path

    return write


@pytest.mark.parametrize(
    ("name", "content"), [("config.toml", TOML), ("config.yaml", YAML), ("config.yml", YAML)]
)
def test_each_name_in_the_folder_is_read(folder, name, content):
    """Either format says the same, under the three names that are looked for."""
    (folder / name).write_text(content)
    assert config_path() == folder / name
    settings = Settings()
    assert settings.timezone == "UTC"
    assert settings.embedding == Settings(embedding={"model": "none", "threads": 3}).embedding
    assert (settings.conversation.summaries, settings.conversation.budget_share) == ("off", 0.5)
    assert settings.tokens.limits == {"gpt-4.1": 1000}


@pytest.mark.parametrize(("name", "content"), [("a.toml", TOML), ("a.yaml", YAML), ("a.YML", YAML)])
def test_the_variable_names_a_file_of_either_format(folder, written, name, content):
    """MEMORANDA_CONFIG wins over the folder, whatever is in there."""
    for other in ("config.toml", "config.yaml"):
        (folder / other).write_text("nonsense: [")
    written(name, content)
    assert Settings().embedding.threads == 3


def test_the_order_is_the_same_for_yaml(written, monkeypatch):
    """File, environment, arguments: the later wins, value by value."""
    written("a.yaml", YAML)
    monkeypatch.setenv("MEMORANDA_EMBEDDING__THREADS", "4")
    settings = Settings(timezone="Asia/Tokyo")
    assert (settings.timezone, settings.embedding.threads) == ("Asia/Tokyo", 4)
    assert settings.embedding.model == "none"


@pytest.mark.parametrize("pair", [("config.toml", "config.yaml"), ("config.yaml", "config.yml")])
def test_two_files_are_an_error_that_names_both(folder, pair):
    """Nobody guesses which of two files is meant."""
    for name in pair:
        (folder / name).write_text("")
    with pytest.raises(errors.ConfigError, match=r"keep one of them, or name it in") as caught:
        Settings()
    assert all(str(folder / name) in str(caught.value) for name in pair)


def test_without_a_file_the_path_is_that_of_a_new_one(folder):
    """A file that is made will be TOML, in the user's folder."""
    assert config_path() == folder / "config.toml"
    assert Settings() == Settings()


def test_a_home_is_found_in_the_variable(folder, monkeypatch):
    """``~`` means the home, as no shell has expanded it."""
    monkeypatch.setenv("MEMORANDA_CONFIG", "~/mine.yaml")
    (Path(os.environ["HOME"]) / "mine.yaml").write_text("user: ana")
    assert folder.is_dir()
    assert Settings().user == "ana"
    assert Settings(embedding={"folder": "~/models"}).embedding.folder == Path.home() / "models"


def test_a_file_of_another_name_is_refused(written):
    """The ending says the format; without one nobody guesses."""
    written("settings.conf", "user = 'ana'")
    with pytest.raises(errors.ConfigError, match=r"settings\.conf must be named \.toml, \.yaml"):
        Settings()


@pytest.mark.parametrize(
    "content", [b"timezone = ", b"\xff\xfe", b"[[embedding", b"a=" + b"[" * 3000]
)
def test_a_file_that_is_no_toml_is_named(written, content):
    """The message says which file cannot be read."""
    path = written("config.toml", content)
    with pytest.raises(errors.ConfigError) as caught:
        Settings()
    assert str(caught.value).startswith(f"{path} is not valid TOML: ")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("user: [1", r"while parsing a flow sequence \(at line 1, column 7\): expected"),
        ("user: ana\n\tx: y", r"\(at line 2, column 1\)"),
        ("user: ana\nuser: eva", r"'user' appears twice \(at line 2, column 1\)"),
        ("- user", r"it holds a sequence, not names with values \(at line 1"),
        ("just text", "it holds a scalar"),
        ("a: &x b\nc: *x", r"settings take no aliases; repeat the value \(at line 1, column 4\)"),
        ("a: &x\n  b: *x", "aliases"),
        ("a: !!python/object:os.system b", "settings take no python/object"),
        ("a: {<<: {b: c}}", "settings take no merge"),
        ("? [a]\n: b", "is no name"),
        ("a: 1\n---\nb: 2", "expected a single document"),
        ("a: \x07", "special characters are not allowed"),
        (b"\xff\xfe", "utf-8"),
        ("a: " + "[" * 1000, "it nests too deeply"),
    ],
)
def test_a_file_that_is_no_yaml_is_named(written, content, why):
    """The message says which file, on which line, and why."""
    path = written("config.yaml", content)
    with pytest.raises(errors.ConfigError, match=why) as caught:
        Settings()
    assert str(caught.value).startswith(f"{path} is not valid YAML: ")


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n", "embedding:\n", "user: ~\n", "{}"])
def test_what_is_empty_in_yaml_sets_nothing(written, content):
    """An empty file, group or value leaves the defaults."""
    written("config.yaml", content)
    assert Settings() == Settings(user="default")


def test_yaml_means_what_the_setting_is(written):
    """A word stays a word where the setting is text, and is read where it is not."""
    written("config.yaml", "user: 007\nembedding:\n  background: no\n  model: 'null'\n")
    settings = Settings()
    assert (settings.user, settings.embedding.background) == ("007", False)
    assert settings.embedding.model == "null"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(("name", "content"), [("a.toml", TOML), ("a.yaml", YAML)])
def test_a_file_of_windows_is_read(written, mark, name, content):
    """Line ends and the byte order mark of other editors change nothing."""
    written(name, mark + content.replace("\n", "\r\n").encode())
    assert Settings().tokens.limits == {"gpt-4.1": 1000}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.toml", '\n[embeding]\nmodel="none"', "line 2: embeding is unknown; did you mean emb"),
        ("a.yaml", "embeding:\n  model: none", "line 1: embeding is unknown; did you mean emb"),
        (
            "a.toml",
            'user="ana"\n[embedding]\n# so\nmodle="x"',
            "line 4: embedding.modle is unknown; did you mean embedding.model?",
        ),
        (
            "a.yaml",
            "conversation:\n  strategy: hybrid\n  keep: 3",
            "line 3: conversation.keep is unknown; did you mean",
        ),
        (
            "a.toml",
            "[conversation]\nstrategy = '''\nx\n'''\nkeep_recent = \"many\"",
            "line 5: conversation.keep_recent='many' should be a valid integer",
        ),
        (
            "a.yaml",
            "conversation: {keep_recent: 0}",
            "line 1: conversation.keep_recent='0' should be greater than or equal to 1; see",
        ),
        ("a.toml", "embedding = 3", "line 1: embedding is a group of settings, and int is none"),
        (
            "a.toml",
            "tokens = {limits = {'gpt-4.1' = 'x'}}",
            "line 1: tokens.limits.gpt-4.1='x' should be a valid integer",
        ),
        (
            "a.yaml",
            "conversation:\n  prune_at: 0.7\n  prune_to: 0.75",
            "line 2 and 3: conversation: prune_to=0.75, prune_at=0.7 and aggressive_at=0.9 must",
        ),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_file_line_and_remedy(written, name, content, message):
    """The message says in which line of which file, what is there, and what helps."""
    path = written(name, content)
    with pytest.raises(errors.ConfigError) as caught:
        Settings()
    assert str(caught.value).startswith(f"settings: {path}, {message}")
    assert " memoranda config explain" in str(caught.value) or "did you mean" in str(caught.value)


def test_a_wrong_key_is_in_no_message(written):
    """What may be a secret is not printed, even where it is wrong."""
    written("a.toml", "[embedding]\napi_key = ['sk-swordfish']\nthreads = 0")
    with pytest.raises(errors.ConfigError, match="api_key") as caught:
        Settings()
    assert "swordfish" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MEMORANDA_EMBEDDING__THREADS", "many", "embedding.threads='many' should be a valid int"),
        ("MEMORANDA_EMBEDDING", '{"threads": 0}', "embedding.threads=0 should be greater"),
        ("MEMORANDA_EMBEDDING__MODLE", "none", "embedding.modle is unknown; did you mean"),
        ("MEMORANDA_TOKENS__LIMITS__GPT", "x", "tokens.limits.gpt='x' should be a valid integer"),
        ("memoranda_user", '{"a": 1}', None),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch, name, value, message):
    """The message begins with the variable, as it is written there."""
    monkeypatch.setenv(name, value)
    if message is None:
        assert Settings().user == value
        return
    with pytest.raises(errors.ConfigError) as caught:
        Settings()
    assert str(caught.value).startswith(f"settings: {name}: {message}")


@pytest.mark.parametrize(
    ("name", "single"),
    [
        ("MEMORANDA_EMBEDDING", "MEMORANDA_EMBEDDING__MODEL"),
        ("MEMORANDA_TOKENS__LIMITS", "MEMORANDA_TOKENS__LIMITS__NAME"),
    ],
)
def test_a_variable_that_is_no_json_is_named(monkeypatch, name, single):
    """Where a whole group is given, the message says which variable, and what else would do."""
    monkeypatch.setenv(name, "sk-swordfish")
    with pytest.raises(
        errors.ConfigError, match=f"{name} is no JSON object; .* {single}"
    ) as caught:
        Settings()
    assert "swordfish" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    """An error of the machine is one of ours."""
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / ("x" * 300 + ".toml")))
    with pytest.raises(errors.ConfigError, match=r"the settings file .* cannot be read: File"):
        Settings()


def test_the_table_of_the_documents_is_that_of_the_model():
    """docs/settings.md lists every setting with its default and its meaning, in order."""
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.split("\n") if line.startswith("| `")]
    told = [tuple(cell.replace("`", "").strip("| ") for cell in row) for row in rows]
    known = [
        (field.name, _written(field.default), field.meaning) for field in declared.fields(Settings)
    ]
    assert [row for row in told if "config" not in row[0]] == [
        tuple(each for each in row if each) for row in known
    ]


def _written(default):
    if isinstance(default, bool):
        return str(default).lower()
    return "" if default in (None, {}) else str(default).removesuffix(".0")

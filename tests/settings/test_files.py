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
# A robot's own file, in which the section `memory` is ours.
ROBOT = """\
robot:
  name: reachy
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


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a settings file of any name, and let it be the one."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
        return path

    return write


def test_each_name_in_the_folder_is_read(folder, subtests):
    """Either format says the same, under the three names that are looked for."""
    for name, content in (("config.toml", TOML), ("config.yaml", YAML), ("config.yml", YAML)):
        with subtests.test(name):
            (folder / name).write_text(content)
            assert config_path() == folder / name
            settings = Settings()
            assert settings.timezone == "UTC"
            wanted = Settings(embedding={"model": "none", "threads": 3}).embedding
            assert settings.embedding == wanted
            talk = settings.conversation
            assert (talk.summaries, talk.budget_share) == ("off", 0.5)
            assert settings.tokens.limits == {"gpt-4.1": 1000}
        (folder / name).unlink()
    assert config_path() == folder / "config.toml"
    assert Settings() == Settings(user="default")


def test_the_variable_names_a_file_of_either_format(folder, written, subtests):
    """MEMORANDA_CONFIG wins over the folder; line ends and the mark of Windows change nothing."""
    for other in ("config.toml", "config.yaml"):
        (folder / other).write_text("nonsense: [")
    for name, content in (("a.toml", TOML), ("a.yaml", YAML), ("a.YML", YAML)):
        for mark in (b"", b"\xef\xbb\xbf"):
            with subtests.test(name, mark=mark):
                written(name, mark + content.replace("\n", "\r\n").encode())
                assert Settings().tokens.limits == {"gpt-4.1": 1000}


def test_of_several_files_the_first_counts(folder):
    """TOML comes before YAML."""
    for name in ("config.yml", "config.toml"):
        (folder / name).write_text("")
        assert config_path() == folder / name


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
    written("robot.yaml", ROBOT)
    settings = Settings()
    assert (settings.conversation.window, settings.user) == (3, "default")
    for slip in ("memory:\n  path: /m\nembeding:\n  model: none\n", "robot:\n  name: reachy\n"):
        written("robot.yaml", slip)
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
    ("a: " + "[" * 1000 + "]" * 1000, "recursion"),
]


def test_a_file_that_cannot_be_understood_is_named(written, subtests):
    """The message says which file, and why, with the line where the format's reader knows it."""
    rows = [("a.toml", content, ":") for content in WRONG_TOML]
    for name, content, why in [*rows, *(("a.yaml", *row) for row in WRONG_YAML)]:
        with subtests.test(f"{name} {content!r:.20}"):
            path = written(name, content)
            with pytest.raises(errors.ConfigError, match=why) as caught:
                Settings()
            assert str(caught.value).startswith(f"{path} cannot be understood: ")
            assert "\n" not in str(caught.value)
    written("settings.conf", "user = 'ana'")
    with pytest.raises(errors.ConfigError, match=r"settings\.conf must be named \.toml, \.yaml"):
        Settings()


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    """An error of the machine is one of ours."""
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / ("x" * 300 + ".toml")))
    with pytest.raises(errors.ConfigError, match=r"the settings file .* cannot be read: File"):
        Settings()


def test_yaml_means_what_the_setting_is(written, subtests):
    """A word stays a word where the setting is text; what is empty sets nothing."""
    written("a.yaml", "user: 007\nembedding:\n  background: no\n  model: 'null'\n")
    settings = Settings()
    assert (settings.user, settings.embedding.background) == ("007", False)
    assert settings.embedding.model == "null"
    for content in ("", "# nothing\n", "---\n", "embedding:\n", "user: ~\n", "{}"):
        with subtests.test(content):
            written("a.yaml", content)
            assert Settings() == Settings(user="default")


def test_what_is_wrong_is_named_with_its_file_and_a_remedy(written, subtests):
    """The message says in which file, what is there, and what helps."""
    for content, message in [
        ("embeding: {model: none}", "embeding is unknown; did you mean embedding?"),
        ("embedding: {modle: x}", "embedding.modle is unknown; did you mean embedding.model?"),
        ("conversation: {keep: 3}", "conversation.keep is unknown; did you mean"),
        ("zzz: {keep: 3}", "zzz is unknown; memoranda config explain lists all there are"),
        ("conversation: {keep_recent: many}",
         "conversation.keep_recent='many' should be a valid integer"),
        ("conversation: {keep_recent: 0}",
         "conversation.keep_recent='0' should be greater than 0; see memoranda "),
        ("embedding: 3", "embedding='3' should be a valid dictionary or instance of Embedding"),
        ("tokens: {limits: {gpt-4.1: x}}", "tokens.limits.gpt-4.1='x' should be a valid integer"),
        ("conversation: {prune_at: 0.7, prune_to: 0.75}",
         "conversation: each of aggressive_to=0.5, prune_to=0.75, prune_at=0.7, aggressive_at=0.9"),
    ]:  # fmt: skip
        with subtests.test(content):
            path = written("a.yaml", content)
            with pytest.raises(errors.ConfigError) as caught:
                Settings()
            assert str(caught.value).startswith(f"settings: {path}: {message}")
    path = written("a.toml", "[embedding]\nthreads = 0\nmodle = 'x'\n")
    with pytest.raises(errors.ConfigError) as caught:
        Settings()
    assert str(caught.value).count(f"{path}: embedding.") == 2


def test_a_wrong_key_is_in_no_message(written):
    """What may be a secret is not printed, even where it is wrong."""
    written("a.toml", "[embedding]\napi_key = ['sk-swordfish']\nthreads = 0")
    with pytest.raises(errors.ConfigError, match="api_key") as caught:
        Settings()
    assert "swordfish" not in str(caught.value)


def test_a_wrong_variable_is_named(monkeypatch, subtests):
    """The message begins with the variable, as it is written there."""
    for name, value, message in [
        ("MEMORANDA_EMBEDDING__THREADS", "many", "embedding.threads='many' should be a valid int"),
        ("MEMORANDA_EMBEDDING", '{"threads": 0}', "embedding.threads=0 should be greater"),
        ("MEMORANDA_EMBEDDING__MODLE", "none", "embedding.modle is unknown; did you mean"),
        ("MEMORANDA_TOKENS__LIMITS__GPT", "x", "tokens.limits.gpt='x' should be a valid integer"),
    ]:
        with subtests.test(name), monkeypatch.context() as patch:
            patch.setenv(name, value)
            with pytest.raises(errors.ConfigError) as caught:
                Settings()
            assert str(caught.value).startswith(f"settings: {name}: {message}")
    monkeypatch.setenv("memoranda_user", '{"a": 1}')
    assert Settings().user == '{"a": 1}'
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

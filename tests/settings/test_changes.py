"""Changing the settings file: what is written reads back, and all else stays as it was."""

import json
import stat
from difflib import ndiff

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda import Settings, errors
from memoranda.settings import fields as declared
from memoranda.settings.configure import explain, list_settings, put, unset

FIELDS = declared.fields()

RELAXED = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(kitchen, written):
    """A settings file with comments and spaces that somebody has put there."""
    return written(kitchen[".toml"], "a.toml")


@pytest.fixture
def new(tmp_path, monkeypatch):
    """A settings file that is not there yet."""
    path = tmp_path / "new" / "folder" / "a.toml"
    monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
    return path


def in_force():
    """Return the value in force of every setting, by name."""
    return {setting.name: setting.value for setting in list_settings(Settings())}


def words(text):
    """Return the lines of a text as their words alone."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def difference(before, after):
    """Return the lines that are only in one of two texts, as words, with the sign of which."""
    return [line for line in ndiff(words(before), words(after)) if line[0] in "+-"]


def test_every_setting_says_what_it_is(subtests):
    """Each has a line, a sentence, a type, and the values that it allows."""
    for field in FIELDS:
        with subtests.test(field.name):
            assert 5 < len(field.summary) <= 60
            assert field.meaning.endswith(".")
            assert "``" not in field.meaning
            assert field.type
            assert all(value in field.type for value in field.allowed)


@RELAXED
@given(value=st.text(min_size=1, max_size=30).filter(str.strip), limit=st.integers(1, 10**9))
def test_any_text_is_kept(file, value, limit):
    """Any Unicode text comes out as it went in, as a value and as the name of a model."""
    put("user", value)
    put(f"tokens.limits.{value}", str(limit))
    assert (Settings().user, Settings().tokens.limits[value]) == (value, limit)
    unset(f"tokens.limits.{value}")
    assert value not in Settings().tokens.limits
    assert file.read_text().startswith("# Settings of the kitchen agent.\n")


# What is set, and which lines are then others.
CHANGES = [
    ("user", "eva", '- user = "ana" # me', '+ user = "eva" # me'),
    ("timezone", "UTC", '+ timezone = "UTC"'),
    ("embedding.model", "local", '- model = "none" # for now', '+ model = "local" # for now'),
    ("embedding.background", "False", "+ background = false"),
    ("conversation.warn_at", "0.7", "+ [conversation]", "+ warn_at = 0.7"),
    ("retrieval.rrf_k", "9", "+ rrf_k = 9"),
    ("tokens.limits.gpt-4.1", "7", '- "gpt-4.1" = 1000 # a test', '+ "gpt-4.1" = 7 # a test'),
    ("tokens.limits.my*", "7", '+ "my*" = 7'),
    ("tokens.tokenizers.a", "estimate", "+ [tokens.tokenizers]", '+ a = "estimate"'),
]


def test_set_changes_its_line_and_no_other(file, subtests):
    """Comments and order stay; a new line stands at the end of its group."""
    before = file.read_text()
    for name, value, *wanted in CHANGES:
        with subtests.test(name):
            file.write_text(before)
            put(name, value)
            assert difference(before, file.read_text()) == wanted
            assert str(in_force()[name]) == value


def test_unset_brings_the_default_back_and_comments_stay(file, subtests):
    """One setting or a whole group: what others wrote beside it is still there."""
    before, default = file.read_text(), {field.name: field.default for field in FIELDS}
    for name in ("user", "embedding.model", "retrieval.fusion", "tokens.limits", "embedding"):
        with subtests.test(name):
            file.write_text(before)
            assert unset(name).changed
            shown = in_force()
            inside = [each for each in default if each == name or each.startswith(f"{name}.")]
            assert {each: shown[each] for each in inside} == {
                each: default[each] for each in inside
            }
            text = file.read_text()
            headings = ("# Settings of", "# Which model", "# threads", "# How what was found")
            assert all(comment in text for comment in headings)
            assert not unset(name).changed
            assert file.read_text() == text


def test_what_is_wrong_leaves_the_file_as_it_was(file, subtests):
    """A refused change writes no byte, and leaves nothing beside the file."""
    before = file.read_bytes()
    for name, value in [
        ("embedding.threads", "many"),
        ("embedding.threads", "0"),
        ("conversation.strategy", "magic"),
        ("conversation.prune_at", "0.1"),
        ("retention.fact", "soon"),
        ("timezone", "Lisbon"),
        ("tokens.limits.x", "many"),
        ("tokens.limits", '{"x": 5}'),
        ("embedding", "none"),
        ("embeding.model", "none"),
        ("user", "\ud800"),
    ]:
        with subtests.test(f"{name}={value!r}"):
            with pytest.raises(errors.MemorandaError):
                put(name, value)
            assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.usefixtures("file")
def test_a_value_hidden_by_the_environment_is_checked_too(monkeypatch):
    """What the environment overrides is told, and must be right nevertheless."""
    monkeypatch.setenv("MEMORANDA_EMBEDDING__THREADS", "4")
    with pytest.raises(errors.ConfigError, match=r"embedding\.threads='many'"):
        put("embedding.threads", "many")
    assert put("embedding.threads", "2").overridden_by == "MEMORANDA_EMBEDDING__THREADS"
    assert Settings().embedding.threads == 4
    assert put("embedding.model", "auto").overridden_by is None
    monkeypatch.delenv("MEMORANDA_EMBEDDING__THREADS")
    assert Settings().embedding.threads == 2


def test_the_settings_as_a_whole_must_be_right(file, monkeypatch):
    """A value that contradicts one of the environment is refused, and so is a missing one."""
    with monkeypatch.context() as patch:
        patch.setenv("MEMORANDA_CONVERSATION__PRUNE_AT", "0.5")
        patch.setenv("MEMORANDA_CONVERSATION__PRUNE_TO", "0.5")
        with pytest.raises(errors.ConfigError, match=r"aggressive_at=0\.4 must be"):
            put("conversation.aggressive_at", "0.4")
        patch.setenv("MEMORANDA_EMBEDDING__THREADS", "many")
        with pytest.raises(errors.ConfigError, match="MEMORANDA_EMBEDDING__THREADS: embedding"):
            put("embedding.model", "local")
    put("conversation.prune_at", "0.85")
    put("conversation.prune_to", "0.85")
    before = file.read_bytes()
    with pytest.raises(errors.ConfigError, match=r"prune_to=0\.9, prune_at=0\.85"):
        put("conversation.prune_to", "0.9")
    assert file.read_bytes() == before


def test_what_is_wrong_in_the_file_can_be_put_right(file):
    """A wrong value can be set anew, and a wrong name removed."""
    file.write_text("[embeding]\nmodel = 'x'\n")
    with pytest.raises(errors.ConfigError, match="embeding is unknown"):
        put("user", "ana")
    unset("embeding")
    put("embedding.threads", "3")
    file.write_text(file.read_text().replace("3", "0"))
    with pytest.raises(errors.ConfigError, match=r"embedding\.threads=.?0"):
        Settings()
    put("embedding.threads", "2")
    assert Settings().embedding.threads == 2


def test_a_file_that_cannot_be_changed_is_named(tmp_path, monkeypatch):
    """One that is YAML, or not of groups and names, stays as it was; so does a folder there."""
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "a.toml").write_text("[[embedding]]\nmodel = 'none'\n")
    (tmp_path / "a.yaml").write_text("user: ana  # me\n")
    before = {path: path.is_dir() or path.read_text() for path in tmp_path.iterdir()}
    for name, message in [
        ("folder.toml", "cannot be written"),
        ("a.conf", "must be named .toml"),
        ("a.toml", "embedding"),
        ("a.yaml", "is YAML, which is read and not written; edit the file"),
    ]:
        monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / name))
        with pytest.raises(errors.ConfigError, match=message):
            put("user", "ana")
    assert {path: path.is_dir() or path.read_text() for path in tmp_path.iterdir()} == before


def test_a_file_keeps_its_permissions_and_its_link(file, tmp_path):
    """What others may read stays so; a link still leads to the file it led to."""
    file.chmod(0o640)
    real = tmp_path / f"real{file.suffix}"
    file.rename(real)
    file.symlink_to(real)
    put("user", "eva")
    assert file.is_symlink()
    assert "eva" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_is_for_its_owner_alone(new):
    """A file that set makes, and its folder, can hold a key."""
    done = put("embedding.api_key", "sk-swordfish")
    assert (done.value, done.path) == (declared.MASK, new)
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    assert stat.S_IMODE(new.parent.stat().st_mode) == 0o700
    assert Settings().embedding.api_key.get_secret_value() == "sk-swordfish"


def test_explain_names_the_source_also_while_settings_are_wrong(new, monkeypatch):
    """The source of a value is its file, or its variable, or the default."""
    new.parent.mkdir(parents=True)
    new.write_text('user = "ana"\n\n[embedding]\nmodel = "none"\n')
    told = explain("embedding.model")
    assert (told.value, told.source, told.problem) == ("none", str(new), None)
    with monkeypatch.context() as patch:
        patch.setenv("MEMORANDA_EMBEDDING", json.dumps({"model": "auto"}))
        told = explain("embedding.model")
        assert (told.value, told.source) == ("auto", "MEMORANDA_EMBEDDING")
    assert explain("embedding.threads").source == "default"
    assert explain("conversation.max_messages").type == "whole number, above 0"
    assert explain("conversation.budget_share").type == "number, above 0, at most 1"
    new.write_text("[embedding]\nthreads = 0\n")
    told = explain("embedding.threads")
    assert (told.value, told.source) == (0, str(new))
    assert "should be greater than 0" in told.problem
    new.write_text("[embedding")
    told = explain("embedding.threads")
    assert (told.value, told.source) == (None, "")
    assert "cannot be understood" in told.problem


def test_values_by_name_are_listed_one_by_one(new, monkeypatch):
    """Where some are of the file and some of the environment, each has its source."""
    put("tokens.limits.a", "5")
    monkeypatch.setenv("MEMORANDA_TOKENS__LIMITS", '{"b": 6}')
    found = {each.name: (each.value, each.source) for each in list_settings(Settings())}
    assert found["tokens.limits.a"] == (5, str(new))
    assert found["tokens.limits.b"] == (6, "MEMORANDA_TOKENS__LIMITS")
    assert "tokens.limits" not in found


def test_no_password_of_an_address_is_shown(new):
    """Neither by what lists, explains and changes the settings, nor by these themselves."""
    address, shown = "postgresql://ana:ti/g@er@host/db", "postgresql://ana:…@host/db"
    done, chosen = put("location", address), Settings()
    (listed,) = [each for each in list_settings(chosen) if each.name == "location"]
    assert done.value == listed.value == explain("location").value == shown
    assert chosen.location == address
    told = f"{chosen!r}{chosen}{done}{explain('location')}{list_settings(chosen)}"
    assert "ti/g" not in told
    assert new.exists()

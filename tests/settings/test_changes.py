"""Changing the settings file: what is written reads back, and all else stays as it was."""

import json
import os
import stat
import subprocess
import sys
from difflib import ndiff
from itertools import cycle

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda import Settings, errors
from memoranda.settings import fields as declared
from memoranda.settings.configure import explain, list_settings, put, summaries, unset
from memoranda.settings.formats import TomlFormat, YamlFormat, change
from memoranda.settings.nested import MISSING, value_at, with_value, without, without_empty
from memoranda.settings.profile import derive_settings

TOML = """\
# Settings of the kitchen agent.

user = "ana"   # me

# Which model
[embedding]
  model    = "none"  # for now
  # threads = 8

# How what was found is ranked
[retrieval]
fusion = "rrf"

[tokens.limits]
"gpt-4.1" = 1000 # a test
"""
YAML = """\
# Settings of the kitchen agent.

user: ana   # me

# Which model
embedding:
    model: none  # for now
    # threads: 8

# How what was found is ranked
retrieval: {fusion: rrf}   # in short

tokens:
    limits:
        gpt-4.1: 1000 # a test
"""
BOTH = pytest.mark.parametrize("file", [("a.toml", TOML), ("a.yaml", YAML)], indirect=True)
FIELDS = list(declared.fields(Settings))
RELAXED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def file(request, tmp_path, monkeypatch):
    """A settings file with comments and spaces that somebody has put there."""
    name, content = getattr(request, "param", ("a.toml", None))
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
    return path


def in_force():
    """Return the value in force of every setting, by name."""
    return {setting.name: setting.value for setting in list_settings(Settings())}


def difference(before, after):
    """Return the lines that are only in one of two texts, with the sign of which."""
    lines = ndiff(before.split("\n"), after.split("\n"))
    return [line for line in lines if line[0] in "+-"]


@pytest.mark.parametrize(
    ("field", "name"),
    list(zip(FIELDS, cycle(["a.toml", "a.yaml"]), strict=False)),
    ids=[field.name for field in FIELDS],
)
def test_what_is_set_is_in_force(tmp_path, monkeypatch, field, name):
    """For every setting, what explain gives as example is what is in force after set."""
    monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / name))
    before = in_force()
    words = explain(field.name).example.split()
    key, value = words[3].strip("'"), os.path.expanduser(words[4].strip("'"))  # noqa: PTH111 - only some values are paths
    done = put(key, value)
    after = in_force()
    assert (done.name, done.changed, done.overridden_by) == (key, True, None)
    shown = declared.MASK if field.is_secret else value
    assert str(after[key]) in {shown, shown.capitalize()}
    others = {".".join(place) for place in derive_settings({field.place[-1]: value})} - {key}
    others = others if field.place[0] == "memory" else set()  # It brings a whole policy.
    assert {k: v for k, v in after.items() if k not in {key, field.name, *others}} == {
        k: v for k, v in before.items() if k not in {field.name, *others}
    }
    assert unset(key).changed
    assert in_force() == before


@pytest.mark.usefixtures("file")
@BOTH
@RELAXED
@given(value=st.text(min_size=1, max_size=30))
def test_any_text_is_kept(value):
    """Any Unicode text that a setting may hold comes out as it went in."""
    put("user", value)
    assert Settings().user == value


@BOTH
@RELAXED
@given(name=st.text(min_size=1, max_size=20), limit=st.integers(1, 10**9))
def test_any_name_is_kept(file, name, limit):
    """A model may be called anything, dots and quotes included; the others keep their limits."""
    put(f"tokens.limits.{name}", str(limit))
    assert Settings().tokens.limits[name] == limit
    unset(f"tokens.limits.{name}")
    assert name not in Settings().tokens.limits
    assert file.read_text().startswith("# Settings of the kitchen agent.\n")


@BOTH
@pytest.mark.parametrize(
    ("name", "value", "toml", "yaml"),
    [
        ("user", "eva", ['-user = "ana"   # me', '+user = "eva"   # me'],
         ["-user: ana   # me", "+user: eva   # me"]),
        ("timezone", "UTC", ['+timezone = "UTC"'], ["+timezone: UTC"]),
        ("embedding.model", "local",
         ['-  model    = "none"  # for now', '+  model    = "local"  # for now'],
         ["-    model: none  # for now", "+    model: local # for now"]),
        ("embedding.threads", "2", ["+  threads = 2"], ["+    threads: 2"]),
        ("retrieval.rrf_k", "9", ["+rrf_k = 9"],
         ["-retrieval: {fusion: rrf}   # in short",
          "+retrieval: {fusion: rrf, rrf_k: 9} # in short"]),
        ("tokens.limits.gpt-4.1", "7", ['-"gpt-4.1" = 1000 # a test', '+"gpt-4.1" = 7 # a test'],
         ["-        gpt-4.1: 1000 # a test", "+        gpt-4.1: 7    # a test"]),
        ("tokens.limits.my*", "7", ['+"my*" = 7'], ["+        my*: 7"]),
        ("conversation.summaries", "off", ["+[conversation]", '+summaries = "off"'],
         ["+conversation:", "+    summaries: off"]),
        ("tokens.tokenizers.a", "estimate",
         ["+[tokens.tokenizers]", '+a = "estimate"'],
         ["+    tokenizers:", "+        a: estimate"]),
    ],
)  # fmt: skip
def test_set_changes_its_line_and_no_other(file, name, value, toml, yaml):
    """Comments, order and spaces stay; a new line stands with its group, above what follows."""
    before = file.read_text()
    put(name, value)
    changed = difference(before, file.read_text())
    changed = [line for line in changed if line.strip("+- ")]
    wanted = toml if file.suffix == ".toml" else yaml
    assert [line.replace(" ", "", 1) for line in changed] == wanted
    assert str(in_force()[name]) == value


@BOTH
def test_a_new_line_stands_right_below_its_group(file):
    """What is added does not come between a comment and what that comment is about."""
    put("embedding.threads", "2")
    lines = file.read_text().split("\n")
    at = next(number for number, line in enumerate(lines) if "threads" in line and "2" in line)
    assert "embedding" in lines[at - 1] or "model" in lines[at - 1]
    assert lines[lines.index("# How what was found is ranked") + 1].strip("[]").startswith("retri")


@BOTH
@pytest.mark.parametrize("name", ["user", "embedding.model", "retrieval.fusion"])
def test_unset_takes_its_line_and_no_other(file, name):
    """Set and unset again leaves the file as it was, but for the line of the setting."""
    before = file.read_text()
    put("conversation.strategy", "hybrid")
    unset(name)
    gone = [line for line in difference(before, file.read_text()) if line[0] == "-"]
    assert len(gone) == 1
    assert name.rpartition(".")[2] in gone[0]
    assert in_force()[name] == in_force_by_default()[name]


def in_force_by_default():
    """Return the value of every setting where nothing is set."""
    return {field.name: field.default for field in FIELDS}


@BOTH
def test_unset_of_a_group_takes_all_of_it(file):
    """A group goes with its name; the comments stay, and to do it again changes nothing."""
    for group in ("embedding", "retrieval", "tokens", "tokens.limits"):
        unset(group)
    left = file.read_text()
    assert in_force() == in_force_by_default() | {"user": "ana"}
    assert "model " not in left.replace("# Which model", "")
    assert "# How what was found is ranked" in left
    assert not unset("embedding").changed
    assert file.read_text() == left


@BOTH
def test_a_whole_setting_of_names_is_rewith_value(file):
    """A JSON object takes the place of all names; those that stay keep their lines."""
    put("tokens.limits", '{"gpt-4.1": 5, "b": 6}')
    assert Settings().tokens.limits == {"gpt-4.1": 5, "b": 6}
    assert "# a test" in file.read_text()
    put("tokens.limits", '{"b": 6}')
    assert Settings().tokens.limits == {"b": 6}
    with pytest.raises(errors.InvalidInput, match=r"is no JSON object; .*set tokens.limits.my-mod"):
        put("tokens.limits", "6")


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("embedding.threads", "many"),
        ("embedding.threads", "0"),
        ("conversation.strategy", "magic"),
        ("conversation.prune_at", "0.1"),
        ("retention.fact", "soon"),
        ("timezone", "Lisbon"),
        ("tokens.limits.x", "many"),
        ("tokens.limits", '{"x": "many"}'),
        ("tokens.limits", "[1]"),
        ("embedding", "none"),
        ("embeding.model", "none"),
        ("user", "\ud800"),
    ],
)
def test_what_is_wrong_leaves_the_file_as_it_was(file, name, value):
    """A refused change writes no byte, and leaves nothing beside the file."""
    before = file.read_bytes()
    with pytest.raises(errors.MemorandaError):
        put(name, value)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


@BOTH
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


@BOTH
def test_the_settings_as_a_whole_must_be_right(file, monkeypatch):
    """A value that contradicts one of the environment is refused, and so is a missing one."""
    monkeypatch.setenv("MEMORANDA_CONVERSATION__PRUNE_AT", "0.5")
    monkeypatch.setenv("MEMORANDA_CONVERSATION__PRUNE_TO", "0.5")
    with pytest.raises(errors.ConfigError, match="MEMORANDA_CONVERSATION__PRUNE_AT"):
        put("conversation.aggressive_at", "0.4")
    monkeypatch.setenv("MEMORANDA_EMBEDDING__THREADS", "many")
    with pytest.raises(errors.ConfigError, match="MEMORANDA_EMBEDDING__THREADS: embedding"):
        put("embedding.threads", "2")
    monkeypatch.delenv("MEMORANDA_EMBEDDING__THREADS")
    monkeypatch.delenv("MEMORANDA_CONVERSATION__PRUNE_AT")
    monkeypatch.delenv("MEMORANDA_CONVERSATION__PRUNE_TO")
    put("conversation.prune_at", "0.85")
    put("conversation.prune_to", "0.85")
    before = file.read_bytes()
    with pytest.raises(errors.ConfigError, match=r"prune_to=0\.85, prune_at=0\.8"):
        unset("conversation.prune_at")
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.toml", "[embeding]\nmodel = 'x'\n"), ("a.yaml", "embeding:\n  model: x\n")],
)
def test_what_is_wrong_in_the_file_can_be_put_right(tmp_path, monkeypatch, name, content):
    """A wrong value can be set anew, and a wrong name removed."""
    path = tmp_path / name
    path.write_text(content)
    monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
    with pytest.raises(errors.ConfigError, match="embeding is unknown"):
        put("user", "ana")
    unset("embeding")
    put("embedding.threads", "3")
    path.write_text(path.read_text().replace("3", "0"))
    with pytest.raises(errors.ConfigError, match=r"embedding\.threads=.?0"):
        Settings()
    put("embedding.threads", "2")
    assert Settings().embedding.threads == 2


PLACES = st.lists(st.sampled_from(["a", "b", "c.d", "ü", "new"]), min_size=1, max_size=3)
OLD = """\
# first
top = 1

[a]  # table
x.y = 2
[a.b]
# lonely
[c]
d = { e = 3, f = { g = 4 } }
h = \"\"\"
[no.table]
\"\"\"
[b.deep.down]
i = [
  5,  # [z]
]
"""
OLD_YAML = """\
---
# first
top: 1
a:  # map
  x:
    y: 2
  # lonely
c: {d: {e: 3, "f": {g: 4}}, }
b:
  h: |
    no:
      map: 1

  deep:
  i:
  - 5
  # end
"""


@given(
    place=st.one_of(
        PLACES.map(tuple),
        st.sampled_from(
            [("a", "x", "y"), ("c", "d", "e"), ("c", "d", "f", "new"), ("a", "x", "new")]
        ),
        st.sampled_from([("b", "deep", "new"), ("b", "i"), ("b", "h"), ("c", "h"), ("new", "b")]),
    ),
    value=st.one_of(
        st.integers(),
        st.booleans(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=9),
    ),
)
@pytest.mark.parametrize(("form", "text"), [(TomlFormat(), OLD), (YamlFormat(), OLD_YAML)])
def test_a_change_says_what_was_wanted_or_is_refused(form, text, place, value):
    """Whatever stands where in a file, a change is exactly that change, or an error."""
    values = form.parse(text)
    try:
        changed = change(form, text, place, value)
    except ValueError:
        in_the_way = [value_at(values, place[:length]) for length in range(1, len(place))]
        odd = [each for each in in_the_way if each is not MISSING and not isinstance(each, dict)]
        assert odd or isinstance(value_at(values, place), list)
        return
    assert form.parse(changed) == with_value(values, place, form.stored(value))
    assert {line.strip() for line in text.split("\n") if "#" in line} <= {
        line.strip() for line in changed.split("\n")
    } or value_at(values, place) is not MISSING
    dropped = change(form, changed, place)
    assert value_at(form.parse(dropped), place) is MISSING
    wanted = without_empty(without(form.parse(changed), place))
    assert without_empty(form.parse(dropped)) == wanted


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@BOTH
def test_a_file_keeps_its_bytes_elsewhere(file, mark, ending):
    """Line ends, the byte order mark, and the end of the file stay as another editor made them."""
    content = file.read_text().removesuffix("\n")
    file.write_bytes(mark + content.replace("\n", ending).encode())
    put("user", "eva")
    assert file.read_bytes() == mark + content.replace("ana", "eva").replace("\n", ending).encode()


@BOTH
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
    assert put("embedding.api_key", "sk-swordfish").exposed


def test_a_new_file_is_for_its_owner_alone(tmp_path, monkeypatch):
    """A file that set makes, and its folder, can hold a key."""
    path = tmp_path / "new" / "folder" / "a.toml"
    monkeypatch.setenv("MEMORANDA_CONFIG", str(path))
    done = put("embedding.api_key", "sk-swordfish")
    assert (done.value, done.path, done.exposed) == (declared.MASK, path, False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Settings().embedding.api_key.get_secret_value() == "sk-swordfish"


def test_where_nothing_can_be_written_says_so(tmp_path, monkeypatch):
    """A folder in the way, or a file without a format, is an error of ours."""
    (tmp_path / "a.toml").mkdir()
    for name, message in (("a.toml", "cannot be written"), ("a.conf", "must be named .toml")):
        monkeypatch.setenv("MEMORANDA_CONFIG", str(tmp_path / name))
        with pytest.raises(errors.ConfigError, match=message):
            put("user", "ana")
    assert [each.name for each in tmp_path.iterdir()] == ["a.toml"]


@pytest.mark.parametrize("name", ["a.toml", "a.yaml"])
def test_writers_at_once_lose_nothing(tmp_path, name):
    """Of several processes that set at once, each finds its change in the end, and no rest."""
    path = tmp_path / name
    program = (
        "import sys; from memoranda.settings import files; files.PATIENCE = 60.0\n"
        "from memoranda.settings.configure import put\n"
        "for n in range(5): put(f'tokens.limits.{sys.argv[1]}-{n}', '7')"
    )
    environment = os.environ | {"MEMORANDA_CONFIG": str(path)}
    running = [
        subprocess.Popen([sys.executable, "-c", program, who], env=environment)  # noqa: S603 - this interpreter
        for who in ("ana", "eva", "rui")
    ]
    assert [each.wait(timeout=60) for each in running] == [0, 0, 0]
    assert [each.name for each in tmp_path.iterdir()] == [name]
    os.environ["MEMORANDA_CONFIG"] = str(path)
    assert len(Settings().tokens.limits) == 15


def test_a_lock_that_stays_is_named(file, monkeypatch):
    """Where another writer never ends, the message says which file to delete."""
    monkeypatch.setattr("memoranda.settings.files.PATIENCE", 0.0)
    lock = file.with_name("a.toml.lock")
    lock.touch()
    with pytest.raises(errors.ConfigError, match=f"if none is, delete {lock}"):
        put("user", "ana")
    assert lock.exists()


def test_every_setting_says_what_it_is(file):
    """Each has a meaning, in a first sentence short enough for a line, a type and an example."""
    assert not file.exists()
    assert {each.name for each in summaries()} == {field.name for field in FIELDS}
    for field in FIELDS:
        told = explain(field.name)
        assert 5 < len(field.summary) <= 60, field.name
        assert told.meaning.endswith(".")
        assert "``" not in told.meaning
        assert told.type
        assert told.example.startswith("memoranda config set ")
        assert all(value in told.type for value in told.allowed)


def test_explain_names_line_and_source(file, monkeypatch):
    """The source of a value is its file with the line, or its variable, or the default."""
    file.write_text('user = "ana"\n\n[embedding]\nmodel = "none"\n')
    told = explain("embedding.model")
    assert (told.value, told.source, told.line) == ("none", str(file), 4)
    monkeypatch.setenv("MEMORANDA_EMBEDDING", json.dumps({"model": "auto"}))
    told = explain("embedding.model")
    assert (told.value, told.source, told.line) == ("auto", "MEMORANDA_EMBEDDING", None)
    assert explain("embedding.threads").source == "default"
    assert explain("conversation.max_messages").type == "whole number, at least 1"
    assert explain("conversation.budget_share").type == "number, above 0, at most 1"


def test_explain_helps_while_settings_are_wrong(file):
    """What other commands refuse to start with is shown with what is wrong about it."""
    file.write_text("[embedding]\nthreads = 0\n")
    told = explain("embedding.threads")
    assert (told.value, told.line) == (0, 2)
    assert "should be greater than or equal to 1" in told.problem
    file.write_text("[embedding")
    told = explain("embedding.threads")
    assert (told.value, told.source) == (None, None)
    assert "is not valid TOML" in told.problem


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("conversation.stratgy", "conversation.strategy"),
        ("strategy", "conversation.strategy"),
        ("strateg", "conversation.strategy"),
        ("embeding.modle", "embedding.model"),
        ("Embedding.Model", "embedding.model"),
        ("convresation", "conversation"),
        ("zzz", None),
    ],
)
def test_an_unknown_name_suggests_the_nearest(name, near):
    """A slip of the pen is answered with the name that was meant."""
    hint = f"did you mean {near}?" if near else "memoranda config explain lists all there are"
    with pytest.raises(errors.InvalidInput, match="is unknown") as caught:
        explain(name)
    assert str(caught.value).endswith(hint)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("MEMORANDA_EMBEDING__MODEL", "; did you mean MEMORANDA_EMBEDDING__MODEL?"),
        ("MEMORANDA_TIMEZON", "; did you mean MEMORANDA_TIMEZONE?"),
        ("MEMORANDA_ZZZ__X", "; memoranda config explain lists all there are"),
    ],
)
def test_variables_that_set_nothing_are_refused(monkeypatch, name, near):
    """A variable with a slip names the one that was meant."""
    monkeypatch.setenv(name, "none")
    with pytest.raises(errors.ConfigError) as caught:
        Settings()
    assert str(caught.value) == f"the environment variable {name} sets nothing{near}"


def test_variables_of_others_are_let_be(monkeypatch):
    """Names that are like none of ours, values by name, and whole groups."""
    monkeypatch.setenv("MEMORANDA_REGENERATE_GOLDENS", "1")
    monkeypatch.setenv("MEMORANDA_TOKENS__LIMITS__GPT", "7")
    monkeypatch.setenv("MEMORANDA_EMBEDDING", "{}")
    assert Settings().tokens.limits == {"gpt": 7}


@pytest.mark.parametrize(
    "arguments",
    [{"embedding": {"x": 1}}, {"embeding": {"model": "none"}}, {"retention": {"epsode": 1}}],
)
def test_unknown_settings_are_refused_as_arguments(arguments):
    """Nested as deep as they may be."""
    with pytest.raises(errors.ConfigError, match="is unknown"):
        Settings(**arguments)


def test_an_unknown_setting_in_a_group_is_refused_in_the_environment(monkeypatch):
    """What a group does not have is named with its variable."""
    monkeypatch.setenv("MEMORANDA_EMBEDDING__X", "1")
    with pytest.raises(
        errors.ConfigError, match=r"MEMORANDA_EMBEDDING__X: embedding\.x is unknown"
    ):
        Settings()


def test_values_by_name_are_listed_one_by_one(file, monkeypatch):
    """Where some are of the file and some of the environment, each has its source."""
    file.write_text("[tokens.limits]\na = 5\n")
    monkeypatch.setenv("MEMORANDA_TOKENS__LIMITS", '{"b": 6}')
    found = {each.name: (each.value, each.source) for each in list_settings(Settings())}
    assert found["tokens.limits.a"] == (5, str(file))
    assert found["tokens.limits.b"] == (6, "MEMORANDA_TOKENS__LIMITS")
    assert "tokens.limits" not in found


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ana:tiger@host/db", "postgresql://ana:…@host/db"),
        ("postgresql://ana:ti/g@er@host/db?sslmode=require", "postgresql://ana:…@host/db?ssl"),
        ("postgresql://host/db?p%61ssword=tiger&user=ana", "postgresql://host/db?p%61ssword=…"),
        ("postgresql://ana@host/db", "postgresql://ana@host/db"),
        ("~/agent.db", "~/agent.db"),
    ],
)
def test_no_password_of_an_address_is_shown(address, shown):
    """Neither by what lists, explains and changes the settings, nor by these themselves."""
    done = put("location", address)
    chosen = Settings()
    (listed,) = [each for each in list_settings(chosen) if each.name == "location"]
    for told in (done.value, listed.value, explain("location").value):
        assert told.startswith(shown)
    assert chosen.location == address
    assert "tiger" not in f"{chosen!r}{chosen}{done}{explain('location')}{list_settings(chosen)}"

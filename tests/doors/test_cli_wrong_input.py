"""What cannot be used is one line that names it and says what to do, and an exit code.

The table is read as a shell does: ``NAME=VALUE`` before a command sets a variable for it, and
``< TEXT`` behind it is its standard input.
"""

import shlex

import pytest
from rich.cells import cell_len
from talk_of_two_tasks import tell

from memoranda import Memory

SIGNS = ("\x1b", "\x07", "\x9b")
LONGEST = 400  # Characters of a line on standard error.
SPEC = "write anthropic:NAME, openai:NAME"

# A wrong command line: what is named, and the remedy.
USAGE = [
    ("serach tea", "'serach'", "did you mean 'search'?"),
    ("users remove x", "'remove'", "see memoranda users --help"),
    ("config sett user x", "'sett'", "did you mean 'set'"),
    ("config models", "missing command", "see memoranda config models --help"),
    ("--verison", "--verison", "--version"),
    ("search", "'query'", "see memoranda search --help"),
    ("config set user", "'value'", "see memoranda config set --help"),
    ("correct last", "'text'", "see memoranda correct --help"),
    ("search tea --limt 3", "--limt", "did you mean --limit?"),
    ("search tea --kid fact", "--kid", "--kind"),
    ("search tea --limit abc", "--limit='abc'", "should be a valid integer"),
    ("search tea --limit 1.5", "--limit='1.5'", "should be a valid integer"),
    ("search tea --limit 0", "--limit='0'", "should be greater than or equal to 1"),
    ("list --offset -1", "--offset='-1'", "should be greater than or equal to 0"),
    ("search tea --min-score 5", "--min-score='5'", "should be less than or equal to 1"),
    ("search tea --min-score x", "--min-score='x'", "should be a valid number"),
    ("recall tea --budget ten", "--budget='ten'", "should be a valid integer"),
    ("mcp --tools all", "--tools='all'", "is not one of 'full', 'basic'"),
    ("list --limit", "'--limit' requires an argument", "see memoranda list --help"),
    ("search tea --json=yes", "'--json' does not take a value", "see memoranda search --help"),
    ("entity New York", "too many words (York)", "see memoranda entity --help"),
    ("list extra words", "too many words (extra words)", "see memoranda list --help"),
    ("config set retention.episode -3d", "-3", "see memoranda config set --help"),
]
# What a command cannot use.
VALUES = [
    ("remember - < ", "content is empty", "give it some text"),
    ("remember x --kind opinion", "kind='opinion'", "use one of episode, fact"),
    ("remember x --metadata a", "metadata='a'", "write key=value, or a JSON object"),
    ("search x --metadata {", "metadata='{'", "write key=value, or a JSON object"),
    ("remember x --namespace app", "namespace=['app']", "add kind='item', or leave it out"),
    ("context 'a long prompt' --budget 3", "the budget of 3", "raise the budget"),
    ("context Book --conversation tripp", "'tripp'", "there is 'trip'"),
    # dates
    ("remember x --event-time yesterday", "event-time='yesterday'", "write it as 2025-03-31"),
    ("list --since 99999-01-01", "since='99999-01-01'", "write it as 2025-03-31"),
    ("search x --as-of 0001-01-01T00:00+14:00", "0001-01-01", "outside the years 1 to 9999"),
    ("search x --since 2026-01-01 --until 2025-01-01", "since=2026-01-01", "is not before until"),
    # records
    ("show fact_none", "'fact_none' for user 'default'", "memoranda list shows those there are"),
    ("show '\x1b[2Jx'", "there is no record", "memoranda list"),
    ("correct fact_none text", "'fact_none'", "another --user or --db may have it"),
    ("facts show fact_nope", "'fact_nope'", "memoranda list"),
    ("forget", "name a record by its id", "memoranda list"),
    ("forget fact_none --key k", "name a record by its id", "or an item by --key"),
    ("show --namespace app --key theme", "no item 'theme' in ('app',)", "memoranda list"),
    ("entity Prto", "'Prto'", "did you mean Porto?"),
    ("entity Qqqq", "'Qqqq'", "memoranda entities lists"),
    # conversations
    ("conversations show tripp", "'tripp'", "there is 'trip'"),
    ("conversations show trip --user ben", "'ben'", "--user takes default"),
    ("conversations prune trip --to 20", "20", "raise the budget"),
    ("conversations expand trip 'the start'", "'the start'", "its id such as cut_12-26"),
    ("conversations expand trip cut_90-99", "90 to 99", "show it to see their places"),
    ("conversations delete trip", "no terminal to ask on", "add --yes"),
    ("consolidate nowhere", "'nowhere'", "memoranda conversations lists"),
    ("maintain sleep", "stage='sleep'", "use one of expire"),
    ("chat --model nobody:x", "'nobody:x'", SPEC),
    ("users delete nobody --yes", "'nobody'", "there is 'default'"),
    # files
    ("import absent.json", "absent.json cannot be read", "check the path"),
    ("import poem.txt", "poem.txt is of a kind that is not read", ".json, .jsonl, .md"),
    ("import broken.json", "broken.json: not valid JSON", "correct it, or name another format"),
    ("import odd.json", "odd.json, line 1", "memoranda import --help lists"),
    ("import talk.json --format nonesuch", "format='nonesuch'", "use one of memoranda, openai"),
    ("export no/folder/out.jsonl", "no/folder/out.jsonl cannot be written", "mkdir -p"),
    ("backup no/folder/x.db", "x.db cannot be written: there is no folder", "mkdir -p"),
    ("backup agent.db", "agent.db exists already", "choose a new name"),
    ("backup poem.txt/x.db", "poem.txt/x.db", "choose another place"),
    ("copy agent.db ./folder/../agent.db", "is the store that is copied", "name another"),
    ("copy chroma:///no/where b.db", "there is no memory at /no/where", "remember begins"),
    # places
    ("list --db poem.txt", "poem.txt is damaged", "choose another path"),
    ("list --db folder", "folder cannot be opened", "check that it"),
    ("list --db /dev/null", "/dev/null cannot be opened", "is a file"),
    ("list --db nothere.db", "nothere.db", "beside it: agent.db"),
    ("remember x --db no/folder/x.db", "no/folder/x.db cannot be written", "mkdir -p"),
    ("remember x --db poem.txt/x.db", "poem.txt/x.db cannot be written", "choose another place"),
    ("remember x --db ''", "location=''", "use a file or :memory:"),
    ("list --db redis://x", "'redis:…'", "use a file, :memory:, postgresql://"),
    ("stats --db postgresql://localhost/x?nothing=1", "postgresql://…", "use postgresql://user@"),
    ("list --user nobody", "'nobody'", "--user takes default"),
    ("mcp --http nowhere", "--http='nowhere'", "write HOST:PORT"),
    ("mcp --http 0.0.0.0:0", "there is no token", "memoranda token create"),
    # settings
    ("config set llm.modle x", "'llm.modle'", "did you mean llm.model?"),
    ("config set conversation x", "conversation is a group", "name one of them"),
    ("config set conversation.strategy magic", "strategy='magic'", "should be 'rolling_window'"),
    ("config explain strateg", "'strateg'", "did you mean conversation.strategy?"),
    ("MEMORANDA_LOCATOIN=x list", "MEMORANDA_LOCATOIN", "did you mean MEMORANDA_LOCATION?"),
    ("MEMORANDA_CONFIG=poem.txt list", "poem.txt", "must be named .toml, .yaml"),
    ("MEMORANDA_CONFIG=bad.yaml list", "bad.yaml", "line 2, column 9"),
    ("MEMORANDA_EMBEDDING__MODEL=best search x", "embedding.model='best'", "use auto, local"),
    ("MEMORANDA_EMBEDDING__MODEL=local search x", "models", "memoranda config models pull"),
    # events of other programs
    ("hook claude-code < nonsense", "got 'nonsense'", "expected JSON with session_id"),
    ("hook nothing", "'nothing'", "see memoranda hook --help"),
]  # fmt: skip


@pytest.fixture
def there(tmp_path, monkeypatch):
    """Lay out a memory and files of every wrong kind; return what must stay as it is."""
    monkeypatch.setenv("MEMORANDA_EMBEDDING__FOLDER", str(tmp_path / "models"))
    for name, content in {
        "poem.txt": "roses are red " * 100,
        "broken.json": "[1,",
        "odd.json": '{"a": 1}',
        "talk.json": '[{"role": "user", "content": "Hello."}]',
        "bad.yaml": "memory:\n  path: [a\n",
    }.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "config.toml").write_bytes(b"# mine\n\nuser = 'default'")
    (tmp_path / "bytes.bin").write_bytes(bytes(range(256)) * 200)
    (tmp_path / "folder").mkdir()
    with Memory() as memory:
        memory.conversation("talk").add("user", "I live in Porto.")
        memory.consolidate()
        tell(memory.conversation("trip", system="You are careful.", context_limit=8_000))

    def read():
        with Memory() as memory:
            held = memory.records(limit=1_000), memory.conversations()
        # What a model is made ready in, and the log of a database, come and go by themselves.
        kept = [each for each in tmp_path.rglob("*") if "models" not in each.parts]
        kept = [each for each in kept if not each.name.endswith(("-wal", "-shm"))]
        files = {each: each.read_bytes() for each in kept if each.suffix[1:2] in {*"tbjy"}}
        return held, sorted(kept), files

    return read


def test_wrong_input_is_one_line_that_names_it_and_the_remedy(run, there, monkeypatch, subtests):
    """Nothing comes to standard output, no control character anywhere, and nothing is changed."""
    before = there()
    for code, rows in ((2, USAGE), (1, VALUES)):
        for line, *told in rows:
            words, _, stdin = line.partition(" < ")
            words = shlex.split(words)
            with subtests.test(line), monkeypatch.context() as changed:
                while words[0].startswith("MEMORANDA_"):
                    changed.setenv(*words.pop(0).split("=", 1))
                result = run(*words, code=code, stdin=stdin)
                lines = [each for each in result.stderr.splitlines() if each[:5] != "note:"]
                assert [each[:7] for each in lines] == ["error: "]
                assert all(each in lines[0] for each in told)
                assert cell_len(lines[0]) <= LONGEST
                assert not any(sign in result.stderr for sign in SIGNS)
                assert result.stdout == ""
    assert there() == before

"""The backend for Deep Agents answers as its own on a store in memory, whatever is asked."""

from uuid import uuid4

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import Memory, Settings

pytest.importorskip("memoranda.integrations.deepagents", reason="it is not installed")

from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend
from deepagents.middleware.memory import MemoryMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.store.memory import InMemoryStore

from memoranda.integrations.deepagents import DeepAgentsBackend

PATH = st.sampled_from(["/a.md", "/b/a.md", "/b/c/d.py", "/b/pic.png", "/.env"])
FOLDER = st.sampled_from(["/", "/b", "/b/", "/b/c", "/none", None])
TEXT = st.sampled_from(["", "tea", "tea\nwater\ntea", "one\r\ntwo\n\n", " "])
PATTERN = st.sampled_from(["*.md", "**/*.md", "/*.md", "b/**", "*", "{a,d}.*", "../*", ".env"])
NUMBER = st.integers(-1, 4)


def step(verb: str, *arguments: st.SearchStrategy, **named: st.SearchStrategy) -> st.SearchStrategy:
    """Return calls of a verb."""
    return st.tuples(st.just(verb), st.tuples(*arguments), st.fixed_dictionaries(named))


STEP = st.one_of(
    step("write", PATH, TEXT),
    step("write", PATH, TEXT),
    step("edit", PATH, TEXT, TEXT, replace_all=st.booleans()),
    step("delete", PATH | FOLDER.filter(bool)),
    step("read", PATH, NUMBER, NUMBER),
    step("ls", FOLDER.filter(bool)),
    step("grep", TEXT, FOLDER, PATTERN | st.none(), max_count=st.none() | NUMBER),
    step("glob", PATTERN, FOLDER),
    step("upload_files", st.lists(st.tuples(PATH, st.sampled_from([b"tea", b"\xff\x00"])))),
    step("download_files", st.lists(PATH)),
)


@pytest.fixture(scope="module")
def memory():
    """A memory in which each example has a namespace of its own."""
    with Memory(":memory:", settings=Settings(embedding={"model": "none"})) as opened:
        yield opened


def without_times(said: object) -> object:
    """Return an answer without when files were made and changed."""
    match said:
        case list():
            return [without_times(each) for each in said]
        case dict():
            shown = {name: without_times(value) for name, value in said.items()}
            return {name: shown[name] for name in shown.keys() - {"created_at", "modified_at"}}
        case str() | bytes() | int() | None:
            return said
    return type(said), without_times(vars(said))


def in_order(said: object) -> object:
    """Return an answer with its lists by path: a store lists files by age, a memory by path."""
    if isinstance(said, tuple) and isinstance(said[1].get("matches"), list):
        matches = sorted(said[1]["matches"], key=lambda each: (each["path"], each.get("line")))
        # Which ones are left out depends on the order, how many does not.
        return said[0], said[1] | {"matches": len(matches) if said[1]["truncated"] else matches}
    return said


@given(steps=st.lists(STEP, max_size=20))
@settings(max_examples=examples(25))
def test_it_answers_as_the_backend_on_a_store(memory, steps):
    """Each answer and each error, in any order of calls."""
    ours = DeepAgentsBackend(memory, ("files", uuid4().hex))
    theirs = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",))
    for verb, arguments, named in [("write", ("/a.md", "tea\nwater"), {}), *steps]:
        said, expected = (getattr(each, verb)(*arguments, **named) for each in (ours, theirs))
        assert in_order(without_times(said)) == in_order(without_times(expected))


def test_an_edit_is_made_anew_where_another_was_faster(memory, monkeypatch):
    """Neither of two edits of one file is lost."""
    files = memory.files(("files", "race"))
    backend = DeepAgentsBackend(memory, ("files", "race"))
    files.write("a.md", "tea and water")
    write, first = type(files).write, [True]

    def write_second(self, path, content, **named):
        if first and first.pop():
            write(self, path, "tea and milk")
        return write(self, path, content, **named)

    monkeypatch.setattr(type(files), "write", write_second)
    assert backend.edit("/a.md", "tea", "oolong").occurrences == 1
    assert files.read("a.md").content == "oolong and milk"


def test_what_cannot_be_kept_is_an_error_for_the_model(memory):
    """In each form that an answer has; what could be done is done."""
    backend = DeepAgentsBackend(memory, ("files", "refused"))
    assert "control character" in backend.write("/a\x07", "text").error
    assert "100,001 bytes" in backend.write("/a.md", "x" * 100_001).error
    assert "'..'" in backend.read("/../a.md").error
    up = backend.upload_files([("/a.md", b"one"), ("/b.md", b"x" * 100_001)])
    assert [bool(each.error) for each in up] == [False, True]
    down = backend.download_files(["/a.md", "/../b.md", "/c.md"])
    assert [each.content for each in down] == [b"one", None, None]
    assert down[2].error == "file_not_found"


def test_notes_are_a_file(tmp_path):
    """An agent gets MEMORY.md in its prompt, and what it writes there is learned."""
    with Memory(tmp_path / "memory.db", user="ana") as memory:
        memory.remember("Ana drinks oolong.")
        own = DeepAgentsBackend(memory, notes="/AGENTS.md")
        backend = CompositeBackend(default=StateBackend(), routes={"/memories/": own})
        loaded = MemoryMiddleware(backend=backend, sources=["/memories/AGENTS.md"])
        contents = loaded.before_agent({}, None, {})["memory_contents"]
        assert "Ana drinks oolong." in contents["/memories/AGENTS.md"]
        assert [each["path"] for each in own.ls("/").entries] == ["/AGENTS.md"]
        assert own.edit("/AGENTS.md", "oolong", "mate").occurrences == 1
        assert any("mate" in fact.content for fact in memory.records())


def test_an_agent_works_with_the_files_of_a_memory(memory):
    """Its own tools write, edit, read and find them below the route of the memory."""
    plan = {"file_path": "/memories/plan.md"}
    steps = [
        ("write_file", plan | {"content": "Buy milk"}),
        ("edit_file", plan | {"old_string": "milk", "new_string": "tea"}),
        ("read_file", plan),
        ("grep", {"pattern": "tea", "path": "/memories"}),
        ("ls", {"path": "/memories/"}),
    ]
    calls = [
        AIMessage("", tool_calls=[{"name": name, "args": given, "id": name}])
        for name, given in steps
    ]

    class Scripted(GenericFakeChatModel):
        """A model that says what is given."""

        def bind_tools(self, *_tools, **_options):
            return self

    kept = DeepAgentsBackend(memory, ("files", "agent"))
    agent = create_deep_agent(
        model=Scripted(messages=iter([*calls, AIMessage("done")])),
        backend=CompositeBackend(default=StateBackend(), routes={"/memories/": kept}),
    )
    said = agent.invoke({"messages": [{"role": "user", "content": "Plan."}]})["messages"]
    told = {each.name: each.content for each in said if isinstance(each, ToolMessage)}
    assert "Buy tea" in told["read_file"]
    assert "/memories/plan.md" in told["grep"]
    assert "/memories/plan.md" in told["ls"]
    assert memory.files(("files", "agent")).read("plan.md").content == "Buy tea"

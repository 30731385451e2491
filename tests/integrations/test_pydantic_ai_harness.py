"""The store of Pydantic AI's harness answers as its own in memory, whatever is asked."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import AsyncMemory, Settings

pytest.importorskip("memoranda.integrations.pydantic_ai_harness", reason="it is not installed")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_harness import memory as harness
from pydantic_ai_harness.conversation_search import ConversationSearch, HistorySource

from memoranda.integrations.pydantic_ai_harness import ConversationHistory, HarnessMemoryStore

PATHS = ["a.md", "b/a.md", "b/c/d.md", "/a.md", "a//b.md", "b/../a.md", "a b.md", "b/./a.md", ""]
PATH = st.sampled_from(PATHS[:3] * 3 + PATHS)
TEXT = st.sampled_from(["", "tea", "tea tea and water", "WATER " * 9, "12345tea-tail"])
METADATA = st.sampled_from([None, {}, {"by": "ana"}, {"by": "\x00"}, {"n": 1}, {"by": "x" * 5_000}])
KNOWN = st.sampled_from(["newest", "none", "older"])
OPERATION = st.none() | st.builds(
    harness.MemoryOperation, st.sampled_from(["1", "2"]), st.sampled_from(["f", "g"])
)
NUMBER = st.sampled_from([0, 1, 4, 20, 1_000])
BOUNDS = st.fixed_dictionaries(
    dict.fromkeys(("limit", "max_files", "max_chars", "max_file_chars"), NUMBER)
)


def step(verb: str, *arguments: st.SearchStrategy, **named: st.SearchStrategy) -> st.SearchStrategy:
    """Return calls of a verb."""
    return st.tuples(st.just(verb), st.tuples(*arguments), st.fixed_dictionaries(named))


WRITE = step(
    "write_with_metadata",
    PATH,
    TEXT,
    expected_version=KNOWN,
    metadata=METADATA,
    operation=OPERATION,
)
STEP = st.one_of(
    WRITE,
    step("write", PATH, TEXT, expected_version=KNOWN, operation=OPERATION),
    step("delete", PATH, expected_version=KNOWN, operation=OPERATION),
    step("read", PATH, max_chars=NUMBER),
    step("get_operation", OPERATION.filter(bool)),
    step("list_paths", st.sampled_from(["", "b", "b/", "b/c/", "/", "..", "a b"]), limit=NUMBER),
    st.tuples(
        st.just("search"),
        st.tuples(
            st.sampled_from(["", "b/", "../"]), st.sampled_from(["tea", "water tea", " ", "a"])
        ),
        BOUNDS,
    ),
)


class Asked:
    """A store, and which versions it has had of each path, the newest last."""

    def __init__(self, store) -> None:
        """Know no version yet."""
        self.store, self.versions = store, {}

    async def answer(self, verb, arguments, named):
        """Return what the store says, with versions by how old they are, or the kind of error."""
        path = arguments[0]
        had = self.versions.setdefault(path, [None])
        if "expected_version" in named:
            known = {"newest": had[-1], "none": None, "older": had[len(had) // 2]}
            named = named | {"expected_version": known[named["expected_version"]]}
        try:
            said = await getattr(self.store, verb)(*arguments, **named)
        except (ValueError, TypeError, RuntimeError) as error:
            kinds = (harness.MemoryConflictError, harness.MemoryOperationConflictError)
            return type(error) if isinstance(error, kinds) else ValueError
        if verb in {"write", "write_with_metadata", "delete"} and not said.replayed:
            had.append(said.version)
        if isinstance(said, (harness.MemoryFile, harness.MemoryMutation)) and said.version:
            (age,) = {
                (path, versions.index(said.version))
                for path, versions in self.versions.items()
                if said.version in versions
            }
            return replace(said, version=age), getattr(said, "metadata", None)
        return said


@given(
    steps=st.lists(WRITE, min_size=1, max_size=5).flatmap(
        lambda first: st.lists(STEP, max_size=25).map(lambda more: [*first, *more])
    )
)
@settings(max_examples=examples(25))
def test_it_answers_as_the_store_in_memory(steps):
    """Each answer and each error, in any order of calls."""

    async def use() -> None:
        async with AsyncMemory(
            ":memory:", settings=Settings(embedding={"model": "none"})
        ) as memory:
            ours = Asked(HarnessMemoryStore(memory, ("files", uuid4().hex)))
            theirs = Asked(harness.InMemoryStore())
            for each in steps:
                assert await ours.answer(*each) == await theirs.answer(*each), each

    asyncio.run(use())


def test_the_harness_takes_it_as_a_whole_store():
    """With metadata and search, and lists no path that it could not read."""

    async def use() -> None:
        async with AsyncMemory(":memory:") as memory:
            store = HarnessMemoryStore(memory)
            assert isinstance(store, harness.MetadataMemoryStore)
            assert isinstance(store, harness.SearchableMemoryStore)
            await memory.files().write("two words.md", "tea")
            assert await store.list_paths(limit=9) == []

    asyncio.run(use())


def test_an_agent_keeps_its_notebook_there():
    """What one run writes stands in the request of the next one."""

    def model(messages, _):
        if "remember" in str(messages) and "ToolCallPart" not in str(messages):
            return ModelResponse(
                [ToolCallPart("write_memory", {"content": "- Ana drinks oolong."})]
            )
        return ModelResponse([TextPart("oolong" if "Ana drinks oolong." in str(messages) else "?")])

    async def use() -> None:
        async with AsyncMemory(":memory:") as memory:
            notebook = harness.Memory(store=HarnessMemoryStore(memory))
            agent = Agent(FunctionModel(model), capabilities=[notebook])
            await agent.run("remember that I drink oolong")
            assert "oolong" in (await memory.files().read("main/MEMORY.md")).content
            assert (await agent.run("what do I drink?")).output == "oolong"

    asyncio.run(use())


def test_conversations_can_be_searched():
    """Those of anybody, by the harness's own tool; an unknown one is empty."""

    async def use() -> None:
        async with AsyncMemory(":memory:") as memory:
            for name, text in (("tea", "My tea is oolong"), ("pet", "My cat is Schnurri")):
                await (await memory.conversation(name)).add("user", text)
            source = ConversationHistory(memory)
            assert isinstance(source, HistorySource)
            assert [each.run_id for each in await source.list_runs()] == ["tea", "pet"]
            assert await source.run_history(run_id="none") == []
            found = []

            def model(messages, _):
                last = messages[-1].parts[-1]
                if last.part_kind == "tool-return":
                    found.append(str(last.content))
                    return ModelResponse([TextPart("done")])
                return ModelResponse(
                    [ToolCallPart("search_conversation_history", {"query": "Schnurri"})]
                )

            search = ConversationSearch(source, scope="all")
            await Agent(FunctionModel(model), capabilities=[search]).run("What is my cat called?")
            assert "My cat is Schnurri" in found[0]
            assert "oolong" not in found[0]

    asyncio.run(use())

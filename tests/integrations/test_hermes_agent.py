"""The provider for Hermes' memory works under its real manager, as a plugin of a user."""

import json

import pytest

pytest.importorskip(
    "agent.memory_provider", reason="not installed: pip install 'memoranda[hermes-agent]'"
)

from agent.memory_manager import MemoryManager
from plugins.memory import discover_memory_providers, load_memory_provider

from memoranda import Memory
from memoranda.integrations.hermes_agent import MemorandaProvider

CAT = "My cat is called Schnurri."


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Return a function that begins a session in a home of Hermes."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORANDA_EMBEDDING__MODEL", "none")

    def begin(session: str, **given):
        manager = MemoryManager()
        manager.add_provider(MemorandaProvider())
        manager.initialize_all(session, platform="cli", user_id="ana", **given)
        return manager

    return begin


def test_a_session_is_told_what_an_earlier_one_said(start, tmp_path):
    """The manager's turns are kept by user; only a person's own sessions are, and recall itself."""
    first = start("monday")
    first.sync_all(CAT, "A fine name.", session_id="monday")
    first.on_memory_write("add", "user", "Ana is vegetarian.", metadata={})
    assert first.flush_pending()
    assert first.prefetch_all("What is my cat called?", session_id="monday") == ""
    first.on_session_end([])
    first.shutdown_all()
    cron = start("job", agent_context="cron")
    cron.sync_all("Run the job.", "Done.", session_id="job")
    cron.on_session_end([])
    assert cron.flush_pending()
    cron.shutdown_all()
    second = start("friday")
    told = second.prefetch_all("What is my cat called?", session_id="friday")
    assert CAT in told
    second.shutdown_all()
    with Memory(tmp_path / "memoranda.db", user="ana") as memory:
        assert [each.id for each in memory.conversations()] == ["monday"]
        assert [each.content for each in memory.conversation("monday").messages] == [
            CAT,
            "A fine name.",
        ]
        facts = memory.records(kind="fact")
        assert "Ana is vegetarian." in [each.content for each in facts]


def test_its_tools_are_called_by_the_manager(start):
    """They are known before a session begins; a mistake is told to the model."""
    manager = start("s")
    names = {each["name"] for each in manager.get_all_tool_schemas()}
    assert {"search_memories", "store_memory"} <= names
    given = {"content": "Ana keeps bees.", "memory_type": "fact"}
    stored = manager.handle_tool_call("store_memory", given)
    assert "result" in json.loads(stored)
    answer = json.loads(manager.handle_tool_call("search_memories", {"query": "bees"}))
    assert "Ana keeps bees." in answer["result"]
    wrong = json.loads(manager.handle_tool_call("search_memories", {"question": "bees"}))
    assert wrong["result"].startswith("Error:")
    manager.shutdown_all()


def test_it_is_found_as_a_plugin(start, tmp_path):
    """With the two lines that the page shows."""
    del start
    plugin = tmp_path / "plugins" / "memoranda"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(
        "from memoranda.integrations.hermes_agent import MemorandaProvider\n\n\n"
        "def register(context):\n"
        "    context.register_memory_provider(MemorandaProvider())\n",
        "utf-8",
    )
    assert ("memoranda", "", True) in discover_memory_providers()
    provider = load_memory_provider("memoranda")
    assert isinstance(provider, MemorandaProvider)
    provider.shutdown()

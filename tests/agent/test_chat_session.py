"""A chat session: text goes in, and the events that come out say what was done."""

import base64
import json

import pytest
from model_server import raw, talked
from noting import agent_of, chosen, noting, talking
from tables import each_row

from memoranda.agent.agent import CUT_OFF
from memoranda.agent.session import (
    AnswerFinished,
    ChatEnded,
    ChatSession,
    ConversationChanged,
    CostReport,
    InterfaceCommand,
    Notice,
    Question,
    RequestFailed,
    SearchResults,
    TextPiece,
    WorkStarted,
)
from memoranda.errors import InvalidInput
from memoranda.model.chat import ChatReply
from memoranda.providers.llm import available
from memoranda.testing.models import ONE_CALL, ScriptedLLM

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5"
    "ErkJggg=="
)
BILL = b"%PDF-1.4\n1 0 obj\n<< /Type /Page >>\nendobj\n"


class Paid(ScriptedLLM):
    """A model of which it is known whether it costs money."""

    costs_money = True


@pytest.fixture
def opened(tmp_path):
    """Open chats of scripted models on files of their own."""
    memories = []

    def start(*script, **sections):
        model = talking(*script) if script else None
        memory = noting(tmp_path / f"{len(memories)}.db", settings=chosen(**sections), llm=model)
        memories.append(memory)
        return ChatSession(memory, own={"/context": "figures", "/help": "this"})

    yield start
    for each in memories:
        each.close()


def of(kind, chat, text):
    """Return the last event of a text, which is to be of a kind."""
    *_, last = chat.send(text)
    assert isinstance(last, kind), last
    return last


def spoken(chat):
    """Return what stands in the conversation."""
    return [message.content for message in chat.agent.chat.messages]


def test_an_answer_comes_in_pieces_with_what_it_took(opened):
    """First that it is waited for, then words, then the whole with what the session took."""
    chat = opened("She lives in Porto.")
    first, *pieces, last = chat.send("Where is Rita?")
    assert first == WorkStarted(ending=False)
    assert "".join(each.text for each in pieces) == "She lives in Porto."
    assert all(isinstance(each, TextPiece) for each in pieces)
    assert isinstance(last, AnswerFinished)
    assert last.spending[0].usage == last.answer.usage
    assert of(CostReport, chat, "/cost").spending == last.spending


def test_an_answer_that_was_cut_off_is_told_and_stored_as_such(opened):
    """Its words stay as far as they go, and whoever reads it later sees that more was to come."""
    chat = opened(ChatReply("Once upon a", (), ONE_CALL, complete=False))
    _, *pieces, last = chat.send("Tell me a story.")
    assert last.answer.text == f"Once upon a\n\n{CUT_OFF}"
    assert "".join(each.text for each in pieces) == last.answer.text == spoken(chat)[-1]


def test_what_was_said_can_be_taken_back_and_said_again(opened):
    """/undo takes question and answer, /retry asks again, /edit says it in other words."""
    chat = opened("One.", "Two.", "Three.", "Four.")
    of(AnswerFinished, chat, "First?")
    of(AnswerFinished, chat, "Second?")
    assert "Second?" in of(ConversationChanged, chat, "/undo").text
    assert spoken(chat) == ["First?", "One."]
    assert of(AnswerFinished, chat, "/retry").answer.text == "Three."
    assert spoken(chat) == ["First?", "Three."]
    assert of(AnswerFinished, chat, "/edit Second, then?").answer.text == "Four."
    assert spoken(chat) == ["Second, then?", "Four."]
    of(ConversationChanged, chat, "/undo")
    assert "nothing was said" in str(of(RequestFailed, chat, "/undo").error)


def test_what_memory_kept_for_a_message_is_taken_back_with_it(opened):
    """A statement to remember goes with its message; of what was forgotten, /undo says it stays."""
    chat = opened()
    of(AnswerFinished, chat, "Remember that my bike code is 99")
    assert "stays so" not in of(ConversationChanged, chat, "/undo").text
    assert chat.agent.memory.records() == []
    of(AnswerFinished, chat, "Remember that I swim on Mondays")
    of(AnswerFinished, chat, "Forget that I swim on Mondays")
    assert "stays so" in of(ConversationChanged, chat, "/undo").text


def test_a_cleared_chat_is_a_clean_slate(opened):
    """/clear asks; what was cleared is told again only who asks for it, and is still found."""
    chat = opened("Noted.", "Six.", "Fourteen.")
    of(AnswerFinished, chat, "The invoices table has 14 columns.")
    question = of(Question, chat, "/clear")
    assert len(chat.agent.chat) == 2
    assert "Cleared" in of(ConversationChanged, chat, question.yes).text
    for asked, told in (
        ("How many columns does the poster have?", False),
        ("What did I say before about the invoices table?", True),
    ):
        of(AnswerFinished, chat, asked)
        sent = chat.agent._model.chatted[-1].messages
        assert ("14 columns" in json.dumps([dict(message) for message in sent])) is told
    assert (
        "14 columns"
        in of(SearchResults, chat, "/search invoices table columns").hits[0].record.content
    )
    alone = opened()
    of(AnswerFinished, alone, "The invoices table has 14 columns.")
    of(ConversationChanged, alone, question.yes)
    assert (
        "14"
        not in of(AnswerFinished, alone, "How many columns has the invoices table?").answer.text
    )
    assert "14" in of(AnswerFinished, alone, "What did I say about the invoices table?").answer.text


def test_files_go_with_the_next_message(opened, tmp_path):
    """A text is quoted, what has pages or pixels goes as it is; else it is said why not."""
    (tmp_path / "notes.txt").write_text("Gate 12 at noon.")
    (tmp_path / "dot.png").write_bytes(PIXEL)
    (tmp_path / "bill.pdf").write_bytes(BILL)
    (tmp_path / "odd.bin").write_bytes(b"\x00\x01")
    chat = opened("I see.", "Fine.")
    for name in ("notes.txt", "dot.png", "bill.pdf"):
        assert name in of(Notice, chat, f"/attach {tmp_path / name}").text
    for name, why in {"odd.bin": "save it as one", "none.txt": "No such file"}.items():
        assert why in str(of(RequestFailed, chat, f"/attach {tmp_path / name}").error)
    of(AnswerFinished, chat, "What is this?")
    message = chat.agent.chat.messages[0]
    assert "Gate 12 at noon." in message.content
    assert '<file name="bill.pdf"/>' in message.content
    assert [image.label for image in message.images] == ["[image]", "[PDF]"]
    sent = [each["role"] for each in chat.agent._model.chatted[-1].messages]
    assert sent.count("user") == 1
    of(AnswerFinished, chat, "And without?")
    assert chat.agent.chat.messages[2].images == ()


def test_models_are_listed_and_chosen(opened, server, monkeypatch):
    """Those of servers here and of keys that are set; a part of a name is enough."""
    monkeypatch.setattr(available, "PORTS", (server.port, 9))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    names = ["qwen3:8b", "nomic-embed-text", "a name of words", "odd:1b"]
    server.play(raw(json.dumps({"data": [{"id": name} for name in names]}).encode()))
    chat, name = opened(), f"openai:qwen3:8b@{server.url}/v1"
    listed, now = chat.send("/model")
    odd = f"openai:odd:1b@{server.url}/v1"
    assert [*listed.models] == [name, odd, "anthropic:claude-haiku-4-5"]
    assert "memory alone answers" in now.text
    assert [request.path for request in server.received] == ["/v1/models"]
    chosen_now = of(Notice, chat, "/model qwen3").text
    assert name in chosen_now
    assert "not known" not in chosen_now
    server.play(talked("I see."))
    assert of(AnswerFinished, chat, "Hello there!").answer.text == "I see."
    assert "window is not known" in of(Notice, chat, f"/model {odd}").text
    assert "cannot be read" in str(of(RequestFailed, chat, "/model llama").error)
    for odd in (b"<html>", b'{"data": [1]}', b"[]"):
        server.play(raw(odd))
        listed, _ = chat.send("/model")
        assert [*listed.models] == ["anthropic:claude-haiku-4-5"]


def test_commands_say_what_they_did(opened):
    """A command of the face is handed to it; /new and /end."""
    chat = opened("Fine.")
    of(AnswerFinished, chat, "How are you?")
    assert of(InterfaceCommand, chat, "/stats all of it") == InterfaceCommand(
        "/context", "all of it"
    )
    assert "scripted" in of(Notice, chat, "/model").text
    assert of(ConversationChanged, chat, "/new").text.startswith("Session ended")
    assert chat.agent.chat.id == "chat-2"
    assert of(ChatEnded, chat, "/end").text.startswith("Session ended")


@each_row(
    ("line", "told"),
    [
        ("/xyzzy", "/help lists"),
        ("/cleer", "did you mean /clear?"),
        ("/cost now", "/cost takes nothing"),
        ("/attach", "/attach needs more"),
    ],
)
def test_a_wrong_command_is_one_clear_error(opened, line, told):
    """Nothing of it is said to a model."""
    chat = opened("never")
    failed = of(RequestFailed, chat, line)
    assert isinstance(failed.error, InvalidInput)
    assert told in str(failed.error)
    assert spoken(chat) == []


def test_nothing_is_paid_for_unasked(tmp_path):
    """What was left from earlier waits where the model costs money, and is counted."""

    def pending(costs):
        model = Paid({ChatReply: ["I see."]})
        model.costs_money = costs
        path = tmp_path / f"{costs}.db"
        with noting(path, settings=chosen(consolidation={"automatic": False})) as memory:
            agent_of(memory).process("I live in Porto.")
        with noting(path, settings=chosen(), llm=model) as memory:
            chat = ChatSession(memory, session="other")
            of(AnswerFinished, chat, "Hello?")
            memory._services.consolidation.wait(20)
            return chat.pending_sessions(), len(memory.sessions(pending=True))

    assert pending(costs=True) == (1, 2)
    assert pending(costs=False)[0] == 0

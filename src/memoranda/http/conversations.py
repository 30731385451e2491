"""Conversations: their messages, what a model sees of them, and what leaves the view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field
from starlette.responses import Response

from memoranda.conversation.conversation import Conversation
from memoranda.conversation.explain import ConversationStats, ViewExplanation
from memoranda.conversation.view import ConversationView
from memoranda.http.access import ReadMemory, WriteMemory, answer
from memoranda.http.resources import Erase, RequestModel, example, resource
from memoranda.memory import Memory
from memoranda.model.models import ConversationInfo, ForgetReceipt, Message, NewMessage, Pruning
from memoranda.rendering.structured import Result
from memoranda.text.json_values import parse_as

router = resource("/conversations", "conversations")

Name = Annotated[str, Path(alias="id", description="Its name.", examples=["trip"])]
MessageId = Annotated[str, Path(description="The id of a message.", examples=["msg_01KB6W3V8Q"])]
Last = Annotated[int, Query(ge=1, description="So many, from the end.")]
ONE = "/{id:path}"
Json = dict[str, Any]


class ViewLimits(RequestModel):
    """How large a view is, and how it is chosen; what is not given is as the settings say."""

    max_tokens: int | None = None
    max_messages: int | None = None
    keep_recent: int | None = None
    strategy: str | None = None


class ViewQuery(ViewLimits):
    """The same, and the tokens that a view or context may take."""

    budget: int | None = Field(default=None, ge=1)


class ConversationSetup(ViewLimits, json_schema_extra=example(system="You plan trips.")):
    """How a conversation is opened; what is not given is as stored, or as the settings say."""

    system: str | None = None
    model: str | None = None
    context_limit: int | None = None


class NewMessages(
    RequestModel, json_schema_extra=example(messages=[{"role": "user", "content": "Hello"}])
):
    """Messages in a provider's form; or, where ``own`` says so, in that of the answers here."""

    messages: list[Json]
    own: bool = False

    def parse(self) -> Sequence[Any]:
        """Return the messages, as a conversation takes them."""
        return [parse_as(NewMessage, each) for each in self.messages] if self.own else self.messages


class ReplaceBody(
    NewMessages,
    json_schema_extra=example(ids=["msg_01KB6W3V8Q"], messages=[{"role": "user", "content": "Hi"}]),
):
    """Messages that take the place of others."""

    ids: list[str]


class ContextBody(
    RequestModel, json_schema_extra=example(prompt="Book me something", budget=8_000)
):
    """What a model is to be sent; see ``Conversation.context``."""

    prompt: str | None = None
    budget: int | None = Field(default=None, ge=1)
    form: str = "openai"
    tools: list[Json] | None = None
    beside: str = ""


class BuiltContext(Result):
    """The messages for a model, what they take, and why."""

    messages: list[dict[str, Any]]
    tokens: int
    receipt: dict[str, Any]


Limits = Annotated[ViewLimits, Query()]


class PruneBody(RequestModel, json_schema_extra=example(max_tokens=8_000)):
    """How many tokens the view may have afterwards; otherwise as the settings say."""

    max_tokens: int | None = Field(default=None, ge=1)


class PinBody(RequestModel, json_schema_extra=example(pinned=True)):
    """Whether a message stays in every view."""

    pinned: bool = True


class ExpandBody(RequestModel, json_schema_extra=example(marker="cut_12-26")):
    """The id of a marker, such as ``cut_12-26``."""

    marker: str


def stored(memory: Memory, name: str, limits: ViewLimits | None = None) -> Conversation:
    """Return a conversation that is there; with limits, as it goes on within these."""
    found = memory.stored_conversations.open_existing(name)
    return found if limits is None else resumed(memory, found.id, limits)


def resumed(memory: Memory, name: str, limits: ViewLimits) -> Conversation:
    """Return a conversation to be gone on with, which is started if it is not there."""
    return memory.stored_conversations.resume(name, **limits.given("budget"))


@router.get("", response_model=list[ConversationInfo])
def conversations(memory: ReadMemory) -> Response:
    """List the stored conversations, the newest first."""
    return answer(memory.conversations())


@router.get(f"{ONE}/messages", response_model=list[Message])
def messages(
    name: Name, memory: ReadMemory, n: Last | None = None, role: str | None = None
) -> Response:
    """List the messages since the last clear: all, the last ones, or those of a role."""
    chat = stored(memory, name)
    found = chat.messages if role is None else chat.by_role(role)
    return answer(found if n is None else found[-n:])


@router.post(f"{ONE}/messages", status_code=201, response_model=list[Message])
def extend(name: Name, new: NewMessages, memory: WriteMemory, limits: Limits) -> Response:
    """Add messages to a conversation, which begins with them if it is not there."""
    return answer(resumed(memory, name, limits).extend(new.parse()), 201)


@router.delete(f"{ONE}/messages", response_model=list[Message])
def pop(name: Name, memory: WriteMemory, n: Last = 1) -> Response:
    """Remove the last messages, and give them back."""
    return answer(stored(memory, name).pop(n))


@router.delete(f"{ONE}/messages/{{message}}", response_model=Message)
def remove(name: Name, message: MessageId, memory: WriteMemory) -> Response:
    """Remove a message, and give it back."""
    return answer(stored(memory, name).remove(message))


@router.put(f"{ONE}/messages/{{message}}/pin", status_code=204)
def pin(name: Name, message: MessageId, given: PinBody, memory: WriteMemory) -> None:
    """Let a message stay in every view, or not."""
    stored(memory, name).pin(message, pinned=given.pinned)


@router.post(f"{ONE}/replacements", response_model=list[Message])
def replace(name: Name, given: ReplaceBody, memory: WriteMemory) -> Response:
    """Put messages in the place of others."""
    return answer(stored(memory, name).replace(given.ids, given.parse()))


@router.get(f"{ONE}/window", response_model=list[Message])
def window(
    name: Name, memory: ReadMemory, turns: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """List the messages of the last turns."""
    return answer(stored(memory, name).window(turns))


@router.get(f"{ONE}/dump", response_model=list[Json])
def dump(
    name: Name, memory: ReadMemory, form: str = "openai", last: Last | None = None
) -> Response:
    """Give exactly what was put in, in a provider's form."""
    return answer(stored(memory, name).dump(form, last))


@router.get(f"{ONE}/explanation", response_model=ViewExplanation)
def explain(name: Name, memory: ReadMemory, asked: Annotated[ViewQuery, Query()]) -> Response:
    """Tell of each message whether a model would see it now, and why."""
    return answer(stored(memory, name, asked).explain(budget=asked.budget))


@router.get(f"{ONE}/view", response_model=ConversationView)
def view(name: Name, memory: ReadMemory, asked: Annotated[ViewQuery, Query()]) -> Response:
    """Give the messages and markers that fit a budget, without notes and recall.

    Even the newest message is left out where it does not fit; a context refuses to.
    """
    return answer(stored(memory, name, asked).view(asked.budget))


@router.get(f"{ONE}/prunings", response_model=list[Pruning])
def prunings(name: Name, memory: ReadMemory) -> Response:
    """List the receipts of all prunings, oldest first."""
    return answer(stored(memory, name).prunings)


@router.post(f"{ONE}/context", response_model=BuiltContext)
def context(name: Name, asked: ContextBody, memory: WriteMemory, limits: Limits) -> Response:
    """Build what a model is to be sent: the view, notes and recall, within a budget."""
    return answer(resumed(memory, name, limits).context(**asked.model_dump()))


@router.post(f"{ONE}/prune", response_model=Pruning | None)
def prune(
    name: Name, memory: WriteMemory, limits: Limits, asked: PruneBody | None = None
) -> Response:
    """Take what is least needed out of the view; the answer is the receipt."""
    most = None if asked is None else asked.max_tokens
    return answer(stored(memory, name, limits).prune(most))


@router.post(f"{ONE}/sessions", response_model=Pruning | None)
def start_session(name: Name, memory: WriteMemory) -> Response:
    """Begin a session: what earlier ones said leaves the view, where the settings say so."""
    return answer(stored(memory, name).start_session())


@router.post(f"{ONE}/expand", response_model=list[Message])
def expand(name: Name, which: ExpandBody, memory: ReadMemory) -> Response:
    """Give the messages for which a marker stands."""
    return answer(stored(memory, name).expand(which.marker))


@router.post(f"{ONE}/clear", status_code=204)
def clear(name: Name, memory: WriteMemory) -> None:
    """Take all messages out of every view; they can still be found."""
    stored(memory, name).clear()


@router.post(f"{ONE}/end", status_code=204)
def end(name: Name, memory: WriteMemory) -> None:
    """End a conversation: it becomes facts and notes."""
    stored(memory, name).end()


@router.put(ONE, response_model=ConversationStats)
def open_conversation(name: Name, setup: ConversationSetup, memory: WriteMemory) -> Response:
    """Open a conversation, or start it; the answer is its state in figures."""
    return answer(memory.conversation(name, **setup.given()).stats())


@router.get(ONE, response_model=ConversationStats)
def stats(name: Name, memory: ReadMemory, limits: Limits) -> Response:
    """Give the state of a conversation in figures."""
    return answer(stored(memory, name, limits).stats())


@router.delete(ONE, response_model=ForgetReceipt)
def delete(name: Name, memory: WriteMemory, *, erase: Erase = False) -> Response:
    """Delete a conversation with its episodes, and what was learned only from these."""
    return answer(memory.delete_conversation(name, erase=erase))

"""What every face of a chat says beside the words of an answer, in lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from memoranda.agent import session as chats
from memoranda.agent.agent import STAGE, Answer
from memoranda.model.usage import StageUsage, Usage, add_up
from memoranda.rendering.conversations import describe_pruning, describe_usage
from memoranda.rendering.layout import Display, details, format_error, safe_text
from memoranda.rendering.memory_stats import format_cost, show_usage
from memoranda.rendering.plain import join, one_line, pluralize
from memoranda.rendering.records import show_hits

CHOOSE_MODEL = "/model NAME takes one until you leave, memoranda config set llm.model NAME for good"
NO_MODEL = "none found: start a server such as Ollama on this machine, or set ANTHROPIC_API_KEY"


def show_event(event: chats.ChatEvent, view: Display, hint: str) -> Iterator[RenderableType]:
    """Yield what a face shows of an event, but for the words of an answer.

    Args:
        event: the event.
        view: where it is shown.
        hint: how what left the view can be seen.
    """
    match event:
        case chats.AnswerFinished():
            yield from describe_answer(event, hint)
        case chats.Notice(text):
            yield safe_text(one_line(text))
        case chats.SearchResults(hits):
            yield show_hits(hits, view)
        case chats.CostReport(spending):
            yield show_usage(spending, view, "no model was asked since this session began")
        case chats.ModelList(models):
            yield details(models)
            yield Text(CHOOSE_MODEL if models else NO_MODEL, "dim")
        case chats.RequestFailed(error):
            yield format_error(error)


def describe_answer(event: chats.AnswerFinished, hint: str) -> Iterator[Text]:
    """Yield what an answer was made from and took, and what else became of the message."""
    answer = event.answer
    if answer.receipt is not None:
        yield safe_text(one_line(format_answer(event)), "dim")
        # What became of what the message asked to remember; without a model that is the answer.
        yield from (safe_text(one_line(each.line), "dim") for each in answer.requests)
    yield from describe_changes(answer, hint)


def describe_changes(answer: Answer, hint: str) -> Iterator[Text]:
    """Yield what a person should know beside an answer: what left the view, what is not done."""
    if answer.usage_warning is not None:
        yield describe_usage(answer.usage_warning)
    if done := [each for each in answer.prunings if each.cuts]:
        yield Text(f"{describe_pruning(*done)}; {hint}", "dim")


def format_answer(event: chats.AnswerFinished) -> str:
    """Return what an answer was made from, what it took, and what the session has cost."""
    answer, usage = event.answer, event.answer.usage
    return join(
        pluralize(len(answer.sources), "memory", "memories") if answer.sources else "",
        *dict.fromkeys(answer.tools),
        format_tokens(usage) if usage.input_tokens or usage.output_tokens else "",
        format_cost(usage.cost) if usage.cost else "",
        *format_spending(event.spending),
    )


def format_tokens(usage: Usage) -> str:
    """Return how many tokens were sent and received, and how many of them were cached."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"


def format_spending(spending: Sequence[StageUsage]) -> Iterator[str]:
    """Yield what the session has cost, and its work in the background, where that is known."""
    whole = add_up(spending)
    background = add_up(each for each in spending if each.stage != STAGE)
    if whole.cost:
        yield f"session {format_cost(whole.cost)}"
    if background.cost:
        yield f"{format_cost(background.cost)} of it in the background"
    elif background.requests:
        yield f"background {format_tokens(background)}"


def describe_start(chat: chats.ChatSession, hint: str) -> Iterator[Text]:
    """Yield which session goes on, what left its view, and what is to be known of the model.

    Args:
        chat: the chat.
        hint: how what left the view can be seen.
    """
    agent = chat.agent
    figures, held = agent.chat.stats(), len(agent.chat)
    state = f"goes on with {pluralize(held, 'message')}" if held else "is new"
    yield safe_text(f"session {one_line(agent.chat.id)} {state}")
    if figures.pruned_messages:
        yield Text(f"{pluralize(figures.pruned_messages, 'message')} out of view; {hint}", "yellow")
    if agent.model is None:
        yield Text("no language model: memory alone answers; /model lists what can be used", "dim")
    elif not figures.limit_known:
        assumed = f"its context window is not known, {figures.token_limit:,} tokens are assumed"
        yield Text(f"{assumed}: set tokens.limits", "yellow")
    if waiting := chat.pending_sessions():
        many = pluralize(waiting, "earlier session")
        why = "not read yet, as the model that reads costs money: memoranda maintain"
        yield Text(f"{many} {why}", "yellow")

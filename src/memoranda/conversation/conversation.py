"""Conversation: the messages of one conversation and the contexts made of them.

It works alone, in memory, and as a part of a Memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any, Self, Unpack

from memoranda.conversation.context import ContextBuilder
from memoranda.conversation.explain import (
    ConversationStats,
    ViewExplanation,
    conversation_stats,
    describe_policy,
    explain_view,
)
from memoranda.conversation.formats.parse import (
    check_message,
    count_message,
    new_message,
    own_fields,
    parse_messages,
    parse_role,
)
from memoranda.conversation.formats.render import dump_messages, is_exact
from memoranda.conversation.live import ConversationState, StateReader
from memoranda.conversation.markers import marked_positions
from memoranda.conversation.pruning import (
    CLOCK,
    MANUAL,
    ConversationServices,
    Limits,
    Pruner,
    check_limits,
    reserve_recall,
)
from memoranda.conversation.scoring import score
from memoranda.conversation.segments import LOOK_BACK, start_of_task
from memoranda.conversation.selection import Policy, SelectionInput
from memoranda.conversation.strategies import STRATEGIES
from memoranda.conversation.transcript import Transcript, place_of
from memoranda.conversation.units import group_units
from memoranda.conversation.view import ConversationView, view_of
from memoranda.errors import BudgetTooSmall, InvalidInput, NotFound
from memoranda.facts.requests import asks_memory
from memoranda.model.chat import ToolSpec
from memoranda.model.checks import clean, known, limited, list_arguments, named, several
from memoranda.model.events import Callback, Events
from memoranda.model.models import NO_RECALL, Context, Marker, Message, NewMessage, Pruning
from memoranda.model.ports import ConversationOptions, MessageOptions
from memoranda.model.query import Filter
from memoranda.settings.settings import Settings
from memoranda.tokens.calibration import Calibrator, read_usage
from memoranda.tokens.catalog import Catalog

EVENTS = ("added", "request", "approaching_limit", "pruned", "task_boundary", "removed")


class Conversation:
    """A transcript, and contexts of it that fit a budget. Thread-safe.

    Args:
        system: the system prompt; it is in every context.
        model: the model it is held with; decides how tokens are counted.
        context_limit: the model's context window, in tokens; known for many models.
        max_tokens: budget of a context; 80 % of the window, if not given (requirement R8.2).
        max_messages: most messages in a view; 50, if the settings say nothing else (R8.1).
        keep_recent: how many of the newest always stay, while the budget allows; 10, if the
            settings say nothing else (requirements R3.3, R8.4).
        strategy: ``rolling_window`` (the default of the settings), ``recency``,
            ``importance``, ``hybrid`` (requirement R8.3), or an object that is a ``Strategy``.
        settings: everything else; read from file and environment, if not given.

    Raises:
        InvalidInput: an argument cannot be used.
    """

    @list_arguments(ConversationOptions)
    def __init__(
        self, *, settings: Settings | None = None, **options: Unpack[ConversationOptions]
    ) -> None:
        """Start a conversation that lives as long as this object."""
        chosen = Settings.of(settings)
        services = ConversationServices(catalog=Catalog(**dict(chosen.tokens)))
        limits = check_limits(chosen.conversation, **options)
        self._begin(Transcript.alone("conversation", CLOCK.now(), options), limits, services)

    @classmethod
    def over(cls, transcript: Transcript, limits: Limits, services: ConversationServices) -> Self:
        """Return the conversation whose messages ``transcript`` keeps.

        Args:
            transcript: the messages.
            limits: how large its contexts are, and when it is pruned.
            services: what it works with.
        """
        conversation = object.__new__(cls)
        conversation._begin(transcript, limits, services)
        return conversation

    def _begin(
        self, transcript: Transcript, limits: Limits, services: ConversationServices
    ) -> None:
        self._transcript, self._limits, self._services = transcript, limits, services
        self._events = Events(*EVENTS)
        self._lock = RLock()
        self._states = StateReader(transcript, services.catalog, limits.settings.context_limit)
        self._counted = 0  # tokens of the last context, as they are counted here
        self._calibrator = Calibrator()
        self._recalled, self._beside = NO_RECALL, ""  # of the last context
        self._pruner = Pruner(transcript, self._states, limits, services)

    # Reading

    def __repr__(self) -> str:
        """Return its name."""
        return f"Conversation(id={self.id!r})"

    @property
    def id(self) -> str:
        """The name under which it is stored."""
        return self._transcript.id

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self._transcript.info().system

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages since the last :meth:`clear`, in order, but those that have expired."""
        with self._lock:
            live = self._states.read().live
            return tuple(self._transcript.messages() if live.gaps else live.messages)

    @property
    def prunings(self) -> tuple[Pruning, ...]:
        """The receipts of all prunings, oldest first: what went, when and why."""
        return tuple(self._transcript.prunings())

    def __len__(self) -> int:
        """Return how many messages there are since the last :meth:`clear`."""
        return len(self.messages)

    def __bool__(self) -> bool:
        """A conversation is true also while it is empty."""
        return True

    def recent(self, n: int) -> tuple[Message, ...]:
        """Return the last ``n`` messages in order."""
        return tuple(self._transcript.messages(last=limited(n, "n")))

    def by_role(self, role: str) -> tuple[Message, ...]:
        """Return the messages of one role in order."""
        wanted = parse_role(role)
        return tuple(message for message in self.messages if message.role == wanted)

    def window(self, turns: int | None = None) -> tuple[Message, ...]:
        """Return the last ``turns`` turns: from a user's message to the next.

        Args:
            turns: how many; the setting ``conversation.window``, if not given.
        """
        most = limited(self._limits.settings.window if turns is None else turns, "turns")
        found = self.messages
        starts = [index for index, message in enumerate(found) if message.role == "user"]
        return found[starts[-most] :] if len(starts) >= most else found

    def expand(self, marker: Marker | str) -> tuple[Message, ...]:
        """Return the messages that a marker stands for, exactly as they were added.

        Without those that were removed or erased, or have expired since.

        Args:
            marker: a marker of a view, its id such as ``cut_12-26``, the positions alone, or a
                text with the id.

        Raises:
            InvalidInput: it names no part of a conversation.
            NotFound: no message of this conversation is there.
        """
        first, last = marked_positions(marker)
        after = self._transcript.messages(after=first - 1, cleared=True)
        found = tuple(message for message in after if place_of(message) <= last)
        if not found:
            message = f"there are no messages from {first} to {last} in this conversation"
            raise NotFound(f"{message} of {len(self)}; show it to see their places")
        return found

    def dump(self, form: str, last: int | None = None) -> list[dict[str, Any]]:
        """Return the messages since the last :meth:`clear` as a provider has them.

        Nothing is recalled, pruned or repaired.

        What came in that form comes out as it was given, item by item. What came otherwise is
        converted as for a context, and what another provider encrypted is left out.

        Args:
            form: ``openai`` (chat completions), ``responses`` (OpenAI) or ``anthropic``.
            last: only so many items from the end.

        Raises:
            InvalidInput: an argument cannot be used.
        """
        if last is not None:
            recent = self._transcript.messages(last=limited(last, "last"))
            if all(is_exact(each, form) and not each.part for each in recent):
                return dump_messages(recent, form)
        items = dump_messages(self.messages, form)
        return items if last is None else items[-last:]

    def stats(self) -> ConversationStats:
        """Return counts and tokens of a context without a prompt, as it would be sent now.

        With the tools, the recalled memory and what stood ``beside`` in the last :meth:`context`:
        memory is not asked.
        """
        with self._lock:
            builder = self._builder(self._states.read(), beside=self._beside)
            return conversation_stats(builder, self._limits, self._recalled)

    def explain(self, *, budget: int | None = None) -> ViewExplanation:
        """Return why each message is in the view or not. Looking changes nothing.

        Args:
            budget: of the context, in tokens; as for :meth:`context`, if not given.

        Raises:
            InvalidInput: the budget is no number of at least 1.
        """
        with self._lock:
            state = self._states.read()
            builder = self._builder(state, budget=budget, beside=self._beside)
            figures = conversation_stats(builder, self._limits, self._recalled)
            messages = self._transcript.messages(cleared=True)
        policy, shown = self._limits.policy, builder.view
        return ViewExplanation(
            info=state.info,
            budget=builder.budget,
            counter=state.meter.counter.name,
            figures=figures,
            strategy=policy.strategy.name,
            told=describe_policy(policy, builder.budget),
            lines=tuple(explain_view(shown, messages, state.info.start)),
            markers=shown.markers,
        )

    # Adding

    @list_arguments(MessageOptions, {"tool_calls": (), "images": ()})
    def add(self, role: str, content: str, **given: Unpack[MessageOptions]) -> Message:
        """Add one message at the end and return it. Waits for no model.

        Where this fills the context window beyond a threshold, older messages leave the
        view (:meth:`prune`); a subscriber of ``pruned`` is told.

        Args:
            role: ``system``, ``user``, ``assistant`` or ``tool``.
            content: the text; may be empty where there are tool calls or images.
            tool_calls: calls the assistant makes: ``ToolCall`` or OpenAI's dicts.
            tool_result: which call a tool message answers: ``ToolResult`` or the call's id.
            images: pictures, or their addresses (``https://…``, ``data:image/…``).
            timestamp: when it was said, with its time zone; now, if not given.
            task: the title of the task that starts with this message.
            name: who of several speakers says it.

        Raises:
            InvalidInput: an argument cannot be used; nothing was added.
        """
        return self._append([new_message(role, content, **given)])[0]

    def extend(self, messages: Iterable[NewMessage | Mapping[str, Any]]) -> tuple[Message, ...]:
        """Add many messages in one transaction: all of them, or none.

        Args:
            messages: messages of another conversation, or dicts in the form of OpenAI's
                chat completions, OpenAI's responses or Anthropic's messages. Whatever these
                hold is kept: :meth:`dump` gives it back.

        Raises:
            InvalidInput: a message has none of these forms; nothing was added.
        """
        return tuple(self._append(parse_messages(messages)))

    def _append(self, given: Sequence[NewMessage]) -> Sequence[Message]:
        if not given:
            return ()
        with self._lock:
            state = self._states.read()
            used = state.used
            added, episodes = self._transcript.append(self._prepare(given, state))
            begun = [each for each in added if each.task is not None and each.role != "tool"]
            if not self._states.extend(added):
                state = self._states.read()
            events = self._pruner.after_adding(state, begun, used)
        self._transcript.announce(episodes)
        asking = [each for each in added if each.role == "user" and asks_memory(each.content)]
        asked = self._services.requests(asking) if asking else ()
        told = [*(("added", message) for message in added), *(("request", each) for each in asked)]
        for name, subject in [*told, *events]:
            self._events.emit(name, subject)
        return added

    def _prepare(self, given: Sequence[NewMessage], state: ConversationState) -> list[Message]:
        """Return new messages as they are stored; one with which a task begins has its title."""
        before, made = state.live.messages[-LOOK_BACK:], list[Message]()
        for new in given:
            message = self._message(new, state)
            title = start_of_task(message, [*before, *made][-LOOK_BACK:], state.live.signals)
            made.append(message if title is None else replace(message, task=title))
        return made

    def _message(self, new: NewMessage, state: ConversationState) -> Message:
        check_message(new)
        said = own_fields(new)
        said["timestamp"] = known(new.timestamp, "timestamp") or self._services.clock.now()
        tokens = count_message(state.meter, new)
        message = Message(id=self._services.ids.new("msg"), tokens=tokens, **said)
        return replace(message, importance=score(message, state.live.signals(message)))

    # Removing

    def pop(self, n: int = 1) -> tuple[Message, ...]:
        """Remove the newest ``n`` messages and return them in order; fewer, if there are no more.

        What is removed is in no later view, context or export form, and its episode is no
        longer found or learned from. A tombstone keeps it until it is erased
        (``Memory.forget(…, erase=True)``); no later message gets its position.

        Raises:
            InvalidInput: ``n`` is no number of at least 1.
        """
        return self._remove(newest=limited(n, "n"))

    def remove(self, id: str) -> Message:
        """Remove one message, as :meth:`pop` does, and return it.

        Raises:
            NotFound: it is not in this conversation.
        """
        return self._remove(ids=[clean(id, "id")])[0]

    def replace(
        self, ids: Iterable[str], messages: Iterable[Message | Mapping[str, Any]]
    ) -> tuple[Message, ...]:
        """Remove messages, as :meth:`pop` does, and put others where the first of them stood.

        All of it is done, or nothing. The new messages get the positions of those that they
        replace. Only where they are more and others follow, these get new positions, too.

        Args:
            ids: the messages that go; at least one.
            messages: what takes their place, in any form that :meth:`extend` takes; may be none.

        Returns:
            The new messages.

        Raises:
            NotFound: a message is not in this conversation.
            InvalidInput: a message cannot be used, or one was left behind by :meth:`clear`.
        """
        gone = [clean(each, "id") for each in several(ids, "ids")]
        if not gone:
            raise InvalidInput("ids is empty; name the messages that are to be replaced")
        given = parse_messages(messages)
        with self._lock:
            state = self._states.read()
            new = [self._message(each, state) for each in given]
            self._remove(ids=gone, messages=new)
            there = {each.id: each for each in self._transcript.messages(cleared=True)}
        found = tuple(there.get(message.id, message) for message in new)
        for message in found:
            self._events.emit("added", message)
        return found

    def _remove(self, **which: Any) -> tuple[Message, ...]:
        """Remove what :meth:`Transcript.replace` is told to remove, and return it."""
        name, at = self._services.ids.new("tmb"), self._services.clock.now()
        with self._lock:
            left, episodes = self._transcript.replace(name, at, **which)
        if left is None:
            return ()
        self._transcript.announce(episodes, left)
        self._events.emit("removed", left)
        return left.messages

    # Contexts

    def view(self, budget: int | None = None) -> ConversationView:
        """Return the messages that fit ``budget`` tokens beside the system prompt.

        A pure function of the transcript with its receipts, the budget, and of what has expired.
        Even the newest message is left out where it does not fit: :meth:`context` refuses to.

        Raises:
            BudgetTooSmall: system prompt and pinned messages alone do not fit.
        """
        with self._lock:
            return self._fitting_view(self._states.read(), budget)

    def context(
        self,
        prompt: str | None = None,
        *,
        budget: int | None = None,
        form: str = "openai",
        tools: Iterable[ToolSpec | Mapping[str, Any]] | None = None,
        beside: str = "",
    ) -> Context:
        """Return what to send to the model: system prompt, conversation, memory, prompt.

        Args:
            prompt: what the user says now. It is not added to the transcript, and not sent
                twice if it is there as the last message.
            budget: most tokens it may take; ``max_tokens``, if not given.
            form: of the messages: ``openai`` (chat completions), ``responses`` (OpenAI) or
                ``anthropic``; in the last two the system text is ``Context.system``.
            tools: as for :meth:`count_tools`, which holds, if not given.
            beside: what changes from turn to turn, such as the date: it stands with what memory
                recalls, before the newest message.

        Raises:
            BudgetTooSmall: system prompt, tools, pinned messages and prompt alone do not fit.
            InvalidInput: an argument cannot be used.
        """
        asked = named(prompt, "prompt")
        if tools is not None:
            self.count_tools(tools)
        with self._lock:
            state = self._states.read()
            builder = self._builder(state, prompt=asked, budget=budget, form=form, beside=beside)
            wanted = builder.recall_request()
        memory, recall = NO_RECALL, self._services.recall
        # Memory may ask a model: meanwhile others can add and read.
        if recall and wanted:
            memory = recall(wanted, Filter(now=self._services.clock.now()))
        built = builder.build(memory)
        if built.tokens > built.receipt.budget:  # R9.5: memory gives way.
            built = builder.build(NO_RECALL)
        with self._lock:
            self._recalled, self._beside = built.recall, beside
            self._counted = state.counted(built.tokens)
            self._states.carried = builder.carried
        return built

    def count_tools(self, tools: Iterable[ToolSpec | Mapping[str, Any]]) -> None:
        """Count the definitions of tools that are sent with every context from now on.

        They take tokens that the messages cannot have, so views, figures, warnings and prunings
        are by what they leave.
        """
        with self._lock:
            tokens = self._states.read().meter.tools(tools)
            self._states.tools = self._states.carried = tokens

    def _builder(
        self, state: ConversationState, budget: int | None = None, **asked: Any
    ) -> ContextBuilder:
        most = self._budget(budget, state)
        return ContextBuilder(
            state=state,
            policy=replace(self._limits.policy, prune_to=self._limits.settings.prune_to),
            budget=most,
            reserved=reserve_recall(most) if self._services.recall else 0,
            memory=self._services.notes(),
            tools=self._states.tools,
            **asked,
        )

    def calibrate(self, actual: object) -> None:
        """Learn from how many tokens the provider counted in the last :meth:`context`.

        Later counts of this conversation are corrected by it, both ways: an estimate in
        proportion, an exact count by what is sent beside the messages, such as definitions of
        tools. One report far from those before it waits until the next says the same.

        Args:
            actual: the number, or the ``usage`` of the reply.

        Raises:
            InvalidInput: there is no such number in it, or no context was built yet.
        """
        tokens = read_usage(actual)
        with self._lock:
            state = self._states.read()
            if not self._counted:
                raise InvalidInput(
                    f"actual={tokens}: no context was built yet that it could be compared to"
                )
            learned = self._calibrator.learn(
                state.info.calibration,
                counted=self._counted,
                actual=tokens,
                exact=state.meter.counter.exact,
                tools=self._states.tools,
            )
            self._transcript.update(calibration=learned)

    # Changing what is in view

    def prune(self, max_tokens: int | None = None) -> Pruning | None:
        """Take messages out of every later view, by the strategy; return the receipt.

        They stay in the transcript: a marker stands for them, and :meth:`expand` gives them
        back.

        Args:
            max_tokens: what is left fits so many tokens, with the system prompt; as after an
                automatic pruning, if not given.

        Returns:
            The receipt; ``None`` if everything fits.

        Raises:
            BudgetTooSmall: system prompt and pinned messages alone do not fit.
            InvalidInput: ``max_tokens`` is no number of at least 1.
        """
        with self._lock:
            state = self._states.read()
            most = int(self._budget(None, state) * self._limits.settings.prune_to)
            if max_tokens is not None:
                state, most = replace(state, carried=0), limited(max_tokens, "max_tokens")
                self._fitting_view(state, most)  # Or nothing is done.
            room = state.room(most) + state.meter.format.reply
            why = f"asked for, down to {most:,} tokens"
            receipt = self._pruner.prune(state, MANUAL, room, self._limits.policy, why)
        return self._announce(receipt)

    def start_session(self) -> Pruning | None:
        """Start a new session: all but system messages and pins leave the view (requirement R6.5).

        Returns:
            The receipt; ``None`` if there was nothing to leave the view.
        """
        bare = Policy(strategy=STRATEGIES["recency"], keep_recent=0, always=True)
        with self._lock:
            state, why = self._states.read(), "a new session starts"
            receipt = self._pruner.prune(state, "session_start", 0, bare, why)
        return self._announce(receipt)

    def _announce(self, receipt: Pruning | None) -> Pruning | None:
        if receipt is not None:
            self._events.emit("pruned", receipt)
        return receipt

    def pin(self, id: str, *, pinned: bool = True) -> None:
        """Keep a message in every context, or stop keeping it.

        A call of tools is pinned with its results, and they with it. What a pruning took out
        comes back.

        Raises:
            NotFound: it is not in this conversation.
        """
        wanted = clean(id, "id")
        units = group_units(self._transcript.messages()).units
        parts = ([message.id for message in unit.messages] for unit in units)
        self._transcript.pin(next((ids for ids in parts if wanted in ids), [wanted]), pinned=pinned)

    def clear(self) -> None:
        """Start afresh: the messages so far stay out of every later context.

        The system prompt stays. Nothing is lost: the transcript keeps the messages, and
        with a memory their episodes can still be found.
        """
        self._transcript.update(clear=True)

    def end(self) -> None:
        """Mark the conversation as finished. It can still be read, and gone on with."""
        self._transcript.end(self._services.clock.now())

    def on(self, event: str, callback: Callback) -> None:
        """Call ``callback`` after each ``event``.

        Events and their subjects: ``added`` (the message), ``request`` (the receipt of what a
        message asked to remember, or of an instruction), ``approaching_limit`` (tokens,
        limit, percent), ``pruned`` (the receipt), ``task_boundary`` (its first message) and
        ``removed`` (the tombstone).
        What a callback raises is logged and goes no further.

        Raises:
            InvalidInput: there is no such event.
        """
        self._events.on(event, callback)

    # Parts of the verbs

    def _budget(self, budget: int | None, state: ConversationState) -> int:
        return self._limits.budget(state) if budget is None else limited(budget, "budget")

    def _fitting_view(self, state: ConversationState, budget: int | None) -> ConversationView:
        most = self._budget(budget, state)
        system = state.head - state.carried - state.meter.format.reply
        room = state.counted(most) - system
        shown = view_of(SelectionInput(state.live, self._limits.policy), room, state.meter)
        needed = state.billed(system + shown.tokens)
        if needed > most:
            raise BudgetTooSmall(needed=needed, budget=most)
        return shown

    def recount(self) -> None:
        """Count all messages anew, for another model than they were counted for."""
        meter, known = self._states.read().meter, self._transcript.messages(cleared=True)
        self._transcript.recount({each.id: count_message(meter, each) for each in known})

"""Calls a language model from synchronous stages, and records its usage by stage."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from memoranda.errors import LLMError, SpendLimitReached, StoreClosed
from memoranda.model.models import Scope
from memoranda.model.ports import LanguageModel
from memoranda.model.processes import follow_forks
from memoranda.model.usage import NO_USAGE, Reply, StageUsage, Usage
from memoranda.store.sql.store import Store
from memoranda.text.secrets import mask_secrets

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
SPENT = (
    "this session has cost ${spent:.4f}, and it may cost ${most:g}; raise that with memoranda "
    "config set agent.spend_limit {more:g}, or go on in a new session"
)
CLOSED = "the memory was closed before the model had answered; it is asked again next time"


async def ask_checked(
    model: LanguageModel, instructions: str, prompt: str, answer: type[T]
) -> Reply[T]:
    """Return a model's answer; whatever else an injected model raises or gives is an ``LLMError``.

    Raises:
        LLMError: the model failed, or gave something else than an ``answer``.
    """
    try:
        reply = await model.ask(instructions, prompt, answer)
    except (LLMError, StoreClosed):
        raise
    except (Exception, SystemExit) as error:  # The latter would end the event loop.
        raise LLMError(f"the model failed with {error!r:.200}") from error
    if not isinstance(getattr(reply, "value", None), answer):
        raise LLMError(f"the model gave {reply!r:.80} in place of a reply with {answer.__name__}")
    return reply


class StageModels:
    """The language model of a memory, if it has one; what each stage uses is written down.

    It runs questions from synchronous code: one event loop for all, in a thread of its own, as
    clients keep connections that belong to a loop. Thread-safe.
    """

    def __init__(self, model: LanguageModel | None, store: Store, *, masks: bool = True) -> None:
        """Start no thread yet.

        Args:
            model: the model.
            store: where its use is written down.
            masks: whether stages show it ``[…]`` in the place of secrets.
        """
        self.model = model
        self._store, self._masks = store, masks
        self._meters: dict[Scope, SpendingMeter] = {}
        self._closed = False
        self.after_fork()
        follow_forks(self)

    def after_fork(self) -> None:
        """Have no thread yet, as in a process that was forked."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()

    def wait(self, answer: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine ``answer`` to its end and return its result.

        Raises:
            LLMError: the model failed.
            StoreClosed: this was closed.
        """
        future = self._send(answer)
        try:
            return future.result()
        except CancelledError as error:
            raise StoreClosed(CLOSED) from error
        finally:  # After Ctrl+C nobody wants the answer any more.
            future.cancel()

    def _send(self, answer: Coroutine[Any, Any, T]) -> Future[T]:
        """Have the loop run ``answer``; under the lock, so that closing cancels it."""
        import asyncio  # noqa: PLC0415 - only with a model

        with self._lock:
            if self._closed:
                answer.close()
                raise StoreClosed(CLOSED)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(None, _run_loop, "memoranda-llm", [self._loop], daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(answer, self._loop)

    def start_meter(self, scope: Scope, most: float | None) -> SpendingMeter:
        """Return what measures from now on what the models of a scope take, ``most`` at most."""
        meter = SpendingMeter(self._store, scope, self._store.usage(scope), most)
        self._meters[scope] = meter
        return meter

    def for_stage(self, scope: Scope, stage: str) -> StageModel | None:
        """Return the model, whose use then counts for ``stage``; ``None`` without one."""
        model, meter = self.model, self._meters.get(scope)
        if model is None:
            return None
        return StageModel(model.name, model, self._store, scope, stage, meter, self._masks)

    def close(self) -> None:
        """Stop the loop; what was asked and not answered fails, as on a closed store."""
        with self._lock:
            loop, self._loop, self._closed = self._loop, None, True
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Run an event loop until it is stopped, and cancel what it has not finished then."""
    import asyncio  # noqa: PLC0415 - only with a model

    loop.run_forever()
    unfinished = asyncio.all_tasks(loop)
    for task in unfinished:
        task.cancel()
    if unfinished:
        loop.run_until_complete(asyncio.wait(unfinished))
    loop.close()


@dataclass(frozen=True, slots=True)
class SpendingMeter:
    """What the models of a scope took since this was made, in the chat and in the background.

    Attributes:
        store: where the use of models is written down.
        scope: whose models.
        before: what they had taken before, by stage and model.
        most: what they may cost, in US dollars; ``None`` for no limit.
    """

    store: Store
    scope: Scope
    before: Sequence[StageUsage]
    most: float | None = None

    def read(self) -> list[StageUsage]:
        """Return what was taken, by stage and model."""
        before = {(each.stage, each.model): each.usage for each in self.before}
        taken = (
            replace(each, usage=each.usage - before.get((each.stage, each.model), NO_USAGE))
            for each in self.store.usage(self.scope)
        )
        return [each for each in taken if each.usage.requests]

    def require(self) -> None:
        """Refuse a call where what was taken has cost as much as it may cost.

        Raises:
            SpendLimitReached: it has.
        """
        if self.most is None:
            return
        spent = sum(each.usage.cost or 0.0 for each in self.read())
        if spent >= self.most:
            message = SPENT.format(spent=spent, most=self.most, more=2 * self.most)
            raise SpendLimitReached(message, NO_USAGE)


@dataclass(frozen=True, slots=True)
class StageModel:
    """Implements :class:`memoranda.model.ports.LanguageModel`: what it uses goes to one stage.

    Attributes:
        masks: whether the model is shown ``[…]`` in the place of secrets.
    """

    name: str
    model: LanguageModel
    store: Store
    scope: Scope
    stage: str
    meter: SpendingMeter | None = None
    masks: bool = True

    async def ask(self, instructions: str, prompt: str, answer: type[T]) -> Reply[T]:
        """Ask the model, and record the usage, also of a failed call.

        Raises:
            LLMError: the model failed, or what it may cost is spent.
        """
        import asyncio  # noqa: PLC0415 - only with a model

        if self.masks:  # By lines: a prompt has a turn or a fact on each.
            prompt = "\n".join(map(mask_secrets, prompt.split("\n")))
        if self.meter is not None:
            await asyncio.to_thread(self.meter.require)
        try:
            reply = await ask_checked(self.model, instructions, prompt, answer)
        except LLMError as error:
            await asyncio.to_thread(self._add_usage, error.usage or Usage(requests=1, failures=1))
            raise
        await asyncio.to_thread(self._add_usage, reply.usage)
        return reply

    def _add_usage(self, usage: Usage) -> None:
        with self.store.write(self.scope) as tx:
            tx.add_usage(self.stage, self.name, usage)

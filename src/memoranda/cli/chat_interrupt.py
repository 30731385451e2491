"""How ``memoranda chat`` waits for an answer: words come as they are said, and can be stopped.

The agent works in a thread of its own. The main thread only waits, so that a signal never meets
a lock that it holds.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock, Thread, current_thread, main_thread
from types import FrameType
from typing import Any

from memoranda.agent import Answer
from memoranda.errors import LLMError
from memoranda.model.chat import ChatModel, ChatReply, OnText, ToolSpec
from memoranda.model.usage import Usage

if sys.platform != "win32":
    import termios

TERMINATED = 128 + signal.SIGTERM
INTERRUPT = object()
PARAGRAPH = "\n\n"
LOCAL_FLAGS = 3  # their place in what termios.tcgetattr returns
Handler = Callable[[int, FrameType | None], None]


class AnswerStopped(LLMError):
    """The person did not want to hear the rest."""


class InterruptibleModel:
    """Implements :class:`~memoranda.model.chat.ChatModel`: another one, whose reply can be stopped.

    Args:
        model: the one that replies.
    """

    def __init__(self, model: ChatModel) -> None:
        """Ask nothing yet."""
        self._model = model
        self._lock = Lock()
        self._stopped = False
        self._begun = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[ChatReply]] | None = None

    @property
    def name(self) -> str:
        """The model."""
        return self._model.name

    def begin(self) -> None:
        """Let it reply again after it was stopped."""
        with self._lock:
            self._stopped = self._begun = False

    def stop(self) -> None:
        """End the reply that is under way, and every one until :meth:`begin`."""
        with self._lock:
            self._stopped = True
            if self._running is not None:
                loop, task = self._running
                loop.call_soon_threadsafe(task.cancel)

    async def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[ToolSpec] = (),
        on_text: OnText | None = None,
    ) -> ChatReply:
        """Return what the model replies.

        Raises:
            LLMError: it failed, or was stopped.
        """
        pieces = None if on_text is None else self._separate(on_text)
        task = asyncio.ensure_future(self._model.chat(messages, tools=tools, on_text=pieces))
        with self._lock:
            self._running = asyncio.get_running_loop(), task
            if self._stopped:
                task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise AnswerStopped("the answer was stopped", Usage(requests=1)) from None
        finally:
            with self._lock:
                self._running = None

    def _separate(self, on_text: OnText) -> OnText:
        """Return ``on_text``, which begins a paragraph where something was said before a call."""
        between = [PARAGRAPH] if self._begun else []

        def tell(piece: str) -> None:
            self._begun = True
            while between:
                on_text(between.pop())
            on_text(piece)

        return tell


def run_interruptible(
    work: Callable[[OnText], Answer], hear: OnText, stop: Callable[[], None]
) -> Answer:
    """Have ``work`` done while this thread waits, and return the answer.

    Args:
        work: makes the answer, and tells its words as they come.
        hear: called here with each piece.
        stop: called at the first Ctrl+C; it need not wait.

    Raises:
        KeyboardInterrupt: Ctrl+C came twice.

    What ``work`` raises is raised here.
    """
    # Of all queues only this one may be used by a signal's handler.
    events: SimpleQueue[Any] = SimpleQueue()

    def act() -> None:
        try:
            events.put(work(events.put))
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            events.put(error)

    stopping = False
    with _handle(signal.SIGINT, lambda _number, _frame: events.put(INTERRUPT)):
        Thread(target=act, name="memoranda-chat", daemon=True).start()
        while not isinstance(event := events.get(), Answer):
            if isinstance(event, BaseException):
                raise event
            if event is not INTERRUPT:
                if not stopping:
                    hear(event)
            elif stopping:
                raise KeyboardInterrupt
            else:
                stopping = True
                stop()
    return event


@contextmanager
def hide_typing() -> Iterator[None]:
    """Keep what is typed meanwhile for the next prompt, and out of what is being written."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    quiet = [*before]
    quiet[LOCAL_FLAGS] &= ~termios.ECHO
    termios.tcsetattr(file, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block in order, so that the terminal is as it was before."""

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise SystemExit(TERMINATED)

    with _handle(signal.SIGTERM, end):
        yield


@contextmanager
def _handle(number: signal.Signals, handler: Handler) -> Iterator[None]:
    """Handle a signal; in another thread than the main one, where none comes, do nothing."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)

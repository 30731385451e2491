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
from memoranda.model.chat import ChatModel, ChatReply, Told, ToolSpec
from memoranda.model.life import Usage

if sys.platform != "win32":
    import termios

TERMINATED = 128 + signal.SIGTERM
INTERRUPT = object()
BETWEEN = "\n\n"
LOCAL_FLAGS = 3  # their place in what termios.tcgetattr returns
Work = Callable[[Told], Answer]
Handler = Callable[[int, FrameType | None], None]


class Stopped(LLMError):
    """The person did not want to hear the rest."""


class Interruptible:
    """Implements :class:`~memoranda.model.chat.ChatModel`: another one, whose reply can be stopped.

    Args:
        model: the one that talks.
    """

    def __init__(self, model: ChatModel) -> None:
        """Ask nothing yet."""
        self._model = model
        self._lock = Lock()
        self._stopped = False
        self._spoken = False
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[ChatReply]] | None = None

    @property
    def name(self) -> str:
        """The model."""
        return self._model.name

    def begin(self) -> None:
        """Let it talk again after it was stopped."""
        with self._lock:
            self._stopped = self._spoken = False

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
        told: Told | None = None,
    ) -> ChatReply:
        """Return what the model replies.

        Raises:
            LLMError: it failed, or was stopped.
        """
        heard = None if told is None else self._apart(told)
        task = asyncio.ensure_future(self._model.chat(messages, tools=tools, told=heard))
        with self._lock:
            self._running = asyncio.get_running_loop(), task
            if self._stopped:
                task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise Stopped("the answer was stopped", Usage(requests=1)) from None
        finally:
            with self._lock:
                self._running = None

    def _apart(self, told: Told) -> Told:
        """Return ``told``, which begins a paragraph where something was said before a call."""
        between = [BETWEEN] if self._spoken else []

        def tell(piece: str) -> None:
            self._spoken = True
            while between:
                told(between.pop())
            told(piece)

        return tell


def answered(work: Work, heard: Told, stop: Callable[[], None]) -> Answer:
    """Have ``work`` done while this thread waits, and return the answer.

    Args:
        work: makes the answer, and tells its words as they come.
        heard: called here with each piece.
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
    with _interrupts(lambda: events.put(INTERRUPT)):
        Thread(target=act, name="memoranda-chat", daemon=True).start()
        while True:
            event = events.get()
            if isinstance(event, Answer):
                return event
            if isinstance(event, BaseException):
                raise event
            if event is not INTERRUPT:
                if not stopping:
                    heard(event)
                continue
            if stopping:
                raise KeyboardInterrupt
            stopping = True
            stop()


@contextmanager
def _interrupts(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` for Ctrl+C, instead of raising wherever the program is."""
    if current_thread() is not main_thread():
        yield
        return
    with _handling(signal.SIGINT, lambda _number, _frame: tell()):
        yield


@contextmanager
def unechoed() -> Iterator[None]:
    """Keep what is typed meanwhile for the next prompt, and out of what is being written."""
    if sys.platform == "win32":
        yield
        return
    if not sys.stdin.isatty():
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
def terminating() -> Iterator[None]:
    """Let SIGTERM end the block in order, so that the terminal is as it was before."""

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise SystemExit(TERMINATED)

    if current_thread() is not main_thread():
        yield
        return
    with _handling(signal.SIGTERM, end):
        yield


@contextmanager
def _handling(number: signal.Signals, handler: Handler) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)

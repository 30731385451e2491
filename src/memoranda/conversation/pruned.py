"""What a conversation does to its own view: prunings, new sessions, counts anew."""

from __future__ import annotations

from threading import RLock

from memoranda.conversation import pruning
from memoranda.conversation import recap as overflow
from memoranda.conversation.context import ContextBuilder
from memoranda.conversation.limits import Limits
from memoranda.conversation.live import Live
from memoranda.conversation.pruner import Pruner, State
from memoranda.conversation.spoken import Spoken
from memoranda.conversation.system_extras import Session, session_of
from memoranda.conversation.view import View
from memoranda.errors import BudgetTooSmall
from memoranda.model.checks import limited
from memoranda.model.models import Pruning


class Pruned(Spoken):
    """The verbs of a conversation that change what of it is in view."""

    _limits: Limits
    _lock: RLock
    _live: Live
    _pruner: Pruner

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
            state = self._state()
            limits = self._pruner.thresholds(state)
            most = limits.tokens(limits.prune_to)
            if max_tokens is not None:
                most = limited(max_tokens, "max_tokens")
                self._fitting(state, self._view(state, most), most)  # Or nothing is done.
            why = f"asked for, down to {most:,} tokens"
            done = self._pruner.prune(
                state, pruning.MANUAL, state.counted(most), self._limits.policy, why
            )
        if done is not None:
            self._events.emit("pruned", done)
        return done

    def start_session(self, *, recap: int = 0) -> Pruning | None:
        """Start a new session: all but system messages and pins leave the view (R6.5).

        Args:
            recap: how many of the newest messages later contexts tell, shortened, in the system
                prompt, so that the talk goes on where it was (seed 002).

        Returns:
            The receipt; ``None`` if there was nothing to leave the view.
        """
        with self._lock:
            state = self._state()
            done = self._overflowed(state, limited(recap, "recap")) if recap else self._fresh(state)
        if done is not None:
            self._events.emit("pruned", done)
        return done

    def _fresh(self, state: State) -> Pruning | None:
        policy = pruning.fresh(self._limits.policy)
        room = state.ledger.grouping.fixed_tokens
        why = "a new session starts"
        return self._pruner.prune(state, pruning.SESSION_START, room, policy, why)

    def _overflowed(self, state: State, keep: int) -> Pruning | None:
        cuts = overflow.overflow_cuts(state.ledger, keep, self._limits.policy, state.meter)
        why = "the session has grown long and starts anew"
        return self._pruner.cut(state, overflow.OVERFLOW, cuts, why)

    @property
    def session(self) -> Session:
        """The present session: what was said since it began, and what its recap tells."""
        with self._lock:
            return self._session(self._state())

    def _session(self, state: State) -> Session:
        return session_of(self._transcript, state.info)

    def recount(self) -> None:
        """Count all messages anew, as when the conversation goes on with another model."""
        with self._lock:
            meter = self._state().meter
            self._transcript.recount(
                {
                    message.id: tokens
                    for message in self._transcript.messages(cleared=True)
                    if (
                        tokens := meter.message(message.content, message.tool_calls, message.images)
                    )
                    != message.tokens
                }
            )

    def _fitting(self, state: State, shown: View, budget: int | None) -> View:
        most = self._budget(budget, state)
        needed = state.billed(state.system + shown.tokens) + state.info.calibration.overhead
        if needed > most:
            raise BudgetTooSmall(needed=needed, budget=most)
        return shown

    def _view(self, state: State, budget: int | None, reserved: int = 0) -> View:
        builder = ContextBuilder(state.meter, self._limits.policy)
        most = state.info.calibration.room(self._budget(budget, state))
        return builder.view(state.ledger, system=state.info.system, budget=most - reserved)

    def _state(self) -> State:
        info = self._transcript.info()
        chosen = self._limits.context_limit or info.context_limit
        known_limit = self._parts.catalog.context_limit(info.model)
        usual = self._parts.settings.conversation.context_limit
        return State(
            ledger=self._live.synced(info),
            info=info,
            meter=self._parts.catalog.meter(info.model),
            window=chosen or known_limit or usual,
        )

    def _budget(self, budget: int | None, state: State) -> int:
        return self._limits.budget(state.window) if budget is None else limited(budget, "budget")

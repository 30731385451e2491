"""The limits of a conversation: how large its contexts are, and when it is pruned."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memoranda.conversation.selection import STABLE_TO, Policy
from memoranda.conversation.strategies.strategy import Strategy
from memoranda.model.checks import limited
from memoranda.settings.sections import ConversationSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """At which shares of the context window what happens (R2.4, R6.1, R6.2).

    Attributes:
        window: the context window, in tokens.
        warn_at: from where subscribers are told.
        prune_at: from where messages leave the view.
        prune_to: what an automatic pruning leaves.
        aggressive_at: from where pruning goes further.
        aggressive_to: what an aggressive pruning leaves.
    """

    window: int
    warn_at: float = 0.8
    prune_at: float = 0.8
    prune_to: float = 0.6
    aggressive_at: float = 0.9
    aggressive_to: float = 0.5

    def stable(self, room: float) -> Thresholds:
        """Return these with the larger steps that keep a prompt cache warm.

        ``room`` is the share of a context that is the conversation's.
        """
        low = min(self.prune_to, self.aggressive_to, STABLE_TO) * room
        return replace(
            self,
            prune_at=self.prune_at * room,
            aggressive_at=self.aggressive_at * room,
            prune_to=low,
            aggressive_to=low,
        )

    def tokens(self, share: float) -> int:
        """Return how many tokens a share of the window is."""
        return int(self.window * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one conversation, checked (see :class:`memoranda.Conversation`).

    Attributes:
        context_limit: the model's context window as the caller gave it.
        max_tokens: the budget of a context as the caller gave it.
        policy: how a view is chosen.
        settings: all else.
    """

    context_limit: int | None
    max_tokens: int | None
    policy: Policy
    settings: ConversationSettings

    def budget(self, context_limit: int) -> int:
        """Return how many tokens a context may take, with a window of ``context_limit``."""
        return self.max_tokens or max(1, int(context_limit * self.settings.budget_share))

    def thresholds(self, context_limit: int) -> Thresholds:
        """Return when to prune: shares of the window of which the budget is its share."""
        window = context_limit
        if self.max_tokens is not None:
            window = max(1, int(self.max_tokens / self.settings.budget_share))
        names = ("warn_at", "prune_at", "prune_to", "aggressive_at", "aggressive_to")
        return Thresholds(window=window, **{name: getattr(self.settings, name) for name in names})


def check_limits(
    settings: ConversationSettings,
    *,
    context_limit: int | None = None,
    max_tokens: int | None = None,
    max_messages: int | None = None,
    keep_recent: int | None = None,
    strategy: str | Strategy | None = None,
) -> Limits:
    """Return the limits of a conversation if all of its arguments can be used.

    Raises:
        InvalidInput: one cannot; the message says which.
    """
    recent = limited(settings.keep_recent if keep_recent is None else keep_recent, "keep_recent")
    most = settings.max_messages if max_messages is None else max_messages
    policy = Policy(
        strategy=settings.strategy if strategy is None else strategy,
        max_messages=max(limited(most, "max_messages"), recent),
        keep_recent=recent,
        stable=settings.stable_prefix,
    )
    policy.check()
    return Limits(
        context_limit=None if context_limit is None else limited(context_limit, "context_limit"),
        max_tokens=None if max_tokens is None else limited(max_tokens, "max_tokens"),
        policy=policy,
        settings=settings,
    )


DEFAULT_LIMITS = check_limits(ConversationSettings())

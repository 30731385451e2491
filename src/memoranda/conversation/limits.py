"""How much of a conversation a model sees: what the caller gave, else the settings."""

from __future__ import annotations

from dataclasses import dataclass

from memoranda.conversation.choosing import Policy
from memoranda.conversation.pruning import Thresholds
from memoranda.model.checks import limited
from memoranda.settings.sections import ConversationSettings


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
        chosen = self.settings
        window = context_limit
        if self.max_tokens is not None:
            window = max(1, int(self.max_tokens / chosen.budget_share))
        return Thresholds(
            window=window,
            warn_at=chosen.warn_at,
            prune_at=chosen.prune_at,
            prune_to=chosen.prune_to,
            aggressive_at=chosen.aggressive_at,
            aggressive_to=chosen.aggressive_to,
        )


def checked(
    settings: ConversationSettings,
    *,
    context_limit: int | None = None,
    max_tokens: int | None = None,
    max_messages: int | None = None,
    keep_recent: int | None = None,
    strategy: str | None = None,
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


USUAL = checked(ConversationSettings())

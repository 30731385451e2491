"""Whether a newer statement ends, denies or repeats an older one, decided by rules."""

from __future__ import annotations

from memoranda.learning.conflicts.facts import judge_fact
from memoranda.learning.conflicts.judge import RuleJudge

__all__ = ["RuleJudge", "judge_fact"]

"""What a memory does when it is opened: the clean-up at start (seed 001)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from memoranda.errors import MemorandaError
from memoranda.model.reports import StageReport

log = logging.getLogger("memoranda.maintenance")


def clean_up(expire: Callable[[], StageReport]) -> None:
    """Retire what is past its time by ``expire``, and log how many if there are any.

    It reads before it writes, so that who opens a memory in which nothing has ended waits for
    nobody. Two processes at once do it as one would. A failure is logged and keeps nobody from
    the memory: what has ended is not found anyway.
    """
    try:
        report = expire()
    except MemorandaError as error:
        log.warning("memory_cleanup failed: %s; it is tried again at the next start", error)
        return
    if report.count:
        log.info("memory_cleanup deleted=%d (%s)", report.count, report)

"""The commands that look at conversations and change what is in view of them, on real files."""

import pytest
from talk_of_two_tasks import tell
from terminal_codes import CODES

from memoranda import Memory


@pytest.fixture
def prefix():
    """All commands here are those of ``memoranda conversations``."""
    return ("conversations",)


@pytest.fixture
def trip():
    """A stored conversation named trip, in which nothing was pruned yet."""
    with Memory() as memory:
        chat = memory.conversation("trip", system="You are careful.", context_limit=8_000)
        tell(chat)
        return chat.messages


@pytest.mark.usefixtures("trip")
def test_the_bar_warns(coloured, told):
    """The bar is green, from 80 % of the budget yellow, and from 90 % red (R6.1, R6.2)."""
    tokens = told("show", "trip")["figures"]["total_tokens"]
    for share, colour in ((0.7, 32), (0.85, 33), (0.91, 31)):
        line = coloured("show", "trip", "--budget", str(int(tokens / share))).splitlines()[1]
        assert line.startswith(f"\x1b[{colour}m━")
        assert f"({share:.0%})".replace("%", " %") in CODES.sub("", line)


@pytest.mark.usefixtures("trip")
def test_a_dry_run_says_what_pruning_does(run, told):
    """--dry-run prints the receipt of the real pruning, and prunes nothing."""
    tried = told("prune", "trip", "--to", "650", "--dry-run")
    assert told("show", "trip")["figures"]["pruned_messages"] == 0
    assert "dry run, nothing was changed" in run("prune", "trip", "--to", "650", "--dry-run").stdout
    done = told("prune", "trip", "--to", "650")
    assert done | {"id": tried["id"], "at": tried["at"]} == tried

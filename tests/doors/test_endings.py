"""A process ends as it is told to, whatever is done in its background."""

import subprocess
import sys

import pytest

# A session is read once the next one begins, by patterns, in code in C++.
UNCLOSED = """
import sys
from traceback import walk_stack
from memoranda import Memory

def is_at_work():
    tops = sys._current_frames().values()
    return any(frame.f_code.co_name == "finditer" for top in tops for frame, _ in walk_stack(top))

memory = Memory("agent.db")
chat = memory.conversation("trip")
for number in range(100):
    chat.add("user", f"Rita moved to Lisbon with Marta Silva and {number} cats. " * 20)
memory.conversation("next").add("user", "Hello.")
while not is_at_work():
    pass
"""
INTERRUPTED = """
import sys
from threading import Event, Thread
from memoranda import cli
from memoranda.text.linear_patterns import LinearPattern

begun = Event()
pattern = LinearPattern("(a|b|ab)*c")

def work():
    while True:
        begun.set()
        pattern.search("ab" * 100_000)

Thread(target=work, daemon=True).start()
begun.wait()
cli.app = lambda **_: sys.exit(130)
print("said")
cli.main()
"""


@pytest.mark.parametrize(
    ("script", "code", "said"), [(UNCLOSED, 0, ""), (INTERRUPTED, 130, "said\n")]
)
def test_what_is_at_work_aborts_no_process(script, code, said, environment, tmp_path):
    """Neither one that leaves its memory open nor one that is interrupted while it answers."""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", script],
        env=environment | {"MEMORANDA_EMBEDDING__MODEL": "none"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")

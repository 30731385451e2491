"""What other processes do to notes in the tests. Roles: append, die.

Each line of output is an acknowledgement, written after the call has returned.
"""

import os
import signal
import sys

from memoranda.notes import Notes

CALLS = ("open", "write", "fsync", "replace", "unlink", "chmod", "mkdir", "close", "lseek")


def acknowledge(text):
    """Tell the test, which may be waiting for the line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def append(notes, name, number):
    """Add many entries, by turns to HISTORY.md alone and to that of the month too."""
    for turn in range(int(number)):
        tell = notes.append_history if turn % 10 else notes.append_history_rotated
        tell(f"{name} {turn}\n\nwith a second paragraph of {name} {turn}")
    acknowledge("done")


def die():
    """Be killed before each call to the operating system, or in the middle of a write.

    For each line ``STEP WHEN ACTION FOLDER`` of input, a process of its own writes and is killed
    there. The answer is ``killed``, or ``done 0`` if there are fewer steps.
    """
    acknowledge("ready")
    for line in sys.stdin:
        step, when, action, folder = line.rstrip("\n").split(" ", 3)
        notes = Notes(folder)
        child = os.fork()
        if not child:
            arm(int(step), when)
            tell = notes.write_memory if action == "write" else notes.append_history_rotated
            tell("new " * 5_000)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        acknowledge("killed" if os.WIFSIGNALED(status) else f"done {os.WEXITSTATUS(status)}")


def arm(step, when):
    """Let the call number ``step`` be the last one."""
    made = iter(range(1_000_000))

    def deadly(call):
        def made_or_killed(*args, **kwargs):
            if next(made) != step:
                return call(*args, **kwargs)
            if when == "half" and call.__name__ == "write":
                call(args[0], bytes(args[1])[: len(args[1]) // 2])
            return os.kill(os.getpid(), signal.SIGKILL)

        return made_or_killed

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    if role == "die":
        die()
    else:
        folder, name, number = arguments
        acknowledge("ready")
        sys.stdin.readline()
        append(Notes(folder), name, number)

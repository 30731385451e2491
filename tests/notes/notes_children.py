"""A process whose children are killed while they write notes."""

import os
import signal
import sys

from memoranda.notes import Notes

CALLS = ("open", "write", "fsync", "replace", "unlink", "chmod", "mkdir", "close", "lseek")


def acknowledge(text):
    """Tell the test, which may be waiting for the line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def die():
    """Be killed before a call to the operating system, or in the middle of it where it writes.

    For each line ``STEP ACTION FOLDER`` of input, a process of its own writes and is killed
    there. The answer is ``killed``, or ``done 0`` if there are fewer steps.
    """
    acknowledge("ready")
    for line in sys.stdin:
        step, action, folder = line.rstrip("\n").split(" ", 2)
        notes = Notes(folder)
        child = os.fork()
        if not child:
            arm(int(step))
            tell = notes.write_memory if action == "write" else notes.append_history_rotated
            tell("new " * 5_000)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        acknowledge("killed" if os.WIFSIGNALED(status) else f"done {os.WEXITSTATUS(status)}")


def arm(step):
    """Let the call number ``step`` be the last one."""
    made = iter(range(1_000_000))

    def deadly(call):
        def made_or_killed(*args, **kwargs):
            if next(made) != step:
                return call(*args, **kwargs)
            if call.__name__ == "write":
                call(args[0], bytes(args[1])[: len(args[1]) // 2])
            return os.kill(os.getpid(), signal.SIGKILL)

        return made_or_killed

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))


if __name__ == "__main__":
    die()

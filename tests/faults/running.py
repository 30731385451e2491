"""How a test speaks with the processes that it started."""


def ready(process):
    """Wait until a process has imported what it needs, and has opened what it is to hold."""
    assert process.stdout.readline() == "ready\n"


def go(process):
    """Let a process begin."""
    process.stdin.write("go\n")
    process.stdin.flush()


def finish(process):
    """Return the exit code of a process and the lines it acknowledged."""
    output, _ = process.communicate(timeout=120)
    return process.returncode, output.split()

"""What other processes do to a session file in the tests. Roles: writer, changer.

Each line of output is an acknowledgement, written after the file has returned.
"""

import sys
from datetime import timedelta

from session_samples import CREATED, cut, message, pruning

from memoranda.conversation.session_file import FileTranscript


def acknowledge(text):
    """Tell the test, which may be waiting for the line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write(path, name, number):
    """Add messages, singly and in pairs."""
    file = FileTranscript(path)
    for turn in range(int(number)):
        texts = [f"{name} {turn}"] if turn % 3 else [f"{name} {turn} a", f"{name} {turn} b"]
        file.append([message(text * 40, id=f"msg_{text}") for text in texts])
        for text in texts:
            acknowledge(text)


def change(path, name, number):
    """Write the whole file anew again and again, each time in another way."""
    transcript = FileTranscript(path)
    for turn in range(int(number)):
        transcript.prune(pruning(cut(0, 0), id=f"prn_{name}_{turn}"))
        first = transcript.messages(cleared=True)[0].id
        transcript.pin(first, pinned=not turn % 2)
        transcript.end(CREATED + timedelta(days=turn))
        acknowledge(f"{name} {turn}")


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    acknowledge("ready")
    sys.stdin.readline()
    {"writer": write, "changer": change}[role](*arguments)

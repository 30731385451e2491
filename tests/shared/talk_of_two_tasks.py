"""A talk of two tasks, with all that a conversation can hold, for the tests of what is shown."""

from datetime import UTC, datetime, timedelta

from memoranda.model.models import Image, ToolCall, ToolResult

START = datetime(2025, 3, 31, 9, tzinfo=UTC)
LONG = "Keep the public names as they are, and say so in the changelog. " * 20
CHINESE = "每个月的报表都要显示合计金额数字要对齐。" * 4


def tell(chat):
    """Tell a story of two tasks: calls, an error, a picture, a pin, text of every kind."""
    said = START

    def add(role, content, **more):
        nonlocal said
        said += timedelta(minutes=1)
        return chat.add(role, content, timestamp=said, **more)

    def call(name, arguments, result, *, error=False):
        key = f"call_{said:%H%M}"
        add("assistant", "", tool_calls=[ToolCall(key, name, arguments)])
        add("tool", result, tool_result=ToolResult(key, error))

    add("user", "Split parser.py into a tokenizer and a parser.")
    call("read_file", '{"path": "parser.py"}', "def parse(line):\n    return line\n" * 9)
    call("run_tests", "{}", "ImportError: cannot import name 'tokenize'", error=True)
    add("assistant", "Task complete. All tests pass now.")
    pinned = add("user", LONG, task="the changelog")
    chat.pin(pinned.id)
    add("assistant", "Noted.")
    add("user", CHINESE, images=[Image("https://example.org/report.png", "low")])
    two = [ToolCall("a", "read_file", '{"path": "报表.py"}'), ToolCall("b", "run_linter", "{")]
    add("assistant", "Looking at both.", tool_calls=two)
    add("tool", "one\ntwo\nthree\nfour\nfive", tool_result="a")
    add("tool", "clean", tool_result="b")
    for number in range(8):
        add(("user", "assistant")[number % 2], f"Remark {number} on the columns.")

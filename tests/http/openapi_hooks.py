"""How schemathesis sends what it knows no form of."""

import schemathesis


@schemathesis.serializer("application/jsonl")
def json_lines(_, value):
    """Send a text as it is, and of anything else what it is written as."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")

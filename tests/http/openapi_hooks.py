"""How schemathesis sends what it knows no form of."""

import schemathesis


@schemathesis.serializer("application/jsonl")
def json_lines(_, value):
    """Send a text as it is."""
    return value.encode() if isinstance(value, str) else value

"""What happens to a memory, as server-sent events."""

import json

import pytest
from http_server import require_problem


def read_events(answer, count):
    """Return the first events of a stream: id, name and data."""
    found, event = [], {}
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if not line and "data" in event:
            found.append((event["id"], event["event"], json.loads(event["data"])))
            event = {}
            if len(found) == count:
                return found
        event[name] = value
    pytest.fail("the stream ended")


def test_events_tell_what_was_done_and_no_text(served, ana, ben):
    """A ticket opens them once; who comes back with the last id misses nothing."""
    ticket = ana.post("/v1/events/tickets").json()["ticket"]
    with served.client() as page:
        with page.stream("GET", "/v1/events", params={"ticket": ticket}) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            ben.post("/v1/records", json={"content": "Ben is quiet"})
            made = ana.post("/v1/records", json={"content": "Ana sings"}).json()
            ana.delete(f"/v1/records/{made['id']}")
            first, second = read_events(stream, 2)
        assert (first[1], first[2]["record"]) == ("insert", made["id"])
        assert (second[1], second[2]["record"]) == ("close", made["id"])
        assert "sings" not in f"{first}{second}"
        require_problem(page.get("/v1/events", params={"ticket": ticket}), 401)
        require_problem(page.get("/v1/events"), 401)
    many = {"items": [{"content": f"Ana sings song {number}"} for number in range(150)]}
    ids = [each["id"] for each in ana.post("/v1/records/batch", json=many).json()]
    with ana.stream("GET", "/v1/events", headers={"Last-Event-ID": first[0]}) as stream:
        later = read_events(stream, 151)
    assert [each[1:] for each in later].count(second[1:]) == 1
    assert [told["record"] for _, action, told in later if action == "insert"] == ids


def test_a_stream_ends_when_its_token_is_revoked(served):
    """Who may no longer ask is told nothing more."""
    with served.client(served.token("cleo")) as cleo:
        own = next(each.id for each in served.tokens.all() if each.user == "cleo")
        with cleo.stream("GET", "/v1/events") as stream:
            served.tokens.revoke(own)
            assert list(stream.iter_lines()) == []

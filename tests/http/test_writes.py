"""Writes that meet: versions, keys of clients that repeat themselves, many lines at once."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from http_server import require_problem
from tables import each_row


def store(client, content, **details):
    """Store a record and return it."""
    answer = client.post("/v1/records", json={"content": content, **details})
    assert answer.status_code == 201, answer.text
    return answer.json()


CHANGES = {
    "update": ("PATCH", "", {"tags": ["x"]}),
    "correct": ("POST", "/corrections", {"content": "Ana is vegan now"}),
    "confirm": ("POST", "/confirmation", {}),
    "forget": ("DELETE", "", None),
}


@each_row("change", CHANGES)
def test_what_was_changed_meanwhile_is_not_changed(ana, change):
    """A stale version is refused, by header (412) and in the body (409); the present one is not."""
    method, path, body = CHANGES[change]
    stale = store(ana, f"Ana is vegetarian, {change}")
    url = f"/v1/records/{stale['id']}"
    fresh = ana.patch(url, json={"tags": ["diet"]}).json()
    assert fresh["version"] != stale["version"]

    def ask(if_match=None, **given):
        headers = {} if if_match is None else {"If-Match": if_match}
        document = None if body is None else body | given
        return ana.request(method, url + path, json=document, headers=headers)

    for weak in (f'"{stale["version"]}"', f'W/"{fresh["version"]}"'):
        require_problem(ask(weak), 412)
    if body is not None:
        told = require_problem(ask(expected_version=stale["version"]), 409)
        assert "read it again" in told["detail"]
    assert ana.get(url).json() == fresh
    assert ask(f'"{fresh["version"]}"').status_code in {200, 201}


def test_of_two_changes_at_once_one_is_refused(ana, served):
    """Both knew the same version: one of them wins, whoever it is."""
    known = store(ana, "Ana has two cats")
    statuses, gate = [], threading.Barrier(4)

    def change(number):
        with served.client(served.token("ana")) as client:
            gate.wait()
            body = {"tags": [f"t{number}"], "expected_version": known["version"]}
            statuses.append(client.patch(f"/v1/records/{known['id']}", json=body).status_code)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 409, 409, 409]


def test_of_many_at_once_each_gets_its_own_answer(ana, ben):
    """Those that share a way to a thread share no result: neither a record nor what went wrong."""
    texts = ["" if number % 7 == 3 else f"Call {number} is answered" for number in range(60)]

    def send(number):
        client = (ana, ben)[number % 2]
        told = client.post("/v1/records", json={"content": texts[number], "session": "many"})
        if not texts[number]:
            return require_problem(told, 422)["detail"].partition(" is ")[0]
        own = f"/v1/records/{told.json()['id']}"
        assert (ben, ana)[number % 2].get(own).status_code == 404
        return client.get(own).json()["content"]

    with ThreadPoolExecutor(20) as threads:
        assert [*threads.map(send, range(60))] == [text or "content" for text in texts]


def test_an_unchanged_record_is_not_sent_again(ana):
    """Whoever has the present version is told so."""
    known = store(ana, "Ana has a boat")
    answer = ana.get(
        f"/v1/records/{known['id']}", headers={"If-None-Match": f'"{known["version"]}"'}
    )
    assert (answer.status_code, answer.content) == (304, b"")


def test_a_repeated_write_is_done_once(ana, ben):
    """The same key and request give the first answer; another request under it is refused."""
    key = {"Idempotency-Key": str(uuid4())}
    new = {"content": "A ticket was bought", "kind": "episode"}
    first, again = (ana.post("/v1/records", json=new, headers=key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    assert first.headers["etag"] == again.headers["etag"]
    assert again.headers["idempotent-replayed"] == "true"
    require_problem(ana.post("/v1/records", json=new | {"content": "x"}, headers=key), 422)
    assert ben.post("/v1/records", json=new, headers=key).json()["id"] != first.json()["id"]
    require_problem(ana.post("/v1/records", json=new, headers={"Idempotency-Key": "x" * 256}), 400)


def test_a_write_that_failed_may_be_tried_again_under_its_key(ana):
    """What was refused is not kept as the answer."""
    key = {"Idempotency-Key": str(uuid4())}
    require_problem(ana.post("/v1/records", json={"content": ""}, headers=key), 422)
    assert ana.post("/v1/records", json={"content": "Now it is"}, headers=key).status_code == 201


def test_an_erasure_takes_kept_answers_along(ana, served):
    """What was answered holds the text: it goes with it."""
    key = {"Idempotency-Key": str(uuid4())}
    new = {"content": "The code of the safe is 8842 xyzzy"}
    known = ana.post("/v1/records", json=new, headers=key).json()
    ana.delete(f"/v1/records/{known['id']}", params={"erase": True})
    with served.memory._services.store.read() as connection:
        kept = connection.all("SELECT answer FROM idempotency_keys")
    assert "xyzzy" not in str(kept)


def test_each_line_of_many_is_answered(ana):
    """A line that cannot be stored keeps no other from it, and is named."""
    lines = [
        json.dumps({"content": "Line one", "session": "bulk"}),
        "",
        json.dumps({"content": " "}),
        "{",
        json.dumps({"content": "Line two", "session": "bulk", "colour": 1}),
        json.dumps({"content": "Ünïcode ✓", "session": "bulk"}),
    ]
    answer = ana.post("/v1/records/bulk", content="\n".join(lines).encode())
    assert answer.headers["content-type"] == "application/jsonl"
    told = [json.loads(line) for line in answer.text.splitlines()]
    assert [(each["line"], each["status"]) for each in told] == [
        (1, 201),
        (3, 422),
        (4, 422),
        (5, 422),
        (6, 201),
    ]
    assert "colour" in told[3]["detail"]
    assert ana.get("/v1/records/count", params={"session": "bulk"}).json() == {"count": 2}


def test_a_batch_is_stored_whole_or_not_at_all(ana):
    """One item that cannot be stored keeps all from it."""
    items = [{"content": "Batch one", "session": "batch"}, {"content": ""}]
    require_problem(ana.post("/v1/records/batch", json={"items": items}), 422)
    assert ana.get("/v1/records/count", params={"session": "batch"}).json() == {"count": 0}
    made = ana.post("/v1/records/batch", json={"items": items[:1]})
    assert [each["content"] for each in made.json()] == ["Batch one"]


def test_pages_hold_every_record_once(ana):
    """A cursor goes on where its page ended, whatever is stored meanwhile."""
    wanted = [store(ana, f"page {number}", session="pages")["id"] for number in range(5)]
    found, cursor = [], None
    while True:
        asked = {"session": "pages", "limit": 2} | ({"after": cursor} if cursor else {})
        page = ana.get("/v1/records", params=asked).json()
        found += [each["id"] for each in page["records"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == wanted

"""Records over HTTP: stored, listed, read and forgotten."""


def store(client, content, **details):
    """Store a record and return it."""
    answer = client.post("/v1/records", json={"content": content, **details})
    assert answer.status_code == 201, answer.text
    return answer.json()


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

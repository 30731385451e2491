"""Records over HTTP: stored, listed, read and forgotten."""


def store(client, content, **details):
    """Store a record and return it."""
    answer = client.post("/v1/records", json={"content": content, **details})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_record_is_stored_read_and_forgotten(ana):
    """What is stored is read as it was told, and gone from the list when it is forgotten."""
    stored = store(ana, "Ana is vegetarian", tags=["diet"])
    assert (stored["content"], stored["tags"], stored["kind"]) == (
        "Ana is vegetarian",
        ["diet"],
        "fact",
    )
    shown = ana.get(f"/v1/records/{stored['id']}")
    assert shown.json() == stored
    assert shown.headers["etag"] == f'"{stored["version"]}"'
    gone = ana.delete(f"/v1/records/{stored['id']}")
    assert (gone.status_code, gone.json()["records"]) == (200, 1)
    listed = ana.get("/v1/records", params={"tags": "diet"}).json()
    assert listed == {"records": [], "next": None}


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

"""Every page of the explorer, its twin, and what it says."""

import json
from datetime import timedelta

import pytest
from explorer_pages import EVIL, TALK, Elements, addresses, fill
from tables import each_row

from memoranda.http.explorer.app import PAGES

FIELDS = ("q", "kind", "tag", "session", "since", "until", "as_of", "at", "day", "offset", "after",
          "budget", "before", "type", "month", "id", "name")  # fmt: skip
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def get(client, served, page):
    """Return the answers of a page and of its twin."""
    path, fields = addresses(served.fact)[page]
    return client.get(path, params=fields), client.get(f"{path}.json", params=fields)


@each_row("page", [*PAGES])
def test_every_page_has_a_twin(page, ana, served):
    """A page answers, with one heading and the way to its twin, which answers in JSON."""
    answer, twin = get(ana, served, page)
    assert (answer.status_code, twin.status_code) == (200, 200), answer.text + twin.text
    elements = Elements(answer.text)
    assert len(elements.named("h1")) == 1 or page == "/notes"
    assert json.loads(twin.text)
    assert any(each["href"] == str(twin.url.raw_path, "ascii") for each in elements.named("a"))


@each_row("page", [*PAGES])
def test_headers_keep_a_page_to_itself(page, ana, served):
    """No other site frames, caches or scripts a page, and each script has the nonce of its page."""
    answer, twin = get(ana, served, page)
    for each in (answer, twin):
        assert HEADERS.items() <= dict(each.headers).items()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    scripts = Elements(answer.text).named("script")
    assert scripts
    assert all(f"'nonce-{each['nonce']}'" in policy for each in scripts)
    assert all(each["src"].startswith("/assets/") for each in scripts)
    assert policy != ana.get("/search").headers["content-security-policy"]


@each_row("page", [*PAGES])
def test_what_is_stored_is_text(page, served, signed_in):
    """Whatever was stored, in whatever field, is shown and never obeyed."""
    user = served.memory.as_user(f"eve {EVIL}")
    fact = user.search("lives")[0].record.id if user.count() else fill(user, EVIL)
    path, fields = addresses(fact, TALK + EVIL)[page]
    asked = {"q": EVIL, "tag": EVIL, "session": EVIL, "done": EVIL, "changed": EVIL}
    with signed_in(user.user, "admin") as client:
        for extra in ({}, asked):
            text = client.get(path, params={**extra, **fields}).text
            assert not [each for each in Elements(text).found if "data-evil" in each[1]]
            assert "54439" not in text


@each_row("page", [*PAGES])
def test_another_user_sees_nothing_of_it(page, served, signed_in):
    """Ben's pages say nothing of Ana's memory, whatever id he asks for."""
    path, fields = addresses(served.fact)[page]
    names_something = "{id}" in page or bool({"id", "name"} & {*fields})
    with signed_in("ben", "admin") as ben:
        for answer in (ben.get(path, params=fields), ben.get(f"{path}.json", params=fields)):
            assert answer.status_code == (404 if names_something else 200), answer.text
            assert "Keller" not in answer.text
            assert "vegetarian" not in answer.text


@each_row("page", [*PAGES])
def test_nobody_sees_a_page(page, served):
    """Who has not signed in is sent to the sign-in, and a program is refused."""
    path, fields = addresses(served.fact)[page]
    with served.client() as nobody:
        asked = nobody.get(path, params=fields)
        assert (asked.status_code, asked.headers["location"].split("?")[0]) == (303, "/sign-in")
        assert nobody.get(f"{path}.json", params=fields).status_code == 401
        assert nobody.get(path, headers={"HX-Request": "true"}).status_code == 401


def test_a_token_reads_the_twins(served):
    """A program needs no cookie for what it reads, and its token opens no form."""
    with served.client(served.token("ana", "read")) as program:
        assert program.get("/search.json").json()["records"]
        assert program.get("/search").status_code == 303
        assert program.post("/bulk", data={}).status_code == 401


def test_while_one_types_the_results_alone_come(ana):
    """A request of the script gets the part of the page that it asks for."""
    headers = {"HX-Request": "true", "HX-Target": "results"}
    part = ana.get("/search", params={"q": "Marta"}, headers=headers).text
    assert "<h1" not in part
    assert "/records/" in part


def test_search_says_why_and_why_not(ana, served):
    """Hits have their arms; a record that was replaced says what took its place, and its rank."""
    old = served.memory.history(served.fact)[0].record
    found = ana.get("/search.json", params={"q": "Where does Marta live?", "id": old}).json()
    assert found["hits"][0]["why"]["arms"]
    assert found["missing"]["rank"] is None
    assert served.fact in found["missing"]["reasons"][0]
    other = {"q": "Marta", "id": served.fact, "kind": "episode", "tag": "work"}
    reasons = ana.get("/search.json", params=other).json()["missing"]["reasons"]
    assert ["episode" in reasons[0], "work" in reasons[1]] == [True, True]


def test_a_record_shows_where_it_comes_from(ana, served):
    """An episode stands among the turns around it, and a fact has its curve and its versions."""
    episode = served.memory.records(kind="episode", limit=5)[-1]
    (place,) = ana.get(f"/records/{episode.id}.json").json()["sources"]
    assert [each["position"] for each in place["turns"]] == [2, 3, 4, 5, 6]
    fact = ana.get(f"/records/{served.fact}.json").json()
    believed = [each["confidence"] for each in fact["curve"]]
    assert believed == sorted(believed, reverse=True)
    assert [each["content"] for each in fact["versions"]] == ["Marta lives in Porto "]


def test_a_conversation_is_shown_as_a_model_sees_it(ana):
    """Within a budget some messages are out of view, and a marker stands for them."""
    found = ana.get("/conversation.json", params={"id": TALK, "budget": "400"}).json()
    assert {each["in_view"] for each in found["runs"]} == {True, False}
    assert found["figures"]["total_tokens"] <= found["budget"] == 400
    assert any(each["marker"] for each in found["runs"])


def test_the_timeline_shows_what_was_believed(signed_in, served):
    """A day before the correction has the former words, marked as replaced."""
    served.clock.advance(timedelta(days=3))
    old = served.memory.remember("The plumber is Kofi")
    served.clock.advance(timedelta(days=3))
    served.memory.correct(old.id, "The plumber is Olga")
    with signed_in() as ana:
        before = ana.get("/timeline.json", params={"day": 4}).json()
        today = ana.get("/timeline.json").json()
    assert before["records"][0]["content"] == "The plumber is Kofi"
    assert before["ended"][0] == old.id
    assert today["records"][0]["content"] == "The plumber is Olga"


@each_row
def test_what_cannot_be_read_is_refused(ana, fields):
    """A field that is none is named, and nothing fails.

    since=yesterday
    offset=-1
    limit=x&offset=x
    kind=novel
    as_of=2026-99-99
    """
    answer = ana.get(f"/search.json?q=tea&{fields}")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert fields.split("&")[-1].split("=")[0] in answer.json()["detail"]


@each_row("page", [*PAGES])
def test_nothing_that_is_asked_makes_a_page_fail(page, ana, served):
    """Whatever stands in the fields, the answer is a page or says what is wrong."""
    path, fields = addresses(served.fact)[page]
    for value in (
        "-1",
        "9" * 30,
        "x",
        "\x00",
        "2026-99-99",
        "0001-01-01",
        "../..",
        "\ud800",
        "ø" * 900,
    ):
        for name in FIELDS:
            answer = ana.get(
                f"{path}.json", params={**fields, name: value.encode("utf-8", "replace")}
            )
            assert answer.status_code < 500, (name, value, answer.text)


@each_row
def test_what_is_not_there_is_told_without_commands(ana, address, told):
    """A page advises no command of a terminal.

    /records/none     | there is no record 'none' for user 'ana'
    /entity?name=Zora | no record mentions 'Zora'
    """
    page, query = (address + "?").split("?")[:2]
    assert ana.get(f"{page}.json?{query}").json()["detail"] == told


def test_a_missing_page_is_one_for_people_and_a_problem_for_programs(ana):
    """Who asks for HTML gets a page."""
    page = ana.get("/nothing", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"].split(";")[0]) == (404, "text/html")
    assert ana.get("/nothing").headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("name", ["style.css", "explorer.js", "htmx.min.js", "icon.svg"])
def test_assets_are_kept_by_browsers(name, ana):
    """What a page needs comes from this server, and is asked for once."""
    answer = ana.get(f"/assets/{name}")
    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    assert ana.get("/assets/%2e%2e%2fapp.py").is_error

"""Who may ask, and how a refusal looks."""

from datetime import timedelta

from http_server import require_problem
from tables import each_row

from memoranda.tools.definitions import DEFINITIONS


def test_health_alone_needs_no_token(served):
    """Without a token nothing but /health answers, not even what is not there."""
    with served.client() as nobody:
        assert nobody.get("/health").json() == {"status": "ok"}
        for path in ("/v1/records", "/v1/nothing", "/openapi.json", "/metrics", "/nothing"):
            answer = nobody.get(path)
            require_problem(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"


@each_row
def test_a_token_that_is_none_opens_nothing(served, how):
    """Neither a wrong token, nor one that was revoked or has expired, nor one in the URL.

    wrong
    revoked
    expired
    in the URL
    """
    token = served.token("ana", expires=timedelta(days=1) if how == "expired" else None)
    path = "/v1/records"
    match how:
        case "wrong":
            token = token[:-1]
        case "revoked":
            served.tokens.revoke(served.tokens.all()[-1].id)
        case "expired":
            served.clock.advance(timedelta(days=2))
        case "in the URL":
            path, token = f"{path}?token={token}&access_token={token}", None
    with served.client(token) as client:
        told = require_problem(client.get(path), 401)["detail"]
        assert ("memoranda token create" if token is None else "memoranda token list") in told


def test_a_scope_allows_what_it_says(served):
    """Who may read stores nothing."""
    with served.client(served.token("ana", "read")) as reader:
        assert reader.get("/v1/records").status_code == 200
        assert reader.post("/v1/recall", json={"prompt": "x"}).status_code == 200
        for definition in DEFINITIONS.values():
            answer = reader.post(f"/v1/tools/{definition.name}", json={})
            assert answer.status_code == (200 if definition.reads else 403), definition.name
        assert reader.post("/v1/tools/search_memory", json={"query": "x"}).status_code == 200
        for path, body in (
            ("records", {"content": "x"}),
            ("tools/remember_fact", {"content": "x"}),
            ("conversations/trip/context", {}),
            ("maintain", {"dry_run": True}),
        ):
            told = require_problem(reader.post(f"/v1/{path}", json=body), 403)
            assert "scope write" in told["detail"]


def test_a_wrong_field_is_named(ana):
    """A field that cannot be used is named with what is wrong with it."""
    told = require_problem(ana.post("/v1/records", json={"content": 5, "colour": "red"}), 422)
    assert {each["field"] for each in told["errors"]} == {"content", "colour"}
    told = require_problem(ana.post("/v1/records", json={"content": " "}), 422)
    assert told["detail"] == "content is empty; give it some text"


@each_row
def test_a_request_that_cannot_be_read_is_told_where(ana, asked, body, field, told):
    """The field is a name and never a number, and the message says what to send.

    POST records             | {"content": x} | body  | not valid JSON at character 13
    POST records             | [1]            | body  | send a JSON object
    GET records?kind=a&kind=b|                | kind  | it is given more than once; give it once
    GET entities?limit=1&limit=2 |            | limit | it is given more than once; give it once
    POST import?name=a&name=b | {}            | name  | it is given more than once; give it once
    """
    method, path = asked.split(" ")
    headers = {"Content-Type": "application/json"}
    answer = ana.request(method, f"/v1/{path}", content=body, headers=headers)
    (wrong,) = require_problem(answer, 422)["errors"]
    assert wrong["field"] == field
    assert wrong["message"].startswith(told)


def test_a_list_may_be_given_by_parts(ana):
    """Tags and the parts of a namespace are parameters that stand there several times."""
    ana.post("/v1/records", json={"content": "Ana sails", "tags": ["sea", "wind"]})
    (found,) = ana.get("/v1/records?tags=sea&tags=wind").json()["records"]
    assert found["content"] == "Ana sails"


@each_row
def test_advice_is_for_who_asks_over_http(served, asked, body, advice):
    """What the command line would advise is told as a request.

    GET records/none      |                  | GET /v1/records lists
    GET facts/none        |                  | GET /v1/records lists
    GET entities/Nobody   |                  | GET /v1/entities lists
    POST consolidate      | {"session": "x"} | GET /v1/sessions lists
    DELETE admin/tokens/x |                  | GET /v1/admin/tokens lists
    POST import           | {"colour": 1}    | give its format: memoranda, openai
    """
    method, path = asked.split(" ")
    headers = {"Content-Type": "application/json"}
    with served.client(served.token("noa", "admin")) as client:
        answer = client.request(method, f"/v1/{path}", content=body, headers=headers)
    detail = answer.json()["detail"]
    assert f"; {advice}" in detail
    assert "--" not in detail

"""Each resource answers as the verb of Memory does that it stands for."""

import re

import pytest
from http_server import require_problem


@pytest.fixture(scope="module")
def root(served):
    """A client that may do all there is."""
    with served.client(served.token("root", "admin")) as client:
        yield client


def require(answer, status=200):
    """Require a status; return the document, if there is one."""
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def test_figures_tell_nothing_of_the_machine(ana):
    """Each stage runs dry, and one that there is not is refused."""
    for stage in ("expire", "decay", "enrich", "reflect", "derive"):
        done = require(ana.post(f"/v1/stages/{stage}", json={"dry_run": True}))
        assert (done["stage"], done["dry_run"]) == (stage, True)
    require_problem(ana.post("/v1/maintain", json={"stages": ["sweep"]}), 422)
    assert require(ana.get("/v1/stats"))["location"] == ""


def test_tools_and_files(ana, ben):
    """An agent's tools by name; a whole memory goes out, and comes in again once."""
    names = [each["function"]["name"] for each in require(ana.get("/v1/tools"))]
    assert len(names) == 10
    told = require(ana.post("/v1/tools/memory_stats", json={}))["text"]
    assert "fact" in told
    require_problem(ana.post("/v1/tools/rm", json={}), 422)
    require(ana.post("/v1/records", json={"content": "Ana owns a red kayak"}), 201)
    file = ana.get("/v1/export")
    assert file.headers["content-type"] == "application/jsonl"
    report = require(ana.post("/v1/import", content=file.content, params={"name": "ana.jsonl"}))
    assert (report["records"], report["skipped"] > 0) == (0, True)
    chat = {"content": '[{"role": "user", "content": "Hello"}]', "params": {"name": "hut.json"}}
    assert require(ana.post("/v1/import", **chat))["messages"] == 1
    assert "hut" in [each["id"] for each in require(ana.get("/v1/conversations"))]
    told = require_problem(ben.post("/v1/import", content=file.content), 422)
    assert "belongs to another user" in told["detail"]


def test_administration_needs_its_scope(served, ana, root):
    """Who may write may not look at others; who may administer makes and revokes tokens."""
    for method, path in (("GET", "users"), ("GET", "tokens"), ("GET", "doctor"), ("GET", "verify")):
        require_problem(ana.request(method, f"/v1/admin/{path}"), 403)
        require(root.request(method, f"/v1/admin/{path}"))
    made = require(root.post("/v1/admin/tokens", json={"user": "dora", "days": 1}), 201)
    with served.client(made["token"]) as dora:
        require(dora.post("/v1/records", json={"content": "Dora was here"}), 201)
        assert "dora" in [each["name"] for each in require(root.get("/v1/admin/users"))]
        require(root.delete("/v1/admin/users/dora"))
        require_problem(dora.get("/v1/records"), 401)
    again = require(root.post("/v1/admin/tokens", json={"user": "dora", "scope": "read"}), 201)
    assert require(root.delete(f"/v1/admin/tokens/{again['id']}"))["user"] == "dora"
    require_problem(root.delete(f"/v1/admin/tokens/{again['id']}"), 404)
    assert require(root.post("/v1/admin/rebuild")) == []


def test_capabilities_tell_what_there_is(ana, served):
    """Of the caller, of what may be asked and of what is told."""
    told = require(ana.get("/v1/capabilities"))
    assert (told["user"], told["scope"], told["mcp"]) == ("ana", "write", "/mcp")
    assert told["limits"]["body_size"] == served.memory.settings.http.body_size
    assert {"fact", "item"} <= {*told["kinds"]}


def test_figures_of_the_process(ana):
    """Answers are counted by route and status; no path, id or user is told."""
    made = require(ana.post("/v1/records", json={"content": "Counted"}), 201)
    require(ana.get(f"/v1/records/{made['id']}"))
    ana.request("BREW", "/v1/records")
    told = ana.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain")
    counts = 'memoranda_request_seconds_count{route="GET /v1/records/{id:path}",status="200"}'
    assert counts in told.text
    assert made["id"] not in told.text
    assert "BREW" not in told.text


def test_the_document_has_an_example_of_every_body(ana):
    """A reader sees what to send; an operation says what it does, and how problems look."""
    document = require(ana.get("/openapi.json"))
    assert document["security"] == [{"token": []}]
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            where = f"{method} {path}"
            assert told["summary"], where
            if path.startswith("/v1"):
                assert "application/problem+json" in told["responses"]["4XX"]["content"], where
            for kind, content in told.get("requestBody", {}).get("content", {}).items():
                names = re.findall(r"schemas/(\w+)", str(content))
                parts = content, *(document["components"]["schemas"][name] for name in names)
                assert "example" in str(parts) or kind == "application/octet-stream", where

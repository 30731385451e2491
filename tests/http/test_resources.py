"""Each resource answers as the verb of Memory does that it stands for."""

import re

import pytest
from http_server import require_problem, serving


@pytest.fixture(scope="module")
def root(served):
    """A client that may do all there is."""
    with served.client(served.token("root", "admin")) as client:
        yield client


def require(answer, status=200):
    """Require a status; return the document, if there is one."""
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def test_searching_and_recalling(ana):
    """Hits come best first, with reasons where they were asked for; recall is fenced."""
    require(ana.post("/v1/records", json={"content": "Ana is allergic to nuts"}), 201)
    asked = {"query": "what is she allergic to?", "limit": 1}
    (hit,) = require(ana.post("/v1/search", json=asked))
    assert "nuts" in hit["content"]
    assert "why" not in hit
    (hit,) = require(ana.post("/v1/search", json=asked | {"why": True}))
    assert hit["why"]["arms"]
    block = require(ana.post("/v1/recall", json={"prompt": "Cook for Ana, no nuts?"}))
    assert block["ids"]


def test_items_and_the_context_of_the_day(ana):
    """One value a key: the next takes its place."""
    address = {"kind": "item", "namespace": ["app", "theme"], "key": "colour"}
    first, second = (
        require(ana.post("/v1/records", json={"content": text, **address}), 201)
        for text in ("dark", "light")
    )
    assert first["id"] == second["id"]
    where = {"namespace": ["app", "theme"], "key": "colour"}
    assert require(ana.get("/v1/items", params=where))["content"] == "light"
    assert ["app"] in require(ana.get("/v1/namespaces", params={"depth": 1}))
    require(ana.delete("/v1/items", params=where))
    require_problem(ana.get("/v1/items", params=where), 404)
    require(ana.put("/v1/context/mood/today", json={"value": "cheerful"}))
    assert require(ana.get("/v1/context/mood/today")) == {"value": "cheerful"}
    assert require(ana.get("/v1/context/nothing")) == {"value": None}


def test_entities_and_facts(ana):
    """Who is spoken of, and where a fact comes from."""
    made = require(ana.post("/v1/records", json={"content": "Maria Silva lives in Porto"}), 201)
    profile = require(ana.get("/v1/entities/Maria Silva"))
    assert made["id"] in [each["id"] for each in profile["records"]]
    names = [each["name"] for each in require(ana.get("/v1/entities"))]
    assert {"Maria Silva", "Porto"} <= {*names}
    require_problem(ana.get("/v1/entities/Nobody Atall"), 404)
    facts = require(ana.post("/v1/facts/search", json={"query": "Maria Silva"}))
    assert facts[0]["record"]["id"] == made["id"]
    assert require(ana.get(f"/v1/facts/{made['id']}"))["fact"]["state"] == "believed"
    require(ana.post("/v1/records", json={"content": "Maria S. called"}), 201)


def test_upkeep_and_how_the_memory_is(ana):
    """Each stage runs dry; figures tell nothing of the machine."""
    for stage in ("expire", "decay", "enrich", "reflect", "derive"):
        done = require(ana.post(f"/v1/stages/{stage}", json={"dry_run": True}))
        assert (done["stage"], done["dry_run"]) == (stage, True)
    assert require(ana.post("/v1/maintain", json={"stages": ["decay"], "dry_run": True}))["stages"]
    require_problem(ana.post("/v1/maintain", json={"stages": ["sweep"]}), 422)
    figures = require(ana.get("/v1/stats"))
    assert figures["records"]["fact"] > 0
    assert figures["location"] == ""
    for path in ("sessions", "usage", "audit"):
        require(ana.get(f"/v1/{path}"))


def test_notes(tmp_path):
    """MEMORY.md is read and written, and the history told."""
    with serving(tmp_path / "agent.db") as served, served.client(served.token("ana")) as ana:
        require(ana.post("/v1/records", json={"content": "Ana is vegetarian"}), 201)
        text = require(ana.get("/v1/notes/memory"))["text"]
        assert "Ana is vegetarian" in text
        edited = text.replace("Ana is vegetarian", "Ana is vegan")
        assert require(ana.put("/v1/notes/memory", json={"content": edited})) == {"changed": True}
        assert require(ana.get("/v1/records"))["records"][-1]["content"] == "Ana is vegan"
        require(ana.post("/v1/notes/history", json={"entry": "Booked the ferry."}), 201)
        entries = require(ana.get("/v1/notes/history", params={"keyword": "ferry"}))
        assert [each["text"] for each in entries] == ["Booked the ferry."]


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

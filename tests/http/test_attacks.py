"""What attackers try: other users' ids on every route, injections, forged requests."""

import json
import logging
import re
import socket
import zipfile
from io import BytesIO

from http_server import require_problem
from tables import each_row

# What stands for whatever a route names, and the bodies that are needed to get so far.
BODIES = {
    ("patch", "/v1/records/{id}"): {"tags": ["mine"]},
    ("post", "/v1/records/{id}/corrections"): {"content": "Ana hates tea"},
    ("put", "/v1/conversations/{id}/messages/{message}/pin"): {"pinned": True},
    ("post", "/v1/conversations/{id}/replacements"): {"ids": ["{message}"], "messages": []},
    ("post", "/v1/conversations/{id}/expand"): {"marker": "cut_0-0"},
}
# These begin a conversation of the caller's own where there is none of the name.
BEGIN = {
    ("put", "/v1/conversations/{id}"),
    ("post", "/v1/conversations/{id}/messages"),
    ("post", "/v1/conversations/{id}/context"),
}


def test_another_users_ids_are_nowhere(ana, ben):
    """On every route that names something, what is Ana's is not there for Ben, and stays."""
    record = ana.post("/v1/records", json={"content": "Anabel Zimt likes tea"}).json()
    chat = {"messages": [{"role": "user", "content": "Hello there"}]}
    added = ana.post("/v1/conversations/secret/messages", json=chat).json()
    message = added[0]["id"]
    document, tried = ana.get("/openapi.json").json(), 0
    for path, methods in document["paths"].items():
        if "{" not in path or "/admin/" in path or "/tools/" in path or "/stages/" in path:
            continue
        if path.startswith("/v1/context"):
            continue
        name = "secret" if path.startswith("/v1/conversations") else record["id"]
        url = path.replace("{id}", name).replace("{message}", message)
        url = url.replace("{name}", "Anabel Zimt")
        for method in methods:
            if (method, path) in BEGIN:
                continue
            body = BODIES.get((method, path))
            answer = ben.request(method.upper(), url, json=body)
            assert answer.status_code == 404, (method, path, answer.text)
            assert "tea" not in answer.text
            assert not re.search("memoranda |--", answer.text), (method, path, answer.text)
            tried += 1
    assert tried > 20
    assert ana.get(f"/v1/records/{record['id']}").json() == record
    assert ana.get("/v1/conversations/secret/messages").json() == added


@each_row(
    "text",
    [
        "<script>alert(1)</script>",
        "{{ 7 * 7 }} {% include '/etc/passwd' %}",
        "'; DROP TABLE records; --",
        "../../../etc/passwd",
        "line\r\nSet-Cookie: a=b",
        "\u202eevil\u2066",
        "%00%0d%0a",
    ],
)
def test_text_is_text(ana, text):
    """Whatever it looks like, it comes out as it went in, and as nothing else."""
    made = ana.post("/v1/records", json={"content": text, "tags": [text], "metadata": {"a": text}})
    told = made.json()
    assert (told["content"], told["tags"], told["metadata"]) == (text, [text], {"a": text})
    assert made.headers["content-type"] == "application/json"
    assert made.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in made.headers
    found = ana.post("/v1/search", json={"query": text})
    assert found.status_code == 200


@each_row
def test_a_path_leads_nowhere_else(ana, path):
    """Neither out of a route nor to a file of the machine.

    /v1/records/../../etc/passwd
    /v1/records/%2e%2e%2f%2e%2e%2fetc%2fpasswd
    /v1//records//x
    /static/../../../etc/passwd
    /v1/entities/%2e%2e%2f%2e%2e%2fetc%2fpasswd
    /v1/conversations/..%2f..%2fx
    /v1/records/x%00y
    //evil.example/v1/records
    """
    host, port = ana.base_url.host, ana.base_url.port
    token = ana.headers["authorization"]
    head = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: {token}\r\n"
    with socket.create_connection((host, port), 20) as raw, raw.makefile("rb") as answer:
        raw.sendall(f"{head}Connection: close\r\n\r\n".encode())
        told = answer.read().decode()
    assert told.startswith(("HTTP/1.1 404", "HTTP/1.1 422")), told
    assert "root:" not in told


def test_import_reads_no_file_of_the_machine(ana):
    """The name of a file is a name, and never a place."""
    answer = ana.post("/v1/import", content=b"{}", params={"name": "../../etc/passwd"})
    require_problem(answer, 422)
    assert "root:" not in answer.text


def zipped(text):
    """Return a ZIP archive with a text as a file."""
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("mem0.json", text)
    return held.getvalue()


OWN = {"id": "6", "memory": "Ana rows", "user_id": "ana"}
OTHER = {"id": "7", "memory": "Injected", "user_id": "cleo"}
POINT = {"id": "8", "payload": {"data": "Injected", "hash": "h", "user_id": "cleo"}}


@each_row(
    ("name", "content"),
    [
        ("m.json", json.dumps([OTHER])),
        ("m.json", json.dumps({"results": [OTHER, {**OTHER, "agent_id": "poet"}]})),
        ("m.jsonl", json.dumps(POINT)),
        ("m.zip", zipped(json.dumps([OTHER]))),
    ],
)
def test_import_writes_into_no_other_memory(served, ana, name, content):
    """What a file says is another user's is refused, and no such user is made."""
    for scope in ("write", "admin"):
        with served.client(served.token("ana", scope)) as client:
            told = require_problem(
                client.post("/v1/import", content=content, params={"name": name}), 422
            )
            assert told["detail"].startswith(name) or f"; {name}/" in told["detail"]
            assert "it is of the user 'cleo'" in told["detail"]
    assert "cleo" not in served.memory.admin.users()
    assert "Injected" not in ana.get("/v1/notes/memory").text


def test_import_takes_what_is_the_callers_of_a_file_of_several(served, ana):
    """Of several users' memories those of the token come in, and the report names the others."""
    mixed = {"content": json.dumps([OWN, OTHER]), "params": {"name": "m.json", "format": "mem0"}}
    strict = {**mixed, "params": {**mixed["params"], "strict": True}}
    told = require_problem(ana.post("/v1/import", **strict), 422)["detail"]
    assert told.startswith("m.json, item 2: it is of the user 'cleo'")
    report = ana.post("/v1/import", **mixed).json()
    assert (report["users"], report["records"]) == (["ana"], 1)
    assert report["files"][0][0] == "m.json"
    assert report["left_out"][0].startswith("m.json, item 2: it is of the user 'cleo'")
    whole = ana.get("/v1/export").text.replace('"user":"ana"', '"user":"cleo"')
    assert ana.post("/v1/import", content=whole).json()["users"] == ["ana"]
    assert "cleo" not in served.memory.admin.users()


@each_row
def test_a_name_that_no_file_can_have_is_refused(ana, name):
    """It is an error of the request, which says so.

    ..
    a/..
    a%00b
    """
    told = require_problem(ana.post(f"/v1/import?name={name}", content="{}"), 422)
    assert "cannot be the name of a file" in told["detail"]


def test_nothing_that_is_said_is_logged(served, ana, caplog):
    """Not in a request that is answered, nor in one that fails, nor where the server fails."""
    caplog.set_level(logging.DEBUG)
    told = "xylophone quintessence"
    ana.post("/v1/records", json={"content": told})
    ana.post("/v1/search", json={"query": told, "limit": -1})
    ana.get(f"/v1/entities/{told}")

    def fail(*_, **__):
        raise ZeroDivisionError(told)

    store = type(served.memory._services.store)
    kept, store.records = store.records, fail
    try:
        problem = require_problem(ana.get("/v1/records"), 500)
    finally:
        store.records = kept
    assert problem["detail"] == "the memory failed; what went wrong is in the log of the server"
    ours = ("memoranda", "uvicorn.error", "mcp")
    logged = "\n".join(each.getMessage() for each in caplog.records if each.name.startswith(ours))
    assert f"{problem['request_id']} GET /v1/records failed: ZeroDivisionError" in logged
    assert "xylophone" not in logged
    assert ana.headers["authorization"].split()[1] not in logged


def test_what_is_no_route_is_a_problem(ana):
    """An unknown path, and a method that it has not."""
    told = require_problem(ana.get("/v1/nothing"), 404)
    assert told["detail"] == "there is no GET /v1/nothing; see /openapi.json"
    answer = ana.put("/v1/records")
    require_problem(answer, 405)
    assert answer.headers["allow"]

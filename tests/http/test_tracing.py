"""Spans for OpenTelemetry: FastAPI's, MCP's and pydantic-ai's own, without what is remembered."""

import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from bare_environment import bare_environment
from http_server import PATIENCE, started
from model_server import said, server
from typer.testing import CliRunner

from memoranda.cli import app

pytest.importorskip("pydantic_ai", reason="the extra llm is not installed")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="otel is not installed")
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ["server"]
WORD = "Zanzibar"
JSON = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def collector():
    """A collector of spans: its address, and the bodies that it was sent, by path."""
    sent = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent.append((self.path, body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Keep the test's output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}", sent
        listening.shutdown()
        thread.join()


@pytest.mark.slow
def test_spans_name_what_was_done_and_hold_no_content(tmp_path, collector, server):
    """With a collector's address alone: requests, search, tools, consolidation and its model."""
    address, sent = collector
    server.play(said(f"{WORD} is no answer"))
    environment = bare_environment(
        tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=address, MEMORANDA_LLM__MODEL=server.openai
    )
    made = CliRunner().invoke(app, ["token", "create", "--json"], env=environment)
    headers = {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"} | JSON
    said_by_user = [{"role": "user", "content": f"I love {WORD}."}]
    call = {"name": "search_memories", "arguments": {"query": WORD}}
    with (
        started(environment, "--http", "127.0.0.1:0") as (process, url),
        httpx.Client(base_url=url, headers=headers, timeout=PATIENCE, trust_env=False) as client,
    ):
        for path, body in (
            ("/v1/records", {"content": f"{WORD} tea"}),
            ("/v1/search", {"query": WORD}),
            ("/v1/conversations/trip/messages", {"messages": said_by_user}),
            ("/v1/consolidate", {}),
            ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
        ):
            assert client.post(path, json=body).is_success, path
        for path in (f"/v1/entities/{WORD}", f"/search?q={WORD}", f"/nowhere/{WORD}"):
            client.get(path)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    spans = [
        span
        for path, body in sent
        if path == "/v1/traces"
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert {
        "POST /v1/search",
        "POST /v1/consolidate",
        "GET /v1/entities/{name}",
        "tools/call search_memories",
        "chat small",
    } <= {span.name for span in spans}
    assert server.received
    assert not any(WORD.lower() in body.decode("latin-1").lower() for _, body in sent)

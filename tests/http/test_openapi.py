"""The whole OpenAPI document, checked from outside by schemathesis."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from http_server import serving

SECONDS = 25
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance"
)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not installed")
def test_no_answer_is_off_its_schema(tmp_path):
    """Whatever is sent, no operation fails inside, and each answer is of its schema."""
    with serving(tmp_path / "agent.db", http={"rate": 1e6, "body_seconds": 20}) as served:
        served.memory.remember("Ana is vegetarian")
        served.memory.conversation("trip").add("user", "I never fly before nine.")
        token = served.token("ana", "admin")
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{served.url}/openapi.json"]
        options = {
            "-H": f"Authorization: Bearer {token}",
            "--exclude-path": "/v1/events",  # It never ends.
            "--phases": "examples,fuzzing",
            "--max-examples": "3",
            "--checks": CHECKS,
            "--max-time": str(SECONDS),
            "--seed": "1",
        }
        words = [word for option in options.items() for word in option]
        hooks = {"SCHEMATHESIS_HOOKS": str(Path(__file__).with_name("openapi_hooks.py"))}
        done = subprocess.run(  # noqa: S603 - this interpreter
            [*command, *words, "--no-color"],
            env={**os.environ, **hooks},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]

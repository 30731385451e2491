"""Finds the language models that can be used now: of this machine, and by keys in the environment.

Nothing is sent to any other machine, and no model is called.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from memoranda.providers.llm.spec import KEY_VARIABLES, SPEC

# Where Ollama, LM Studio, llama.cpp and vLLM listen unless they are told otherwise.
PORTS = (11434, 1234, 8080, 8000)
EXAMPLES = {"anthropic": "claude-haiku-4-5", "openai": "gpt-5-mini"}
PATIENCE = 0.5  # seconds that a server has to answer
LONGEST = 1_000_000  # bytes of its list


def find_models() -> dict[str, str]:
    """Return the names of models that can be used now, each with whose it is."""
    with ThreadPoolExecutor(len(PORTS)) as threads:
        served = [name for names in threads.map(_served_models, PORTS) for name in names]
    found = dict.fromkeys(served, "on this machine")
    for provider, variable in KEY_VARIABLES.items():
        if os.environ.get(variable):
            found[f"{provider}:{EXAMPLES[provider]}"] = f"example, by {variable}"
    return found


def complete_name(name: str) -> str:
    """Return the whole name of the one model of this machine that ``name`` is a part of.

    Any other is returned as it is.
    """
    if SPEC.fullmatch(name):
        return name
    found = [each for each in find_models() if name in each]
    return found[0] if len(found) == 1 else name


def _served_models(port: int) -> list[str]:
    """Return the names of the models that a server on this machine lists; none without one."""
    # This follows no redirection to another machine.
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as server:
        try:
            server.request("GET", "/v1/models")
            listed = json.loads(server.getresponse().read(LONGEST))["data"]
            names = [f"openai:{each['id']}@http://127.0.0.1:{port}/v1" for each in listed]
        except (OSError, HTTPException, ValueError, RecursionError, LookupError, TypeError):
            return []
    # What makes vectors cannot talk.
    return [name for name in names if SPEC.fullmatch(name) and "embed" not in name]

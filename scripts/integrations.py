"""Run the frameworks' own tests on the integrations: ``make integrations``.

Each framework gets an environment with memoranda and its extra. Its tests come with its source
distribution, in the version that was installed; a plugin of ``scripts/suites`` puts our class in
the place of the framework's own. What is left out stands here with what it is about. Then our own
tests, which compare with the framework's default, and the examples of its page run, and some
operations are timed beside those of the default.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "scripts" / "suites"
ENVIRONMENTS = ROOT / ".venv" / "integrations"
TOOLS = (
    "hypothesis",
    "psutil",
    "pytest",
    "pytest-asyncio",
    "pytest-timeout",
    "pytest-xdist",
    "sybil",
)
PATIENCE = 900  # seconds that a program may take


class Failed(Exception):
    """Something is not as it should be; the message says what."""


@dataclass(frozen=True, kw_only=True)
class Framework:
    """A framework with an integration.

    Attributes:
        package: its distribution.
        tests: of its own, that are about what our class stands in for.
        left_out: words in the names of those that are left out, each with the reason.
    """

    package: str
    tests: Sequence[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


FRAMEWORKS = {
    "anthropic": Framework(
        package="anthropic",
        tests=("tests/lib/tools/memory_tools/test_filesystem.py",),
        left_out={
            "symlink": "a memory has no links",
            "umask": "a memory has no folders with rights",
            "too_many_lines": "a file has at most 100,000 bytes, so no million lines",
        },
    ),
    "pydantic_ai_harness": Framework(
        package="pydantic-ai-harness",
        tests=("tests/memory/test_stores.py",),
        left_out={
            **dict.fromkeys(("[1]", "-1]", "file_store"), "about another store of the harness"),
            **dict.fromkeys(
                ("[2]", "-2]", "sqlite", "postgres"), "about another store of the harness"
            ),
            "files_view": "AsyncMemory.files shows the files",
        },
    ),
    "agent_framework": Framework(package="agent-framework-core"),
    "crewai": Framework(
        package="crewai",
        tests=(
            "tests/memory/test_unified_memory.py",
            "tests/memory/test_memory_root_scope.py",
            "tests/memory/test_lancedb_update.py",
        ),
        left_out={
            "serialization_failure": "metadata with times and sets, which a memory keeps as JSON",
            "exceeding_scan_cap": "52,000 records, more than a search through all vectors is for",
        },
    ),
    "deepagents": Framework(package="deepagents"),
    "google_adk": Framework(package="google-adk"),
    "hermes_agent": Framework(package="hermes-agent"),
    "langchain": Framework(package="langchain"),
    "langgraph": Framework(
        package="langgraph-checkpoint-sqlite",
        tests=("tests/test_store.py", "tests/test_async_store.py", "tests/test_ttl.py"),
        left_out={
            **dict.fromkeys(("scores", "embed_with_path"), "cosines, where ours joins arms"),
            **dict.fromkeys(
                ("initialization", "migrations", "no_running_loop", "sweeper"),
                "what is inside the store on SQLite",
            ),
            **dict.fromkeys(
                ("sql_injection", "numeric_filter", "hyphens"),
                "filters with dotted paths, NaN or odd keys, which a memory has not",
            ),
        },
    ),
    "llama_index": Framework(package="llama-index-core"),
    "mem0": Framework(package="mem0ai"),
    "mif": Framework(package="mif-tools[validate]"),
    "openai_agents": Framework(
        package="openai-agents",
        tests=(
            "tests/memory/test_session.py",
            "tests/memory/test_session_limit.py",
            "tests/memory/test_openai_responses_compaction_session.py",
            "tests/deferred_session_writes",
            "tests/test_hitl_session_scenario.py",
            "tests/test_max_turns.py",
            "tests/test_run_impl_resume_paths.py",
            "tests/test_run_state_pending_input.py",
            "tests/test_runner_guardrail_resume.py",
        ),
        left_out=dict.fromkeys(
            (
                "connection",
                "corrupt",
                "write_lock",
                "file_lock",
                "rolls_back",
                "post_commit",
                "closed_rejects",
                "rollback_budget",
                "invalidates_response_chain",
                "cancelled_compaction_commits",
                "cancelled_again_during_restore",
            ),
            "what is inside the sessions of the SDK",
        )
        | {"expired_during_compaction": "items of EncryptedSession, which a memory does not take"},
    ),
    "pydantic_ai": Framework(package="pydantic-ai-slim"),
    "strands_agents": Framework(
        package="strands-agents",
        tests=("tests/strands/vended_memory_stores/test_memory_store/test_store.py",),
        left_out={
            **dict.fromkeys(
                ("camelcase", "javascript", "clear_error", "null_metadata", "sanitized_path"),
                "what stands in the file of the store",
            ),
            **dict.fromkeys(
                ("explicit_path", "event_loops", "id_generator"), "what is inside the store"
            ),
            **dict.fromkeys(
                ("empty_content", "below_one", "name_is_empty"), "the words of an error"
            ),
            "relevance_score": "counts of words, where ours has scores",
        },
    ),
}


def run(command: Sequence[str | Path], **named: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; return what it said."""
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, **named
    )


def install(name: str, package: str, version: str | None) -> Path:
    """Return the interpreter of an environment with a framework, by default in its newest version.

    Raises:
        Failed: it cannot be installed.
    """
    folder = ENVIRONMENTS / name
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    pin = f"{package}=={version}" if version else package
    wanted = ("--upgrade", "--editable", f"{ROOT}[{name},postgres]", pin, *TOOLS)
    done = run([python, "-m", "pip", "install", "--quiet", *wanted])
    if done.returncode != 0:
        raise Failed(f"{name} could not be installed:\n{done.stderr}")
    return python


def fetch(python: Path, framework: Framework, folder: Path) -> Path:
    """Return the unpacked source distribution of what is installed.

    Raises:
        Failed: it cannot be had.
    """
    asked = f"from importlib.metadata import version; print(version({framework.package!r}))"
    named = f"{framework.package}=={run([python, '-c', asked]).stdout.strip()}"
    only = ("--no-deps", "--no-binary", framework.package, "--dest", folder)
    done = run([python, "-m", "pip", "download", "--quiet", *only, named])
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        raise Failed(f"{named} has no source distribution:\n{done.stderr}")
    shutil.unpack_archive(archives[0], folder / "sources", filter="data")
    return next((folder / "sources").iterdir())


def pytest(python: Path, *arguments: str | Path, **named: Any) -> dict[str, int]:
    """Run tests; return how many passed, failed, were deselected and so on.

    Raises:
        Failed: one failed, or none passed.
    """
    done = run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], **named)
    last = done.stdout.strip().rpartition("\n")[2]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", last)}
    if done.returncode != 0 or not counts.get("passed"):
        raise Failed(f"{done.stdout[-4000:]}{done.stderr[-2000:]}")
    return counts


def run_suite(name: str, python: Path, folder: Path, sources: Path | None) -> str:
    """Run a framework's own tests on our class; return what came of it."""
    framework = FRAMEWORKS[name]
    sources = sources or fetch(python, framework, folder)
    if not all((sources / path).exists() for path in framework.tests):
        return "its source distribution has no tests; name a folder that has them with --sources"
    settings = folder / "pytest.ini"
    lines = ["[pytest]", "asyncio_mode = auto", "addopts = --import-mode=importlib --noconftest"]
    settings.write_text("\n".join(lines), "utf-8")
    chosen = " and ".join(f"not {word}" for word in framework.left_out)
    arguments = ("-c", settings, "--rootdir", sources, "-p", f"suites.{name}", "-k", chosen)
    environ = {"PYTHONPATH": str(PLUGINS.parent), "PATH": "/usr/bin:/bin"}
    counts = pytest(python, *arguments, *framework.tests, cwd=sources, env=environ)
    left_out = counts.get("deselected", 0)
    shown = f"{counts['passed']} of its {counts['passed'] + left_out} tests passed"
    return f"{shown}, {left_out} left out: {'; '.join(dict.fromkeys(framework.left_out.values()))}"


def time_operations(name: str, python: Path) -> str:
    """Return how fast some operations are, beside those of the default.

    Raises:
        Failed: one of them failed.
    """
    if not (PLUGINS / f"{name}.py").exists():
        return ""
    done = run([python, "-m", "suites", name], cwd=PLUGINS.parent)
    if done.returncode != 0:
        raise Failed(done.stderr)
    return done.stdout


def main() -> int:
    """Run all frameworks, or those that are named; return 0 if all is as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(FRAMEWORKS))
    parser.add_argument("--version", help="of the one framework that is named")
    parser.add_argument(
        "--sources", type=Path, help="its sources, where its source distribution has no tests"
    )
    given = parser.parse_args()
    failed = 0
    for name in given.names:
        try:
            python = install(name, FRAMEWORKS[name].package, given.version)
            if FRAMEWORKS[name].tests:
                with TemporaryDirectory(prefix=f"memoranda-{name}-") as place:
                    print(f"{name}: {run_suite(name, python, Path(place), given.sources)}")
            pages = (f"tests/integrations/test_{name}.py", f"docs/integrations/{name}.md")
            own = pytest(python, "-p", "no:asyncio", *pages, cwd=ROOT)
            print(f"{name}: {own['passed']} tests of our own and examples passed")
            print(time_operations(name, python), end="")
        except Failed as problem:
            print(f"{name}: {problem}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""How a model is named, and which key it gets."""

import pytest
from bare_environment import run_python
from tables import each_row

from memoranda.errors import ConfigError
from memoranda.providers.llm.spec import ModelConnection, parse_spec, require_key
from memoranda.providers.opening import open_language_model
from memoranda.settings.sections import LLMSettings


@each_row(
    ("text", "spec"),
    [
        ("anthropic:claude-haiku-4-5", ModelConnection("anthropic", "claude-haiku-4-5")),
        (" OpenAI:gpt-5 ", ModelConnection("openai", "gpt-5")),
        (
            "openai:qwen3:8b@http://127.0.0.1:11434/v1/",
            ModelConnection("openai", "qwen3:8b", "http://127.0.0.1:11434/v1"),
        ),
        ("openai:org/model@main", ModelConnection("openai", "org/model@main")),
        (
            "openai:org/model@main@https://models.example/v1",
            ModelConnection("openai", "org/model@main", "https://models.example/v1"),
        ),
        ("anthropic:m@http://[::1]:80", ModelConnection("anthropic", "m", "http://[::1]:80")),
    ],
)
def test_the_forms_are_read(text, spec):
    """Each documented form, with names that hold colons and at signs, comes back as it went in."""
    assert parse_spec(text) == spec
    assert parse_spec(str(spec)) == spec


@each_row(
    "text",
    [
        "",
        "gpt-5",
        "mistral:small",
        "openai:",
        "openai:@http://h/v1",
        "openai:a b",
        "openai:m@ftp://h/v1",
        "openai:http://h/v1",
        "openai:m@http://",
        "openai:m@http://h:port/v1",
        "openai:m@http://[::1",
        "openai:m@http://h/v1?key=1",
        "openai:m@http://h/v1#x",
        "openai:m@http://h v1",
    ],
)
def test_other_forms_are_refused_with_a_remedy(text):
    """The error shows what was written and a form that works."""
    with pytest.raises(ConfigError, match="NAME") as caught:
        parse_spec(text)
    assert (text.partition("@")[2] or text) in str(caught.value)


def test_a_password_in_the_url_is_refused_and_not_shown():
    """A spec is shown and logged, so it can hold no secret."""
    with pytest.raises(ConfigError, match="api_key") as caught:
        parse_spec("openai:m@http://ana:hunter2@h/v1")
    assert "hunter2" not in str(caught.value)


def test_a_public_model_needs_a_key_and_a_server_by_url_gets_only_its_own(monkeypatch):
    """Without one, the error names the variable, the setting and the way without."""
    for provider, variable in (("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")):
        with pytest.raises(ConfigError, match=f"{variable}.*llm.api_key.*no model"):
            open_language_model(LLMSettings(), f"{provider}:some")
        monkeypatch.setenv(variable, "k")
        for url, key in ((None, "k"), ("http://h/v1", None)):
            for own, sent in ((None, key), ("mine", "mine")):
                require_key(to := ModelConnection(provider, "some", url, own))
                assert to.key == sent


def test_opening_loads_nothing_heavy():
    """A process that opens a model and does not ask it waits for no library, and sends nothing."""
    program = (
        "import sys; from memoranda.providers.opening import open_language_model; "
        "from memoranda.settings.sections import LLMSettings; "
        "print(open_language_model(LLMSettings(), 'openai:m@http://127.0.0.1:9/v1').name); "
        "print(sorted({'pydantic_ai', 'openai', 'anthropic', 'httpx2'} & set(sys.modules)))"
    )
    run = run_python("-c", program)
    assert run.stdout.split() == ["openai:m@http://127.0.0.1:9/v1", "[]"], run.stderr


def test_it_is_a_language_model():
    """The port's names are there."""
    model = open_language_model(LLMSettings(), "anthropic:m@http://127.0.0.1:9")
    assert model.name == "anthropic:m@http://127.0.0.1:9"
    assert "key" not in repr(model)

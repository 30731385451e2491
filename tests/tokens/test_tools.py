"""What definitions of tools cost: by the recipes that providers publish, in any of their forms."""

import json
from dataclasses import replace

import pytest

from memoranda import Memory, Settings
from memoranda.errors import InvalidInput
from memoranda.model.chat import ToolSpec
from memoranda.tokens.catalog import OTHERS, Catalog

# The example of OpenAI's cookbook, and the prompt tokens that its API counted.
MESSAGES = (
    "You are a helpful assistant that can answer to questions about the weather.",
    "What's the weather like in San Francisco?",
)
WEATHER = {
    "name": "get_current_weather",
    "description": "Get the current weather in a given location",
    "parameters": {
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "description": "The city and state, e.g. San Francisco, CA",
            },
            "unit": {
                "type": "string",
                "description": "The unit of temperature to return",
                "enum": ["celsius", "fahrenheit"],
            },
        },
        "required": ["location"],
    },
}
BILLED = {"gpt-3.5-turbo": 105, "gpt-4": 105, "gpt-4o": 101, "gpt-4o-mini": 101}


def test_openai_counts_tools_as_its_cookbook_says():
    """Messages and tools together are what the API billed for the example there."""
    pytest.importorskip("rs_bpe.bpe", reason="rs_bpe has no wheels for this Python")
    counted = {}
    for model in BILLED:
        meter = Catalog().meter(model)
        counted[model] = sum(map(meter.message, MESSAGES)) + meter.format.reply
        counted[model] += meter.tools([{"type": "function", "function": WEATHER}])
    assert counted == BILLED


def test_anthropic_adds_a_system_prompt_of_known_length():
    """Once, however many tools there are, and beside their schemas; it depends on the model."""
    schema = {**WEATHER, "input_schema": WEATHER["parameters"]}
    del schema["parameters"]
    for model, prompt in {
        "claude-sonnet-4-5": 346,
        "claude-3-5-haiku-latest": 264,
        "claude-3-opus-20240229": 530,
    }.items():
        meter = Catalog().meter(model)
        written = meter.counter.count(json.dumps(schema))
        assert meter.tools([schema]) == prompt + written
        assert meter.tools([schema, schema]) == prompt + 2 * written


def test_others_read_tools_as_json():
    """Of a model whose recipe is not known nothing is made up."""
    meter = Catalog().meter("qwen3:8b")
    assert meter.tools([WEATHER]) == meter.counter.count(json.dumps(WEATHER))


def test_no_tools_cost_nothing():
    """Nor does a provider add its prompt then."""
    for model in ("gpt-4o", "claude-sonnet-4-5", None):
        assert Catalog().meter(model).tools([]) == 0


def test_the_form_of_a_definition_changes_nothing():
    """For OpenAI: chat completions, responses, Anthropic's form, and specifications of ours."""
    meter = Catalog().meter("gpt-4o")
    anthropic = {name: WEATHER[name] for name in ("name", "description")}
    forms = [
        {"type": "function", "function": WEATHER},
        {"type": "function", **WEATHER},
        anthropic | {"input_schema": WEATHER["parameters"]},
        ToolSpec(**WEATHER),
    ]
    assert len({meter.tools([form]) for form in forms}) == 1


def test_what_the_recipe_does_not_know_counts_too():
    """Arguments inside of others, schemas without type or description, tools of the provider."""
    meter = Catalog().meter("gpt-4o")
    inner = {"type": "string", "description": "Words."}
    arguments = (
        True,
        {},
        {"type": ["string", "null"], "enum": [1, None]},
        {"type": "object", "properties": {"b": inner}},
        {"type": "array", "items": {"properties": {"b": inner, "c": inner}}},
    )
    tokens = [
        meter.tools([{"name": "f", "parameters": {"properties": {"a": argument}}}])
        for argument in arguments
    ]
    assert tokens[0] == tokens[1] > meter.tools([{"name": "f"}])
    assert tokens[1:] == sorted({*tokens[1:]})
    assert meter.tools([{"type": "web_search"}]) > 12
    with pytest.raises(InvalidInput, match="a tool must be plain JSON"):
        meter.tools([{"name": "f", "parameters": {"a": float("nan")}}])
    for wrong, message in (("search", "tools must be a list"), (["search"], "'search'")):
        with pytest.raises(InvalidInput, match=message):
            meter.tools(wrong)


def test_the_tools_of_memory_cost_what_openai_bills():
    """The ten of them: half of what their JSON would be."""
    with Memory(":memory:", settings=Settings(embedding={"model": "none"})) as memory:
        tools = [tool.openai() for tool in memory.tools()]
    meter = Catalog().meter("gpt-4o")
    as_json = replace(meter, format=OTHERS)
    assert meter.tools(tools) == pytest.approx(as_json.tools(tools) / 2, rel=0.1)

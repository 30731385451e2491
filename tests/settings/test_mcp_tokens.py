"""The settings of the MCP server: tokens and whom they stand for."""

import pytest

from memoranda import Settings, errors
from memoranda.settings.sections import users_by_token

ONE, TWO = "0123456789abcdef", "fedcba9876543210=="


@pytest.mark.parametrize("given", [f"{ONE}=ana, {TWO}=ben", {ONE: "ana", TWO: "ben"}])
def test_tokens_are_a_text_or_a_mapping(given):
    """Each token has its user, and may itself hold ``=``; none is ever shown."""
    settings = Settings(mcp={"tokens": given})
    assert users_by_token(settings.mcp.tokens) == {ONE: "ana", TWO: "ben"}
    assert ONE not in repr(settings)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (ONE, "entry 1 of 1 is no token with its user"),
        (f"{ONE}=", "entry 1 of 1 is no token with its user"),
        (f"{ONE}=ana,", "entry 2 of 2 is no token with its user"),
        ("short-secret=ana", "the token of entry 1 has 12 characters; use 16 or more"),
        (f"{ONE}é=ana", "of plain ASCII"),
        (f"{ONE}=ana, {ONE}=ben", "the token of entry 2 stands twice"),
    ],
)
def test_wrong_tokens_are_told_but_not_shown(given, problem):
    """The message names the entry and the remedy, and no token."""
    with pytest.raises(errors.ConfigError, match=problem) as caught:
        Settings(mcp={"tokens": given})
    assert ONE not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_tokens_are_none(blank):
    """A variable that is set to nothing asks for no tokens."""
    assert Settings(mcp={"tokens": blank}).mcp.tokens is None

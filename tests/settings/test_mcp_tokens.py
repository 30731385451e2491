"""The settings of the MCP server: tokens and whom they stand for."""

import pytest

from memoranda import Settings, errors
from memoranda.settings.sections import users_by_token

ONE, TWO = "0123456789abcdef", "fedcba9876543210=="


def test_tokens_are_a_text_or_a_mapping():
    """Each token has its user, and may itself hold ``=``; none is ever shown; blank is none."""
    for given in (f"{ONE}=ana, {TWO}=ben", {ONE: "ana", TWO: "ben"}):
        settings = Settings(mcp={"tokens": given})
        assert users_by_token(settings.mcp.tokens) == {ONE: "ana", TWO: "ben"}
        assert ONE not in repr(settings)
    for blank in ("", "  "):
        assert Settings(mcp={"tokens": blank}).mcp.tokens is None


def test_wrong_tokens_are_told_but_not_shown(subtests):
    """The message names the entry and the remedy, and no token."""
    for given, problem in [
        (ONE, "entry 1 of 1 is no token with its user"),
        (f"{ONE}=", "entry 1 of 1 is no token with its user"),
        (f"{ONE}=ana,", "entry 2 of 2 is no token with its user"),
        ("short-secret=ana", "the token of entry 1 has 12 characters; use 16 or more"),
        (f"{ONE}é=ana", "of plain ASCII"),
        (f"{ONE}=ana, {ONE}=ben", "the token of entry 2 stands twice"),
    ]:
        with subtests.test(problem):
            with pytest.raises(errors.ConfigError, match=problem) as caught:
                Settings(mcp={"tokens": given})
            assert ONE not in str(caught.value)
            assert "secret" not in str(caught.value)

"""The command ``token``: who may reach a store over HTTP, and what for."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from memoranda.cli.command import CommandGroup, Session, command, make_group
from memoranda.errors import InvalidInput
from memoranda.model.tokens import ApiToken, TokenScope
from memoranda.rendering.forms import form_of
from memoranda.rendering.layout import Column, Display, safe_text
from memoranda.rendering.plain import one_line
from memoranda.serving.tokens import TokenService
from memoranda.settings.parsing import parse_span


def _ends(token: ApiToken, view: Display) -> str:
    return "never" if token.expires_at is None else view.minute(token.expires_at)


TOKENS = (
    Column("token", "id", whole=True),
    Column("user", "user", "bold"),
    Column("scope", "scope"),
    Column("made", "created_at", "dim", whole=True),
    Column("expires", _ends, whole=True),
)


class TokenGroup(CommandGroup):
    """Make, list and revoke the tokens with which programs reach a memory over HTTP.

    Examples:
        memoranda token create --user ana --scope write --expires 90d
        memoranda token list
        memoranda token revoke tok_01KB6W3V8Q
    """

    default = "list"


commands = typer.Typer()
group = make_group(commands, "token", TokenGroup)


@command(group, "create")
def create(
    session: Session,
    *,
    scope: Annotated[
        TokenScope,
        Option(help="read; write: also store, change and forget; admin: also other users."),
    ] = TokenScope.WRITE,
    expires: Annotated[
        str | None, Option(metavar="SPAN", help="How long it is valid, such as 90d; else for ever.")
    ] = None,
) -> None:
    """Make a token that opens the memory of one user, and print it: it is shown this once.

    Examples:
        memoranda token create --user ana
        memoranda token create --user ana --scope read --expires 90d
    """
    try:
        span = None if expires is None else parse_span(expires)
    except ValueError as error:
        raise InvalidInput(f"--expires={error}") from error
    text, token = TokenService.of(session.memory(writes=True)).create(session.user, scope, span)
    session.show({"token": text, **form_of(token)}, safe_text(text))
    ends = f"until {_ends(token, session.view)}" if token.expires_at else "until it is revoked"
    session.note(f"{token.id}: {scope} for {one_line(token.user)}, {ends}; it is not shown again")


@command(group, "list")
def list_(session: Session) -> None:
    """List the tokens of all users; none of their texts is kept.

    Examples:
        memoranda token list --json
    """
    found = TokenService.of(session.memory(all_users=True)).all()
    session.show_table(found, TOKENS, "no tokens")


@command(group, "revoke")
def revoke(session: Session, id: Annotated[str, Argument(help="The token's id.")]) -> None:
    """Let a token open nothing from now on.

    Examples:
        memoranda token revoke tok_01KB6W3V8Q
    """
    token = TokenService.of(session.memory(all_users=True)).revoke(id)
    session.show(token, safe_text(f"revoked {token.id} of {one_line(token.user)}"))

"""Commands on the users of a store: for whoever administers it."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from memoranda.cli import options
from memoranda.cli.command import CommandGroup, Session, command, make_group
from memoranda.rendering.layout import Column, table
from memoranda.rendering.plain import one_line

commands = typer.Typer()
USERS = (
    Column("user", "name", "bold"),
    Column("records", "records", number=True),
    Column("conversations", "conversations", number=True),
)


class UsersGroup(CommandGroup):
    """List the users of a store with what they have, or delete one.

    Examples:
        memoranda users
        memoranda users delete ana --yes
    """

    default = "list"


users = make_group(commands, "users", UsersGroup)


@command(users, "list")
def list_(session: Session) -> None:
    """List the users that have a record or a conversation.

    Examples:
        memoranda users list --json
    """
    found = session.memory(all_users=True).admin.overviews()
    session.show(found, table(found, USERS, session.view, empty="no users"))


@command(users, "delete")
def delete(
    session: Session,
    name: Annotated[str, Argument(help="The user.")],
    *,
    keep_texts: Annotated[
        bool, Option("--keep-texts", help="Only forget what they have; history and as-of know it.")
    ] = False,
    yes: options.Yes = False,
) -> None:
    """Delete a user with everything they have, their notes included.

    Programs that have the user's memory open get an error from then on.

    Examples:
        memoranda users delete ana
        memoranda users delete ana --yes
    """
    admin = session.memory(all_users=True).admin
    end = "" if keep_texts else " for good"
    question = f"Delete user {one_line(name)} and everything they have{end}?"
    session.require_yes(question, "nobody was deleted", yes=yes)
    session.show_erasure(admin.delete_user(name, erase=not keep_texts), f"deleted {name}")

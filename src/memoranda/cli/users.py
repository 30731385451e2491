"""Commands on the users of a store: for whoever administers it."""

from __future__ import annotations

import typer

from memoranda.cli.command import CommandGroup, Session, command, make_group
from memoranda.rendering.layout import Column, safe_text, table
from memoranda.rendering.plain import one_line
from memoranda.rendering.records import list_erased, warn_of_rest

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


def list_(session: Session) -> None:
    """List the users that have a record or a conversation.

    Examples:
        memoranda users list --json
    """
    found = session.memory(all_users=True).admin.overviews()
    session.show(found, table(found, USERS, session.view, empty="no users"))


users = make_group(commands, "users", UsersGroup, list_)
command(users, "list")(list_)


@command(users, "delete", name={"metavar": "NAME"}, keep_texts={"flags": ("--keep-texts",)})
def delete(session: Session, *, name: str, keep_texts: bool = False, yes: bool = False) -> None:
    """Delete a user with everything they have, their notes included.

    Programs that have the user's memory open get an error from then on.

    Args:
        name: The user.
        keep_texts: Only forget what they have; history and as-of still know it.
        yes: Do not ask.

    Examples:
        memoranda users delete ana
        memoranda users delete ana --yes
    """
    admin = session.memory(all_users=True).admin
    end = "" if keep_texts else " for good"
    question = f"Delete user {one_line(name)} and everything they have{end}?"
    session.require_yes(question, "nobody was deleted", yes=yes)
    receipt = admin.delete_user(name, erase=not keep_texts)
    parts = [f"deleted {one_line(name)}", *list_erased(receipt)]
    session.show(receipt, safe_text(", ".join(parts)))
    for each in warn_of_rest(receipt):
        session.warn(each)

"""Row level security on PostgreSQL: a role whose transactions see and touch the rows of one user.

The setting ``storage.role`` names it. Each transaction of a user takes that role and says whose it
is, and policies limit it to the rows of that user, whatever a statement asks for. All of it ends
with the transaction: a pooler may give the next one another session.

Work on the whole store (leases, upkeep, checks) stays with the role that logged in, where that owns
the tables. A process that logged in as the limited role, or as another that may take it, says that
such work is of all users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memoranda.errors import ConfigError
from memoranda.model.models import Scope
from memoranda.store.sql.database import SqlConnection
from memoranda.store.sql.rows import dump
from memoranda.store.sql.transaction import name_digest

# The role that logged in.
NO_ROLE = "none"
POLICY = "rows_of_user"
# What a transaction says of itself: empty, where it says nothing and another one did before it.
SETTING = "(SELECT nullif(current_setting('memoranda.{}', TRUE), ''))"
# As a case, as the planner takes it for half of all rows. It would take an equation for as few as
# are a user's, once more than the statement says already.
OWN = (
    f"CASE WHEN {SETTING.format('all_users')} = 'on' THEN TRUE "
    f"ELSE {{}} = (SELECT CAST({SETTING.format('user_key')} AS bigint)) END"
)
# A user is known by the name, or what is left of one, before the key is.
OWN_USER = (
    f"{OWN.format('key')} OR name = {SETTING.format('user')} OR digest = {SETTING.format('digest')}"
)
ENTER = """
SELECT set_config('search_path', :path, TRUE), set_config('role', :role, TRUE),
    set_config('memoranda.user', :user, TRUE), set_config('memoranda.digest', :digest, TRUE),
    set_config('memoranda.all_users', :all, TRUE)
"""
LIMIT = """
SELECT set_config('memoranda.user_key', CAST(coalesce(
    (SELECT key FROM users WHERE name = :user), (SELECT key FROM users WHERE digest = :digest)
) AS text), TRUE)
"""
ADMIT = "SELECT set_config('memoranda.user_key', :key, TRUE)"
LOGIN = """
SELECT array_to_string(ARRAY(SELECT quote_ident(name) FROM unnest(current_schemas(FALSE)) name),
    ', '), quote_ident(current_schema()), quote_ident(current_user), current_user = :role,
    to_regprocedure('terms_matching(bigint, tsquery)') IS NOT NULL
"""
ROLE = """
SELECT r.rolsuper, r.rolbypassrls, pg_has_role(r.oid, c.relowner, 'USAGE'),
    pg_has_role(r.oid, 'SET'), pg_has_role(c.relowner, 'USAGE'), quote_ident(r.rolname)
FROM pg_roles r, pg_class c WHERE r.rolname = :role AND c.oid = CAST('records' AS regclass)
"""
# Tables and sequences of the memory: whether their rows are of users, and what they lack.
OBJECTS = """
SELECT c.relname, c.relkind = 'S', c.relname = 'users' OR EXISTS (
        SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'user_key'),
    c.relrowsecurity AND EXISTS (
        SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = :policy),
    CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(:role, c.oid, 'USAGE')
        ELSE has_table_privilege(:role, c.oid, 'DELETE') END
FROM pg_class c JOIN pg_class r ON r.oid = CAST('records' AS regclass)
    AND r.relnamespace = c.relnamespace AND r.relowner = c.relowner
WHERE c.relkind = 'S' OR (c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND (c.relname IN (@texts(:tables)) OR c.relname ~ '^nearest_[0-9]+$'))
"""
MATCHING = "terms_matching(bigint, tsquery)"
# An operator that could tell what it compares uses no index below a policy. So the owner looks the
# terms up, among the same rows.
CREATE_MATCHING = f"""
CREATE OR REPLACE FUNCTION terms_matching(whose bigint, query tsquery)
RETURNS TABLE (record_key bigint, terms tsvector) LANGUAGE sql STABLE SECURITY DEFINER
BEGIN ATOMIC
    SELECT t.record_key, t.terms FROM record_terms t
    WHERE t.terms @@ query AND t.user_key = whose AND ({OWN.format("t.user_key")});
END
"""


class RowSecurity(NamedTuple):
    """How the transactions of a database are limited to the rows of a user.

    Attributes:
        role: the limited role, quoted.
        taken: the role that a transaction takes; ``none`` where that has logged in itself.
        path: the search path of who logged in.
        whole: whether who logged in sees all rows: owns the tables.
    """

    role: str
    taken: str
    path: str
    whole: bool

    def entry(self, scope: Scope | None) -> dict[str, str] | None:
        """Return what a transaction says of itself before all else; ``None`` if nothing.

        Args:
            scope: whose it is; ``None`` is the store's own.
        """
        if scope is None and self.whole:
            return None
        user, digest = ("", "") if scope is None else (scope.user, name_digest(scope.user))
        every = "on" if scope is None else "off"
        told = {"path": self.path, "role": self.taken, "all": every}
        return told | {"user": user, "digest": digest}

    def protect(self, connection: SqlConnection, table: str, *, of_users: bool = True) -> None:
        """Let the role use a table; of one with rows of users, only those of one at a time."""
        connection.run(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {self.role}")
        if of_users:
            condition = OWN_USER if table == "users" else OWN.format("user_key")
            connection.run(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            connection.run(f"DROP POLICY IF EXISTS {POLICY} ON {table}")
            connection.run(f"CREATE POLICY {POLICY} ON {table} TO {self.role} USING ({condition})")


def open_limits(connection: SqlConnection, role: str, tables: Sequence[str]) -> RowSecurity:
    """Return the limits of a database; create its policies, where they are missing.

    Args:
        connection: inside a transaction.
        role: the limited role.
        tables: all of the memory's.

    Raises:
        ConfigError: the role cannot be used, or only the owner could create what is missing.
    """
    path, schema, login, is_login, has_function = connection.all(LOGIN, {"role": role})[0]
    found = connection.one(ROLE, {"role": role})
    if found is None:
        remedy = f'CREATE ROLE "{role}" NOLOGIN; GRANT "{role}" TO {login}'
        raise _unusable(role, "there is no such role", remedy)
    is_super, bypasses, owns, may_be_taken, whole, quoted = found
    if is_super or bypasses or owns:
        what = "is a superuser" if is_super else "has BYPASSRLS" if bypasses else "owns the tables"
        raise _unusable(role, f"it {what}, so that nothing limits it", "name another role")
    if not may_be_taken:
        raise _unusable(role, f"{login} may not take it", f"GRANT {quoted} TO {login}")
    limits = RowSecurity(quoted, NO_ROLE if is_login else role, path, whole)
    values = {"role": role, "policy": POLICY, "tables": dump(list(tables))}
    objects = connection.all(OBJECTS, values)
    is_done = all(granted and safe >= of_users for _, _, of_users, safe, granted in objects)
    if is_done and has_function:
        return limits
    if not whole:
        remedy = "open the memory once, with this setting, as the owner of its tables"
        raise _unusable(role, "its policies are not there yet", remedy)
    connection.run(f"GRANT USAGE ON SCHEMA {schema} TO {quoted}")
    connection.run(f"GRANT SELECT ON schema_steps TO {quoted}")
    connection.run(CREATE_MATCHING)
    connection.run(f"REVOKE EXECUTE ON FUNCTION {MATCHING} FROM PUBLIC")
    connection.run(f"GRANT EXECUTE ON FUNCTION {MATCHING} TO {quoted}")
    for name, is_sequence, of_users, *_ in objects:
        if is_sequence:
            connection.run(f"GRANT USAGE ON SEQUENCE {name} TO {quoted}")
        else:
            limits.protect(connection, name, of_users=of_users)
    return limits


def _unusable(role: str, what: str, remedy: str) -> ConfigError:
    return ConfigError(f"storage.role = {role!r}: {what}; {remedy}")

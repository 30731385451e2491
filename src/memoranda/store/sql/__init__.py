"""One relational store for every SQL database: its schema, statements and actions."""

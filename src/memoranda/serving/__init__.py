"""A memory behind a server: opened on first use, its records shown without secrets."""

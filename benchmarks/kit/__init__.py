"""A benchmark that runs on any memory behind an adapter; README.md says how."""

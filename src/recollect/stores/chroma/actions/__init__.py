"""Carries out actions: one small function for each kind, all on the rows of one user."""

from __future__ import annotations

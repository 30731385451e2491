"""The tools by which an agent uses its memory (seed 004), for any framework."""

from __future__ import annotations

from memoranda.tools.tool import AsyncTool, Tool

__all__ = ["AsyncTool", "Tool"]

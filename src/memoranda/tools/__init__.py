"""The tools by which an agent uses its memory (requirements S4.61 to S4.67), for any framework."""

from __future__ import annotations

from memoranda.tools.tool import AsyncTool, Tool, ToolList

__all__ = ["AsyncTool", "Tool", "ToolList"]

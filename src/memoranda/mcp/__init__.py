"""The MCP server: a memory for any client of the Model Context Protocol."""

"""MCP over the same server and port, with the same tokens."""

import anyio
from mcp_clients import MODES, over_http, refusal, value
from tables import each_row


@each_row("mode", MODES)
def test_mcp_and_the_api_are_one_memory(served, ana, mode):
    """What one stores the other finds; a token that may read stores nothing here either."""
    kept = ana.post("/v1/records", json={"content": f"Ana plays the violin, {mode}"}).json()
    writer, reader = served.token("ana"), served.token("ana", "read")

    async def main():
        async with over_http(f"{served.url}/mcp", writer, mode) as client:
            assert client.protocol_version == MODES[mode]
            found = await value(client, "search_memories", query="violin")
            assert kept["id"] in {each["id"] for each in found["result"]}
            stored = await value(client, "store_memory", content=f"Ana likes opera, {mode}")
        async with over_http(f"{served.url}/mcp", reader, mode) as client:
            assert (await value(client, "search_memories", query="violin"))["result"]
            told = await refusal(client, "store_memory", content="Ana likes jazz")
            assert "scope write" in told
        return stored["id"]

    assert ana.get(f"/v1/records/{anyio.run(main)}").status_code == 200


def test_mcp_needs_a_token_and_the_right_name(served):
    """It is behind the same guard as all else."""
    with served.client() as nobody, served.client("memoranda_wrong") as stranger:
        assert nobody.post("/mcp", json={}).status_code == 401
        assert stranger.post("/mcp", json={}).status_code == 401
    with served.client(served.token()) as ana:
        assert ana.post("/mcp", json={}, headers={"Host": "evil.example"}).status_code == 421
        assert ana.get("/mcp").status_code == 405

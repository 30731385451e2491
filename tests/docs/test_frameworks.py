"""The adapter of docs/frameworks.md does what the page says."""

import asyncio

import httpx2
from framework_examples import load_example


class TestFastApi:
    """The application whose requests share one memory."""

    def test_each_user_has_their_own_and_mistakes_are_the_clients(self, monkeypatch, tmp_path):
        """What is added is in the next context, and found by its user alone, until it is erased."""
        monkeypatch.chdir(tmp_path)
        app = load_example("FastAPI: one memory for all requests")[0].app

        async def ask(method: str, path: str, user: str = "ana", **query: str):
            site = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=site, base_url="http://app") as client:
                answer = await client.request(method, path, params=query, headers={"user": user})
            return answer.status_code, answer.json()

        async def use():
            async with app.router.lifespan_context(app):
                assert await ask("POST", "/messages", text="My cat is called Miau.") == (
                    200, [{"role": "user", "content": "My cat is called Miau."}],
                )  # fmt: skip
                _, sent = await ask("POST", "/messages", text="What is it called?")
                assert sent[0]["content"] == "My cat is called Miau."
                assert await ask("GET", "/memories", "ben", query="cat") == (200, [])
                _, (hit, *_) = await ask("GET", "/memories", query="cat")
                assert hit["text"] == "My cat is called Miau."
                assert await ask("DELETE", f"/memories/{hit['id']}") == (200, {"erased": True})
                status, told = await ask("DELETE", f"/memories/{hit['id']}")
                assert (status, "no record" in told["detail"]) == (404, True)
                status, told = await ask("GET", "/memories", query="")
                assert (status, told["detail"]) == (422, "query is empty; give it some text")

        asyncio.run(use())

"""The files of the model are found in order, proven genuine, and pulled whole or not at all."""

import shutil

import pytest
from model_server import raw

from memoranda.errors import ModelUnavailable
from memoranda.providers.embedding import model_files as files
from memoranda.providers.embedding.model_files import (
    PUBLISHED,
    TOKENIZER,
    WEIGHTS,
    default_folder,
    find,
    pull,
)

pytestmark = pytest.mark.usefixtures("user_folders")


def link(published, folder):
    """Put the genuine files into ``folder`` without copying them."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (published.weights, published.tokenizer):
        (folder / path.name).symlink_to(path)


@pytest.fixture
def genuine(published, server):
    """A server with the genuine files."""
    folder = published.weights.parent

    def act(handler, _):
        path = folder / handler.path[1:]
        handler.send_response(200)
        handler.send_header("Content-Length", str(path.stat().st_size))
        handler.end_headers()
        with path.open("rb") as file:  # In parts: the weights are large.
            shutil.copyfileobj(file, handler.wfile)

    server.play(act)
    return server


def test_the_folders_are_searched_in_order(tmp_path, published, user_folders, monkeypatch):
    """One that was named is the only one; what the user pulled comes before the wheel's files."""
    with monkeypatch.context() as without:
        without.setattr(files, "DISTRIBUTION", "memoranda-no-such-distribution")
        with pytest.raises(ModelUnavailable) as caught:
            find()
    for part in ("config models pull", str(default_folder()), "memoranda-no-such-distribution"):
        assert part in str(caught.value)
    assert find() == published.weights.parent
    default_folder().mkdir(parents=True)
    (default_folder() / TOKENIZER.name).symlink_to(published.tokenizer)
    assert find() == published.weights.parent  # Half a model does not count.
    (default_folder() / WEIGHTS.name).symlink_to(published.weights)
    assert find() == default_folder()
    assert default_folder().is_relative_to(user_folders["data"])
    link(published, tmp_path / "mine")
    assert find(tmp_path / "mine") == tmp_path / "mine"
    with pytest.raises(ModelUnavailable, match="memoranda config models pull") as caught:
        find(tmp_path / "empty")
    assert str(tmp_path / "empty") in str(caught.value)


def test_a_changed_file_is_never_used(tmp_path, published):
    """One flipped byte is refused; the message names the file and the hash."""
    link(published, tmp_path)
    tokenizer = tmp_path / TOKENIZER.name
    data = bytearray(tokenizer.read_bytes())
    data[1000] ^= 1
    tokenizer.unlink()
    tokenizer.write_bytes(data)
    with pytest.raises(ModelUnavailable, match=TOKENIZER.sha256) as caught:
        find(tmp_path)
    assert str(tokenizer) in str(caught.value)


def test_pull_brings_both_files_and_tells_how_far_it_is(genuine, published):
    """Progress grows to the true size of both; afterwards they are found; again costs nothing."""
    steps = []
    folder = pull(base_url=f"{genuine.url}/", progress=lambda *step: steps.append(step))
    assert folder == default_folder() == find()
    total = WEIGHTS.size + TOKENIZER.size
    assert steps == [(TOKENIZER.size, total), (total, total)]
    found = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert found == {file.name: file.size for file in PUBLISHED}
    pull(base_url=genuine.url)
    assert len(genuine.received) == 2
    # What is genuine stays, what is not is fetched anew.
    (folder / TOKENIZER.name).write_text("{}")
    pull(base_url=genuine.url)
    assert genuine.received[-1].path == f"/{TOKENIZER.name}"
    assert len(genuine.received) == 3
    assert (folder / TOKENIZER.name).read_bytes() == published.tokenizer.read_bytes()


def breaking_off(data):
    """Send less than was announced."""

    def act(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Length", str(TOKENIZER.size))
        handler.end_headers()
        handler.wfile.write(data)

    return act


def test_pull_leaves_the_folder_as_it_was_where_what_comes_is_not_genuine(
    tmp_path, server, unused_url
):
    """A wrong hash, of a short or an endless file, one that breaks off, and none at all."""
    (tmp_path / TOKENIZER.name).write_text("old")
    endless = b"x" * (TOKENIZER.size + (3 << 20))
    for address, act, why in (
        (server.url, raw(b"something else"), TOKENIZER.sha256),
        (server.url, raw(endless), TOKENIZER.sha256),
        (server.url, breaking_off(b"{"), TOKENIZER.name),
        (server.url, lambda handler, _: handler.send_error(404), "404.*pip install"),
        (unused_url, None, "refused.*pip install"),
    ):
        server.play(act)
        with pytest.raises(ModelUnavailable, match=why) as caught:
            pull(tmp_path, address)
        assert address in str(caught.value)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_pull_needs_a_folder_and_an_address(tmp_path, genuine):
    """A folder below a file, and an address that is none, are errors of the model."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelUnavailable, match="cannot write"):
        pull(tmp_path / "file" / "models", genuine.url)
    with pytest.raises(ModelUnavailable, match="check the connection"):
        pull(tmp_path, "somewhere")

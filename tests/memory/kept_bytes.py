"""Looks for words in the bytes of files, for tests of what is erased (law 7)."""

from base64 import b64encode


def coded(word):
    """Return a word as it may stand in a file: plain, or in base64 wherever it begins there."""
    plain, end = word.encode(), len(word.encode())
    parts = [(b64encode(bytes(n) + plain), 4 if n else 0, (n + end) // 3 * 4) for n in range(3)]
    return [word, *(text[first:last].decode() for text, first, last in parts)]


def holding(folder, *words, but=()):
    """Return which files under a folder hold which of these words, whatever their case."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in but]
    read = [(path.name, path.read_bytes().lower()) for path in files]
    return [(name, word) for name, data in read for word in words if word.lower().encode() in data]

"""Make ``src/memoranda/tokens/*.sketch``: which tokens OpenAI's encodings have.

The vocabularies come from the package ``rs_bpe`` and are checked against the published ones.
Most words stand in them several times, with and without a space before them, small and with a
capital; a sketch has such a word once, with six bits that say in which forms it is a token. Each
token of one- and two-byte characters has a level besides, its rank in thirds of an octave. The
rest is front coding and zlib. Measured, in bytes:

================================== =========== ========== =====================================
what                               cl100k_base o200k_base what can be counted with it
================================== =========== ========== =====================================
the vocabulary with its ranks          341_294    743_796 all exactly
sorted 32-bit hashes                   214_879    403_840 Finnish 5.5 % below, German 2 % below
sorted tokens, front-coded             184_351    364_889 the same
sorted tokens in six forms             150_075    314_515 the same
**with levels**                        201_709    404_312 these within 0.5 %
with levels in halves of an octave     194_912    392_553 Dutch 1.3 % above
================================== =========== ========== =====================================

Run: ``python scripts/make_token_sketch.py [folder]`` (needs the ``dev`` extra).
"""

from __future__ import annotations

import base64
import hashlib
import math
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from rs_bpe.bpe import openai

TARGET = Path(__file__).parents[1] / "src" / "memoranda" / "tokens"
# Number of tokens, and sha256 of the published file of "base64 rank" lines.
PUBLISHED = {
    "cl100k_base": (100_256, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    "o200k_base": (199_998, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
}
CASES = (bytes, bytes.capitalize, bytes.upper)
THREE_BYTES = 0xE0


def vocabulary(encoding: str) -> list[bytes]:
    """Return the tokens of ``encoding`` in the order of their ranks."""
    size, _ = PUBLISHED[encoding]
    merges = getattr(openai, encoding)().bpe()
    return [merges.decode_tokens([rank]) for rank in range(size)]


def published_file(tokens: Sequence[bytes]) -> bytes:
    """Return the file in which ``tokens`` are published: a line with base64 and rank for each."""
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    return b"".join(lines)


def stems(tokens: Iterable[bytes]) -> dict[bytes, dict[int, bytes]]:
    """Return the tokens without space and capitals, each with the bits of its forms.

    A bit leads to the token of that form; they stand in the order of their bits.
    """
    forms: dict[bytes, dict[int, bytes]] = defaultdict(dict)
    for token in tokens:
        spaced = len(token) > 1 and token.startswith(b" ")
        word = token[1:] if spaced else token
        small = word.lower()
        cases = [number for number, case in enumerate(CASES) if case(small) == word]
        # A word such as "iPhone" has only its own form.
        stem, number = (small, cases[0]) if cases else (word, 0)
        forms[stem][(2 if spaced else 1) << (2 * number)] = token
    return {stem: dict(sorted(forms[stem].items())) for stem in sorted(forms)}


def level(token: bytes, rank: int) -> int:
    """Return the rank in thirds of an octave, or 0 for what is not merged by it."""
    return 0 if max(token) >= THREE_BYTES else int(3 * math.log2(rank + 1))


def alike(first: bytes, second: bytes) -> int:
    """Return how many bytes both start with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(first), len(second)))


def pack(tokens: Sequence[bytes]) -> bytes:
    """Return the sketch of ``tokens``, in the form that ``memoranda.tokens.estimate`` reads."""
    shared, added, bits, rest = bytearray(), bytearray(), bytearray(), bytearray()
    forms = stems(tokens)
    before = b""
    for stem in forms:
        keep = alike(before, stem)
        shared.append(keep)
        added.append(len(stem) - keep)
        bits.append(sum(forms[stem]))
        rest += stem[keep:]
        before = stem
    ranks = {token: rank for rank, token in enumerate(tokens)}
    ordered = [token for tokens in forms.values() for token in tokens.values()]
    levels = bytes(level(token, ranks[token]) for token in ordered)
    sizes = len(forms).to_bytes(4, "little") + len(ordered).to_bytes(4, "little")
    return zlib.compress(sizes + shared + added + bits + levels + rest, 9)


def main() -> None:
    """Write the sketches to the folder given, or into the package."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    for encoding, (_, digest) in PUBLISHED.items():
        tokens = vocabulary(encoding)
        if hashlib.sha256(published_file(tokens)).hexdigest() != digest:
            sys.exit(f"rs_bpe has another vocabulary of {encoding} than the published one")
        data = pack(tokens)
        target = folder / f"{encoding}.sketch"
        target.write_bytes(data)
        print(f"{target}: {len(tokens)} tokens, {len(data)} bytes")


if __name__ == "__main__":
    main()

"""Our embedder against the runtime alone: the same graph, weights and batches.

Beside it, what a first attempt gives: all texts padded to the longest, in one batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.measure import interleaved, show
from benchmarks.workload import DIMENSIONS, talk
from memoranda.errors import MemorandaError
from memoranda.model.query import Vectors
from memoranda.providers.embedding.model_files import TOKENIZER, WEIGHTS, find
from memoranda.providers.embedding.quantized import quantized_weights

BATCH = 32
MAX_TOKENS = 256
CELLS = 256  # tokens of a batch, as MiniLM's
NEAR = 1e-3  # how far apart two ways to the same vector may be


def run(*, quick: bool) -> None:
    """Print the table, or why there is none."""
    rounds = 5 if quick else 20
    texts = list(talk(BATCH * (rounds + 2), seed=2).texts)
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    try:
        from memoranda.providers.embedding.minilm import MiniLM  # noqa: PLC0415 - extra `local`

        folder = find()
    except MemorandaError as error:
        print(f"\nEmbedding: left out, {error}\n")
        return
    raw = _Raw(folder)
    ours = MiniLM()
    assert np.allclose(raw.embed(batches[0], CELLS), ours.embed(batches[0]), atol=NEAR)
    floor, name = "floor: tokenizers + onnxruntime", "MiniLM.embed"
    times = interleaved(
        {
            floor: lambda i: raw.embed(batches[i], CELLS),
            "the same, padded to the longest text": lambda i: raw.embed(batches[i], None),
            name: lambda i: ours.embed(batches[i]),
        },
        rounds,
        warm=2,
    )
    one = interleaved({name: lambda i: ours.embed([texts[i]])}, 10 * rounds, warm=5)[name]
    base = times[floor].median
    rows = [
        (key, f"{BATCH / each.median:,.0f}", f"{base / each.median:.2f}")
        for key, each in times.items()
    ]
    show(
        f"all-MiniLM-L6-v2, batches of {BATCH} turns, one thread",
        ("", "texts/s", "share of the floor's rate"),
        rows,
        f"One text alone: {1e3 * one.median:.1f} ms. Invented words have more tokens than real "
        f"ones: {raw.tokens(texts) / len(texts):.0f} a text here.",
    )


class _Raw:
    """The graph fed by hand: sorted by length, padded, run."""

    def __init__(self, folder: Path) -> None:
        """Load everything."""
        import onnxruntime  # noqa: PLC0415 - extra `local`
        from tokenizers import Tokenizer  # noqa: PLC0415 - extra `local`

        from memoranda.providers.embedding import minilm  # noqa: PLC0415 - extra `local`

        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER.name))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        weights = quantized_weights(folder / WEIGHTS.name)
        options.add_session_config_entry(minilm.WEIGHTS_FOLDER, str(weights))
        self._session = onnxruntime.InferenceSession(
            minilm.GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
        )

    def tokens(self, texts: list[str]) -> int:
        """Return how many tokens the texts have."""
        return sum(len(self._tokenizer.encode(text).ids) for text in texts)

    def embed(self, texts: list[str], cells: int | None) -> Vectors:
        """Return the vectors, run in batches of at most ``cells`` tokens with their padding."""
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        rows = np.empty((len(texts), DIMENSIONS), np.float32)
        batch: list[int] = []
        for place in order:
            if cells is not None and (len(batch) + 1) * len(tokens[place]) > cells and batch:
                rows[batch] = self._run([tokens[each] for each in batch])
                batch = []
            batch.append(place)
        rows[batch] = self._run([tokens[each] for each in batch])
        return rows

    def _run(self, tokens: list[list[int]]) -> Vectors:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, sequence in enumerate(tokens):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        rows: Vectors = self._session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return rows

"""all-MiniLM-L6-v2 on this machine, without torch: the model for English.

The package ships the graph (``minilm.onnx``, made by
``scripts/build_minilm_graph.py``); the tokenizer and the weights are the two published files,
found and checked by :mod:`memoranda.providers.embedding.model_files`, the weights as
:mod:`memoranda.providers.embedding.quantized` stores them. Vectors have a cosine of .9996 with
those of the published model, so that both may stand in one store.

A second graph on the same weights, ``cross_encoder.onnx``, reads a question and a text together
and says how likely the text answers it (Nogueira and Cho 2019); it was trained for memories by
``scripts/train_cross_encoder.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoranda.providers.embedding import model_files
from memoranda.providers.embedding.cache import well_formed
from memoranda.providers.embedding.local_model import (
    MAX_TOKENS,
    LoadedModel,
    LocalEmbedder,
    Token,
    batches,
    open_session,
    padded,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnxruntime
    from tokenizers import Tokenizer

GRAPH = Path(__file__).with_name("minilm.onnx")
CROSS_ENCODER = Path(__file__).with_name("cross_encoder.onnx")
UNKNOWN = "[UNK]"
INSIDE = "##"  # before a piece that does not begin a word
LAST_LATIN = "\u024f"
# The runtime's name for where the files are that a graph refers to.
WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"


class LoadedMiniLM(LoadedModel):
    """MiniLM in memory, about 30 MB; 22 more where it scores answers."""

    name = model_files.MODEL
    opening, closing = (101,), (102,)

    def __init__(
        self,
        tokenizer: Tokenizer,
        open_graph: Callable[[Path], onnxruntime.InferenceSession],
        threads: int,
    ) -> None:
        """Share a tokenizer, and a network that runs on so many threads."""
        super().__init__(open_graph(GRAPH), threads)
        self._tokenizer, self._open_graph = tokenizer, open_graph

    def tokens(self, text: str) -> Sequence[Token]:
        """Return the word pieces of a text.

        What was learned is English: of other scripts there are single letters at most.
        """
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [
            Token(id_, bare := piece.removeprefix(INSIDE), span, _is_known(bare))
            for id_, piece, span in zip(found.ids, found.tokens, found.offsets, strict=True)
        ]

    def inputs(self, ids: npt.NDArray[Any]) -> Mapping[str, npt.NDArray[Any]]:
        """Return token ids as the network takes them."""
        return {"input_ids": ids}

    @cached_property
    def _cross_encoder(self) -> onnxruntime.InferenceSession:
        return self._open_graph(CROSS_ENCODER)

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how likely each text answers a question, as :class:`MiniLM` does."""
        read = self._tokenizer.encode_batch([(question, text) for text in texts])
        scores = [0.0] * len(texts)
        for rows in batches([len(each.ids) for each in read]):
            (found,) = self.run_network(
                self._cross_encoder,
                input_ids=padded([read[row].ids for row in rows]),
                token_type_ids=padded([read[row].type_ids for row in rows]),
                attention_mask=padded([read[row].attention_mask for row in rows]),
            )
            for row, score in zip(rows, found.tolist(), strict=True):
                scores[row] = score
        return scores


class MiniLM(LocalEmbedder):
    """MiniLM (Reimers and Gurevych 2019), for English; loaded in about 0.4 s."""

    name = model_files.MODEL
    extra = "local"
    then = model_files.PULL
    runtime = ("onnxruntime", "tokenizers")
    find = staticmethod(model_files.find)
    _loaded: Callable[[], LoadedMiniLM]

    @classmethod
    def load(cls, folder: Path, threads: int) -> LoadedMiniLM:
        """Return the model of a folder, its weights as they are stored in one byte a number."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - see open_session

        from memoranda.providers.embedding.quantized import quantized_weights  # noqa: PLC0415

        weights = quantized_weights(folder / model_files.WEIGHTS.name)

        def place(options: onnxruntime.SessionOptions) -> None:
            options.add_session_config_entry(WEIGHTS_FOLDER, str(weights))

        tokenizer = Tokenizer.from_file(str(folder / model_files.TOKENIZER.name))
        # The published file cuts and pads to 128 tokens; the model takes 256.
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return LoadedMiniLM(tokenizer, lambda graph: open_session(graph, threads, place), threads)

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how likely each text answers an English question; 0 is as likely as not.

        Question and text count with their first 256 tokens together. See
        :class:`memoranda.model.ports.AnswerScorer`.

        Raises:
            ModelUnavailable: the files are not there or not the published ones.
            EmbeddingError: the runtime failed.
        """
        question, *texts = well_formed([question, *texts])
        with self._translated():
            return self._loaded().score(question, texts)


def _is_known(piece: str) -> bool:
    letter = len(piece) == 1 and piece > LAST_LATIN and piece.isalpha()
    return piece != UNKNOWN and not letter

"""all-MiniLM-L6-v2 on this machine, without torch: the model for English.

The package ships the graph (``minilm.onnx``, made by
``scripts/build_minilm_graph.py``); the tokenizer and the weights are the two published files,
found and checked by :mod:`memoranda.providers.embedding.model_files`, the weights as
:mod:`memoranda.providers.embedding.quantized` stores them. Vectors have a cosine of .9996 with
those of the published model, so that both may stand in one store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoranda.providers.embedding import model_files
from memoranda.providers.embedding.local_model import (
    MAX_TOKENS,
    LoadedModel,
    LocalEmbedder,
    Token,
    open_session,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnxruntime
    from tokenizers import Tokenizer

GRAPH = Path(__file__).with_name("minilm.onnx")
UNKNOWN = "[UNK]"
INSIDE = "##"  # before a piece that does not begin a word
LAST_LATIN = "\u024f"
# The runtime's name for where the files are that a graph refers to.
WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"


class LoadedMiniLM(LoadedModel):
    """MiniLM in memory, about 30 MB."""

    name = model_files.MODEL
    opening, closing = (101,), (102,)

    def __init__(
        self, tokenizer: Tokenizer, session: onnxruntime.InferenceSession, threads: int
    ) -> None:
        """Share a tokenizer, and a network that runs on so many threads."""
        super().__init__(session, threads)
        self._tokenizer = tokenizer

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


class MiniLM(LocalEmbedder):
    """MiniLM (Reimers and Gurevych 2019), for English; loaded in about 0.4 s."""

    name = model_files.MODEL
    extra = "local"
    then = model_files.PULL
    runtime = ("onnxruntime", "tokenizers")
    find = staticmethod(model_files.find)

    @classmethod
    def load(cls, folder: Path, threads: int) -> LoadedMiniLM:
        """Return the model of a folder, its weights as they are stored in one byte a number."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - see open_session

        from memoranda.providers.embedding.quantized import quantized_weights  # noqa: PLC0415

        weights = quantized_weights(folder / model_files.WEIGHTS.name)
        session = open_session(
            GRAPH,
            threads,
            lambda options: options.add_session_config_entry(WEIGHTS_FOLDER, str(weights)),
        )
        tokenizer = Tokenizer.from_file(str(folder / model_files.TOKENIZER.name))
        # The published file cuts and pads to 128 tokens; the model takes 256.
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return LoadedMiniLM(tokenizer, session, threads)


def _is_known(piece: str) -> bool:
    letter = len(piece) == 1 and piece > LAST_LATIN and piece.isalpha()
    return piece != UNKNOWN and not letter

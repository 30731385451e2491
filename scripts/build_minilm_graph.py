"""Build ``providers/embedding/minilm.onnx``: all-MiniLM-L6-v2 as a graph without its weights.

The weights stay in a file of 24 MB with a known hash, which the package makes of the
published one (:mod:`memoranda.providers.embedding.quantized`); the initializers here say where
in it they are, and the runtime maps it. So the package ships some 33 KB.

The graph takes token ids and an attention mask, both int64 ``[batch, length]``,
and gives float32 ``embedding [batch, 384]``: six BERT layers (Devlin et al. 2019), the
mean over the unmasked positions, unit length (Reimers and Gurevych 2019); and, to whoever
asks for it, ``tokens [batch, length, 384]``: the last layer itself, before the mean.

Matrices have one byte a number, and the runtime's own ``MatMulNBits`` multiplies with them
in whole numbers: a third faster than with floats, and 12 MB instead of 85 in memory. Every other
operator is a standard one. The runtime fuses GELU with its bias; its own attention and skip
operators were measured at one thread and are 5 to 15 % slower than these nodes.

Run: ``python scripts/build_minilm_graph.py [target]`` (needs the ``dev`` extra).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from memoranda.providers.embedding.model_files import QUANTIZED
from memoranda.providers.embedding.quantized import BLOCK, FLOAT, WORDS, ZERO, shared_numbers

SCALES = ".scales"
ROOM = Path(__file__).parents[1] / "src" / "memoranda" / "providers" / "embedding"
TARGET = ROOM / "minilm.onnx"

OPSET = 17
RUNTIME = "com.microsoft"  # whose operators, beside the standard ones
WHOLE_NUMBERS = 4  # the accuracy level at which activations have one byte, too
IR_VERSION = 8
LAYERS = 6
HEADS = 12
HIDDEN = 384
HEAD = HIDDEN // HEADS
INNER = 1536
VOCABULARY = 30_522
POSITIONS = 512
TYPES = 2
EPSILON = 1e-12
MASKED = -10_000.0


def places(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, int]]:
    """Return where each tensor of the file, and the scales of each, begins and how long it is.

    Args:
        shapes: of the published tensors that the network needs.
    """
    found: dict[str, tuple[int, int]] = {}
    end = 0
    for name in sorted(shapes):
        block, numbers = shared_numbers(name, shapes[name]), math.prod(shapes[name])
        sizes = {name: numbers * FLOAT.itemsize}
        if block:
            sizes = {name: numbers, name + SCALES: numbers // block * FLOAT.itemsize}
        for part, size in sizes.items():
            found[part] = (end, size)
            end += size
    return found


class Graph:
    """Collects the nodes and initializers of a graph; every node has one output."""

    def __init__(self, bits: int = 8) -> None:
        """Start empty; matrices will have so many bits a number."""
        self.bits = bits
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._known: set[str] = set()
        self._shapes: dict[str, tuple[int, ...]] = {}

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        """Add a node and return the name of its output."""
        output = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, list(inputs), [output], name=output, **attributes)
        )
        return output

    def weight(self, name: str, *shape: int) -> str:
        """Declare a float32 tensor of the file; return its ``name``."""
        self._shapes[name] = shape
        return self._stored(name, TensorProto.FLOAT, *shape)

    def quantized(self, name: str, rows: int, columns: int, block: int) -> tuple[str, str]:
        """Declare a matrix of bytes, and the scales of its blocks; return their names."""
        self._shapes[name] = (rows, columns)
        blocks = columns // block
        shape = (rows, blocks, block * self.bits // 8) if blocks > 1 else (rows, columns)
        scales = (rows * blocks,) if blocks > 1 else (rows, 1)
        self._stored(name, TensorProto.UINT8, *shape)
        return name, self._stored(name + SCALES, TensorProto.FLOAT, *scales)

    def _stored(self, name: str, kind: int, *shape: int) -> str:
        if name not in self._known:
            self._keep(TensorProto(name=name, data_type=kind, dims=shape))
        return name

    def locate(self) -> None:
        """Say of each tensor of the file where in it it is, once all are declared."""
        found = places(self._shapes)
        for tensor in self.initializers:
            if tensor.name in found:
                start, size = found[tensor.name]
                tensor.data_location = TensorProto.EXTERNAL
                for key, value in (
                    ("location", QUANTIZED.name),
                    ("offset", start),
                    ("length", size),
                ):
                    tensor.external_data.add(key=key, value=str(value))

    def integers(self, name: str, values: Sequence[int]) -> str:
        """Declare a constant int64 list; return its ``name``."""
        return self._constant(name, TensorProto.INT64, (len(values),), values)

    def number(self, name: str, value: float) -> str:
        """Declare a constant float32 scalar; return its ``name``."""
        return self._constant(name, TensorProto.FLOAT, (), (value,))

    def _constant(
        self, name: str, kind: int, shape: tuple[int, ...], values: Sequence[float]
    ) -> str:
        if name not in self._known:
            self._keep(helper.make_tensor(name, kind, shape, values))
        return name

    def _keep(self, tensor: onnx.TensorProto) -> None:
        self._known.add(tensor.name)
        self.initializers.append(tensor)

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """``x @ weight.T + bias``, in whole numbers."""
        weight, scales = self.quantized(f"{name}.weight", outputs, inputs, BLOCK)
        product = self.add(
            "MatMulNBits",
            *(x, weight, scales),
            domain=RUNTIME,
            K=inputs,
            N=outputs,
            bits=self.bits,
            block_size=BLOCK,
            accuracy_level=WHOLE_NUMBERS,
        )
        return self.add("Add", product, self.weight(f"{name}.bias", outputs))

    def layer_norm(self, x: str, name: str) -> str:
        """Normalise the last axis."""
        return self.add(
            "LayerNormalization",
            x,
            self.weight(f"{name}.weight", HIDDEN),
            self.weight(f"{name}.bias", HIDDEN),
            axis=-1,
            epsilon=EPSILON,
        )


def embeddings(graph: Graph, kinds: str = "") -> str:
    """Word, type and position embeddings, summed and normalised.

    Without ``kinds``, the input that tells the type of each token, a text is one segment: type 0.
    """
    word, scales = graph.quantized(WORDS, VOCABULARY, HIDDEN, HIDDEN)
    kind = graph.weight("embeddings.token_type_embeddings.weight", TYPES, HIDDEN)
    place = graph.weight("embeddings.position_embeddings.weight", POSITIONS, HIDDEN)
    zero, one = graph.integers("zero", [0]), graph.integers("one", [1])
    # Shape with start and end gives a list of one, as Slice takes it.
    length = graph.add("Shape", "input_ids", start=1, end=2)
    rows = graph.add("Slice", place, zero, length, zero, one)
    typed = (
        graph.add("Gather", kind, kinds)
        if kinds
        else graph.add("Slice", kind, zero, one, zero, one)
    )
    rows = graph.add("Add", rows, typed)
    words = graph.add("Cast", graph.add("Gather", word, "input_ids"), to=TensorProto.FLOAT)
    words = graph.add("Sub", words, graph.number("zero_byte", ZERO))
    words = graph.add("Mul", words, graph.add("Gather", scales, "input_ids"))
    return graph.layer_norm(graph.add("Add", words, rows), "embeddings.LayerNorm")


def mask_bias(graph: Graph) -> str:
    """0 where a token stands, a large negative number where there is padding."""
    rows = graph.add("Unsqueeze", "attention_mask", graph.integers("one", [1]))
    rows = graph.add("Unsqueeze", rows, graph.integers("two", [2]))
    rows = graph.add("Cast", rows, to=TensorProto.FLOAT)
    absent = graph.add("Sub", graph.number("whole", 1.0), rows)
    return graph.add("Mul", absent, graph.number("masked", MASKED))


def attention(graph: Graph, x: str, bias: str, name: str) -> str:
    """Multi-head self-attention with its output projection."""
    split = graph.integers("split", [0, 0, HEADS, HEAD])

    def heads(part: str, *order: int) -> str:
        projected = graph.linear(x, f"{name}.self.{part}", HIDDEN, HIDDEN)
        return graph.add("Transpose", graph.add("Reshape", projected, split), perm=order)

    scores = graph.add("MatMul", heads("query", 0, 2, 1, 3), heads("key", 0, 2, 3, 1))
    scaled = graph.add("Div", scores, graph.number("scale", math.sqrt(HEAD)))
    weights = graph.add("Softmax", graph.add("Add", scaled, bias), axis=-1)
    mixed = graph.add("MatMul", weights, heads("value", 0, 2, 1, 3))
    merged = graph.add("Transpose", mixed, perm=[0, 2, 1, 3])
    joined = graph.add("Reshape", merged, graph.integers("join", [0, 0, HIDDEN]))
    return graph.linear(joined, f"{name}.output.dense", HIDDEN, HIDDEN)


def gelu(graph: Graph, x: str) -> str:
    """The exact GELU, by the error function (Hendrycks and Gimpel 2016)."""
    error = graph.add("Erf", graph.add("Div", x, graph.number("root", math.sqrt(2.0))))
    gate = graph.add("Add", error, graph.number("whole", 1.0))
    return graph.add("Mul", graph.add("Mul", x, gate), graph.number("half", 0.5))


def layer(graph: Graph, x: str, bias: str, name: str) -> str:
    """One BERT layer: attention and feed-forward, each with residual and layer norm."""
    attended = attention(graph, x, bias, f"{name}.attention")
    x = graph.layer_norm(graph.add("Add", attended, x), f"{name}.attention.output.LayerNorm")
    inner = gelu(graph, graph.linear(x, f"{name}.intermediate.dense", HIDDEN, INNER))
    out = graph.linear(inner, f"{name}.output.dense", INNER, HIDDEN)
    return graph.layer_norm(graph.add("Add", out, x), f"{name}.output.LayerNorm")


def pool(graph: Graph, x: str) -> str:
    """Mean over the unmasked positions, scaled to unit length.

    The division by the number of tokens falls out with the scaling, so the sum is enough.
    """
    mask = graph.add("Unsqueeze", "attention_mask", graph.integers("two", [2]))
    mask = graph.add("Cast", mask, to=TensorProto.FLOAT)
    total = graph.add(
        "ReduceSum", graph.add("Mul", x, mask), graph.integers("one", [1]), keepdims=0
    )
    graph.nodes.append(
        helper.make_node("LpNormalization", [total], ["embedding"], name="embedding", axis=-1, p=2)
    )
    return "embedding"


def read_tokens(graph: Graph, kinds: str = "") -> str:
    """The last layer, of shape ``[batch, length, 384]``; ``kinds`` as for :func:`embeddings`."""
    x = embeddings(graph, kinds)
    bias = mask_bias(graph)
    for number in range(LAYERS):
        x = layer(graph, x, bias, f"encoder.layer.{number}")
    return x


def build() -> onnx.ModelProto:
    """Return the model, the same each time."""
    graph = Graph()
    x = read_tokens(graph)
    output = pool(graph, x)
    graph.nodes.append(helper.make_node("Identity", [x], ["tokens"], name="tokens"))
    shapes = {output: ["batch", HIDDEN], "tokens": ["batch", "length", HIDDEN]}
    return finish(graph, "all-MiniLM-L6-v2", ("input_ids", "attention_mask"), shapes)


def finish(
    graph: Graph, name: str, given: Sequence[str], made: Mapping[str, Sequence[str | int]]
) -> onnx.ModelProto:
    """Return a whole graph as a model of some ``name``.

    Args:
        graph: with all its nodes.
        name: of the model.
        given: its inputs, int64 ``[batch, length]`` each.
        made: the shapes of its outputs, float32, by their names.
    """
    graph.locate()
    inputs = [
        helper.make_tensor_value_info(each, TensorProto.INT64, ["batch", "length"])
        for each in given
    ]
    outputs = [
        helper.make_tensor_value_info(each, TensorProto.FLOAT, shape)
        for each, shape in made.items()
    ]
    body = helper.make_graph(graph.nodes, name, inputs, outputs, initializer=graph.initializers)
    return helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)],
        ir_version=IR_VERSION,
        producer_name="memoranda",
    )


def main() -> None:
    """Write the graph to the path given, or into the package."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    data = build().SerializeToString(deterministic=True)
    target.write_bytes(data)
    print(f"{target}: {len(data)} bytes")


if __name__ == "__main__":
    main()

"""Build ``providers/embedding/multilingual.onnx``: multilingual-e5-small without its weights.

The weights are those of the published file, which
:mod:`memoranda.providers.embedding.multilingual` gives the runtime by name. The graph takes float32
``words [batch, length, 384]``, the vectors of word pieces, and an int64 ``attention_mask``, and
gives what the graph of MiniLM does (``build_minilm_graph.py``): ``embedding``, of the last of
twelve layers, and ``tokens``, of the last but one, which tells words better apart.

All vectors of this model point nearly the same way. What they share is subtracted: the mean of the
sentences beside this script, and that of their tokens, worth .09 of recall@5 on LoCoMo. And so is
what only tells in which language a text is: the directions in which the means of twelve languages
lie apart, worth .18 of recall@1 where facts are asked for in another language than their own.

Run: ``python scripts/build_multilingual_graph.py [target]`` (needs the extras ``dev`` and
``multilingual``).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from build_minilm_graph import (
    HIDDEN,
    IR_VERSION,
    OPSET,
    POSITIONS,
    ROOM,
    RUNTIME,
    SCALES,
    TYPES,
    Graph,
    layer,
    mask_bias,
)
from onnx import TensorProto, helper, numpy_helper

from memoranda.providers.embedding.multilingual import MODEL, WEIGHTS, MultilingualE5

TARGET = ROOM / "multilingual.onnx"
LAYERS = 12
BITS = 4
DIRECTIONS = 11  # in which twelve languages can lie apart
FILED = ("emb.", *(f"l{number}." for number in range(LAYERS)))  # tensors of the published file
# What the published file calls the parts of a layer.
PARTS = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}
# The same in twelve languages, so that what their means differ in is the language.
SENTENCES = Path(__file__).with_name("multilingual_sentences.txt")


@dataclass(frozen=True)
class Shared:
    """What vectors share.

    Attributes:
        mean: all of them.
        languages: shape (384, directions), those of a language, at right angles to each other.
    """

    mean: np.ndarray
    languages: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray) -> Shared:
        """Return what is shared where each language has such a mean."""
        mean = means.mean(axis=0)
        _, _, directions = np.linalg.svd(means - mean, full_matrices=False)
        return cls(mean, directions[:DIRECTIONS].T)


def named(name: str) -> str:
    """Return what the published file calls a tensor of the graph."""
    bare = name.removesuffix(SCALES)
    part, _, kind = bare.rpartition(".")
    if part.startswith("encoder.layer."):
        number, _, part = part.removeprefix("encoder.layer.").partition(".")
        part = f"l{number}.{PARTS[part]}"
    return f"{part}.{kind[0]}{name.removeprefix(bare)}" if kind in {"weight", "bias"} else name


def embeddings(graph: Graph) -> str:
    """Return word, type and position embeddings, summed and normalised."""
    zero, one = graph.integers("zero", [0]), graph.integers("one", [1])
    length = graph.add("Shape", "attention_mask", start=1, end=2)
    shape = graph.integers("rows", [-1, HIDDEN])
    places = graph.add("Reshape", graph.weight("emb.pos", POSITIONS * HIDDEN), shape)
    kinds = graph.add("Reshape", graph.weight("emb.type", TYPES * HIDDEN), shape)
    rows = graph.add("Slice", places, zero, length, zero, one)
    rows = graph.add("Add", rows, graph.add("Slice", kinds, zero, one, zero, one))
    return graph.layer_norm(graph.add("Add", "words", rows), "emb.ln")


def halves(graph: Graph, name: str, values: np.ndarray) -> str:
    """Declare constants of two bytes each; return them as float32."""
    graph.initializers.append(numpy_helper.from_array(values.astype(np.float16), name))
    return graph.add("Cast", name, to=TensorProto.FLOAT)


def without(graph: Graph, x: str, shared: Shared, name: str) -> str:
    """Return vectors of unit length less what all share, and what those of a language share."""
    mean, languages = (
        halves(graph, f"{name}_{part}", values)
        for part, values in (("mean", shared.mean), ("languages", shared.languages))
    )
    own = graph.add("Sub", graph.add("LpNormalization", x, axis=-1, p=2), mean)
    along = graph.add("MatMul", own, languages)
    along = graph.add("MatMul", along, graph.add("Transpose", languages, perm=[1, 0]))
    graph.nodes.append(helper.make_node("Sub", [own, along], [name], name=name))
    return name


def pool(graph: Graph, x: str) -> str:
    """Return the sum over the unmasked positions, which has the direction of the mean."""
    mask = graph.add("Unsqueeze", "attention_mask", graph.integers("two", [2]))
    masked = graph.add("Mul", x, graph.add("Cast", mask, to=TensorProto.FLOAT))
    return graph.add("ReduceSum", masked, graph.integers("one", [1]), keepdims=0)


def build(text: Shared, token: Shared) -> onnx.ModelProto:
    """Return the model that subtracts these."""
    graph = Graph(BITS)
    states, bias = [embeddings(graph)], mask_bias(graph)
    for number in range(LAYERS):
        states.append(layer(graph, states[-1], bias, f"encoder.layer.{number}"))
    without(graph, pool(graph, states[-1]), text, "embedding")
    without(graph, states[-2], token, "tokens")
    for node in graph.nodes:
        node.input[:] = map(named, node.input)
    for tensor in graph.initializers:
        tensor.name = named(tensor.name)
        if tensor.name.startswith(FILED):
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=WEIGHTS.name)
    given = [
        helper.make_tensor_value_info("words", TensorProto.FLOAT, ["batch", "length", HIDDEN]),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"]),
    ]
    shapes = {"embedding": ["batch", HIDDEN], "tokens": ["batch", "length", HIDDEN]}
    found = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    body = helper.make_graph(graph.nodes, MODEL, given, found, initializer=graph.initializers)
    return helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)],
        ir_version=IR_VERSION,
        producer_name="memoranda",
    )


def write(target: Path, *shared: Shared) -> None:
    """Write the graph that subtracts these."""
    target.write_bytes(build(*shared).SerializeToString(deterministic=True))


def measure(graph: Path) -> list[Shared]:
    """Return what the vectors of the sentences, and those of their tokens, share, by a graph."""
    model = MultilingualE5.load(MultilingualE5.find(), 1, graph)
    texts, tokens = [], []
    for sentences in SENTENCES.read_text("utf-8").split("\n\n"):
        read = [model.read(sentence) for sentence in sentences.strip().splitlines()]
        found = [(model.run([ids]), list(spans or ())) for ids, spans in read]
        texts.append(np.mean([vectors[0] for (vectors, _), _ in found], axis=0))
        states = [states[0][places] for (_, states), places in found]
        tokens.append(np.mean(np.concatenate(states), axis=0))
    return [Shared.of(np.stack(each)) for each in (texts, tokens)]


def main() -> None:
    """Write the graph to the path given, or into the package."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    nothing = Shared(np.zeros(HIDDEN, np.float32), np.zeros((HIDDEN, 1), np.float32))
    write(target, nothing, nothing)
    write(target, *measure(target))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()

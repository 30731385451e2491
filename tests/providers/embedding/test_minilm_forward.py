"""The vectors of local models against an independent BERT pass in float64, by published weights.

The pass is written from the papers and takes one text at a time, so that there is
neither padding nor a mask: a post-norm transformer encoder (Vaswani et al. 2017,
Devlin et al. 2019), then the mean of the last layer's rows, scaled to unit length
(Reimers and Gurevych 2019).
"""

import math

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from memoranda.providers.embedding.minilm import CROSS_ENCODER
from memoranda.providers.embedding.multilingual import GRAPH, WEIGHTS, MultilingualE5, WeightsFile

TEXTS = [
    "Ana is vegetarian and never flies before nine.",
    "安娜是素食者。九点之前从不坐飞机。",
    "🎉🛫 👩‍👩‍👧‍👦 see you at 9!",
    "",
    "Ünïcödé naïveté — Straße, مرحبا بالعالم, こんにちは",
    "Ana told me about her trip to Lisbon, the food and the late flight. " * 2,
]
WORD_TABLE = "embeddings.word_embeddings.weight"
ERF = np.frompyfunc(math.erf, 1, 1)


def norm(x, weights, name):
    """Layer normalisation over the last axis."""
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def dense(x, weights, name):
    """An affine map."""
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def softmax(x):
    """Normalised exponentials of the last axis."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def gelu(x):
    """The exact Gaussian error linear unit."""
    return 0.5 * x * (1 + ERF(x / math.sqrt(2)).astype(np.float64))


def attend(x, weights, name, heads=12):
    """Each head mixes the values by the likeness of its queries and keys."""
    parts = [dense(x, weights, f"{name}.self.{part}") for part in ("query", "key", "value")]
    mixed = []
    for query, key, value in zip(*(np.split(part, heads, axis=1) for part in parts), strict=True):
        mixed.append(softmax(query @ key.T / math.sqrt(query.shape[1])) @ value)
    return dense(np.concatenate(mixed, axis=1), weights, f"{name}.output.dense")


def encode(tokens, weights, layers, kinds=0):
    """Return the last layer of one sequence of token ids of these types, and the layer before."""
    x = (
        weights[WORD_TABLE][tokens].astype(np.float64)
        + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        + weights["embeddings.token_type_embeddings.weight"][kinds]
    )
    x = norm(x, weights, "embeddings.LayerNorm")
    before = x
    for number in range(layers):
        before, layer = x, f"encoder.layer.{number}"
        attended = x + attend(x, weights, f"{layer}.attention")
        x = norm(attended, weights, f"{layer}.attention.output.LayerNorm")
        inner = gelu(dense(x, weights, f"{layer}.intermediate.dense"))
        x = x + dense(inner, weights, f"{layer}.output.dense")
        x = norm(x, weights, f"{layer}.output.LayerNorm")
    return x, before


def read(tokens, weights, layers):
    """Return the mean of the last layer of one sequence of token ids, and the layer before."""
    last, before = encode(tokens, weights, layers)
    return last.mean(0), before


def unit(x):
    """Return vectors of length one."""
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_vectors_are_those_of_an_independent_forward_pass(minilm, published):
    """Every language and length gives the published model's vector, as near as bytes can be."""
    weights = load_file(published.weights)
    tokenizer = Tokenizer.from_file(str(published.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    ids = [tokenizer.encode(text).ids for text in TEXTS]
    expected = np.stack([unit(read(each, weights, 6)[0]) for each in ids])
    vectors = np.concatenate([minilm._loaded().run([each])[0] for each in ids])
    likeness = (vectors * expected).sum(axis=1)
    assert likeness.min() >= 0.997
    assert likeness.mean() >= 0.999


def test_scores_of_answers_are_those_of_an_independent_forward_pass(minilm, published):
    """The published weights with the adapters of the graph added give its scores, in any batch."""
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(CROSS_ENCODER, load_external_data=False).graph.initializer
    trained = {
        each.name.removesuffix(".half"): onnx.numpy_helper.to_array(each).astype(np.float64)
        for each in graph
        if each.name.endswith(".half")
    }
    weights = load_file(published.weights)
    for name in (each.removesuffix(".up") for each in trained if each.endswith(".up")):
        added = trained[f"{name}.down"] @ trained[f"{name}.up"]
        weights[f"{name}.weight"] = weights[f"{name}.weight"] + added.T
    tokenizer = Tokenizer.from_file(str(published.tokenizer))
    tokenizer.no_padding()
    expected = []
    for text in TEXTS[:3] + TEXTS[5:]:
        pair = tokenizer.encode("When does Ana fly?", text)
        kinds = np.array(pair.type_ids)
        last = encode(pair.ids, weights, 6, kinds)[0]
        asked, told = last[kinds == 0].mean(0), last[kinds == 1].mean(0)
        both = np.concatenate([asked, told, 4 * asked * told, np.abs(asked - told)])
        inner = gelu(both @ trained["head.inner.weight"] + trained["head.inner.bias"])
        expected += (inner @ trained["head.outer.weight"] + trained["head.outer.bias"]).tolist()
    scores = minilm.score("When does Ana fly?", TEXTS[:3] + TEXTS[5:])
    assert scores == pytest.approx(expected, abs=0.5)
    assert np.std(expected) > 1


# What the published file of the other model calls the tensors of a layer.
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


def floats(file, name, columns):
    """Return a tensor of the published file, block by block: a scale, and 32 numbers of 4 bits."""
    quantized, start, size = file._places[name]
    part = bytes(file._data[start : start + size])
    if not quantized:
        return (
            np.frombuffer(part, "<f4")
            .astype(np.float64)
            .reshape(-1, columns if name.startswith("emb") else 1)
            .squeeze()
        )
    blocks = np.frombuffer(part, np.uint8).reshape(-1, 18)
    codes = np.stack([blocks[:, 2:] % 16, blocks[:, 2:] // 16], axis=1).astype(np.float64) - 8
    scales = np.frombuffer(blocks[:, :2].tobytes(), "<f2").astype(np.float64)
    return (codes * scales[:, None, None]).reshape(-1, columns)


@pytest.mark.slow
def test_vectors_in_many_languages_are_those_of_an_independent_forward_pass(multilingual):
    """So are its tokens', of the layer before; what all vectors share is taken from both."""
    onnx = pytest.importorskip("onnx")
    file = WeightsFile(MultilingualE5.find() / WEIGHTS.name)
    weights = {
        "embeddings.LayerNorm.weight": floats(file, "emb.ln.w", 384),
        "embeddings.LayerNorm.bias": floats(file, "emb.ln.b", 384),
        "embeddings.position_embeddings.weight": floats(file, "emb.pos", 384),
        "embeddings.token_type_embeddings.weight": floats(file, "emb.type", 384),
    }
    for number in range(12):
        for part, short in PARTS.items():
            name, columns = f"encoder.layer.{number}.{part}", 1536 if short == "fo" else 384
            matrix, bias = (floats(file, f"l{number}.{short}.{kind}", columns) for kind in "wb")
            weights |= {f"{name}.weight": matrix, f"{name}.bias": bias.ravel()}
    graph = onnx.load(GRAPH, load_external_data=False).graph.initializer
    fixed = {each.name: onnx.numpy_helper.to_array(each) for each in graph if each.raw_data}
    for text in ("Ana never flies before nine.", "安娜从不在九点之前坐飞机。", "สมชาย 🎂"):
        model = multilingual._loaded()
        ids, _ = model.read(text)
        words = model.inputs(np.array([ids]))["words"][0].astype(np.float64)
        pooled, tokens = read(range(len(ids)), weights | {WORD_TABLE: words}, 12)
        found = model.run([ids])
        for name, expected, vectors in zip(
            ("embedding", "tokens"), (pooled[None], tokens), (found[0], found[1][0]), strict=True
        ):
            along = fixed[f"{name}_languages"].astype(np.float64)
            own = unit(expected) - fixed[f"{name}_mean"]
            own -= own @ along @ along.T
            assert (unit(own) * unit(vectors)).sum(axis=-1).min() >= 0.97

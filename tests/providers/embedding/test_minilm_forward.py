"""MiniLM's vectors against an independent BERT pass in float64 with the published weights.

The pass is written from the papers and takes one text at a time, so that there is
neither padding nor a mask: a post-norm transformer encoder (Vaswani et al. 2017,
Devlin et al. 2019), then the mean of the last layer's rows, scaled to unit length
(Reimers and Gurevych 2019).
"""

import math

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

TEXTS = [
    "Ana is vegetarian and never flies before nine.",
    "安娜是素食者。九点之前从不坐飞机。",
    "🎉🛫 👩‍👩‍👧‍👦 see you at 9!",
    "",
    "Ünïcödé naïveté — Straße, مرحبا بالعالم, こんにちは",
    "Ana told me about her trip to Lisbon, the food and the late flight. " * 2,
]
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


def embed(tokens, weights):
    """Return the unit vector of one sequence of token ids."""
    x = (
        weights["embeddings.word_embeddings.weight"][tokens].astype(np.float64)
        + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = norm(x, weights, "embeddings.LayerNorm")
    for number in range(6):
        layer = f"encoder.layer.{number}"
        attended = x + attend(x, weights, f"{layer}.attention")
        x = norm(attended, weights, f"{layer}.attention.output.LayerNorm")
        inner = gelu(dense(x, weights, f"{layer}.intermediate.dense"))
        x = x + dense(inner, weights, f"{layer}.output.dense")
        x = norm(x, weights, f"{layer}.output.LayerNorm")
    pooled = x.mean(0)
    return pooled / np.linalg.norm(pooled)


def test_vectors_are_those_of_an_independent_forward_pass(minilm, published):
    """Every language and length gives the published model's vector, as near as bytes can be."""
    weights = load_file(published.weights)
    tokenizer = Tokenizer.from_file(str(published.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    expected = np.stack([embed(tokenizer.encode(text).ids, weights) for text in TEXTS])
    vectors = minilm.embed(TEXTS)
    likeness = (vectors * expected).sum(axis=1)
    assert likeness.min() >= 0.997
    assert likeness.mean() >= 0.999

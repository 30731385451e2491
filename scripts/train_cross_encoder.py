"""Train ``providers/embedding/cross_encoder.onnx``: which of some lines answers a question.

A cross-encoder (Nogueira and Cho 2019) reads a question and a line together. This one has the
weights of MiniLM, as the embedder does, and beside them low-rank adapters (Hu et al. 2021) and a
head of its own, which are all that is trained and all that the graph holds: some 1.5 MB.

``training/*.json`` hold invented people with what they typed, and questions with the lines that
answer them. Chat without a model is told the lines, and gives for each question the hits that it
would choose from. Of these the right one is to be likeliest, with what their places in that order
say (``PLACE``) added in four of ten questions, so that the reading is no mere repetition of it;
and "nothing answers" is to be likeliest where the right ones are left out, in three of ten.

Run: ``PYTHONPATH=. python scripts/train_cross_encoder.py`` (needs the ``dev`` extra, torch and
safetensors; an hour or two on two cores). The people of ``benchmarks/answering.json`` are no part
of it.
"""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from benchmarks.answering import find_lines, told_lines
from benchmarks.people import PAUSE
from build_minilm_graph import HEADS, HIDDEN, LAYERS, ROOM, Graph, finish, gelu, read_tokens
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from memoranda.agent.answers import MemoryAnswerer
from memoranda.providers.embedding.local_model import padded
from memoranda.providers.embedding.model_files import TOKENIZER, WEIGHTS, find
from memoranda.providers.reranking import MOST_READ, PLACE

TRAINING = Path(__file__).parents[1] / "training"
TARGET = ROOM / "cross_encoder.onnx"
# Tokens of a pair, and the first hits that are learned from beside the right ones.
MOST_TOKENS, COMPARED = 128, 8
RANK, HEAD_SIZE = 16, 64
PASSES, QUESTIONS_AT_ONCE, RATE, WARM_UP = 3, 16, 5e-4, 50
DROPPED = 0.1
# Shares of the questions that are learned with their order, and without their right lines.
ORDERED, UNANSWERED = 0.4, 0.3
PRODUCT = 4.0  # of the two means, which are smaller multiplied than apart
SEED = 0
PIECES = 4  # of a batch, by length, so that little of it is padding


class Question(NamedTuple):
    """A question, the hits that chat has to choose from, best first, and which of them answer."""

    text: str
    hits: tuple[str, ...]
    right: tuple[bool, ...]


def read_questions(path: Path) -> Iterator[Question]:
    """Yield the questions of a file of people, with what chat finds."""
    for person in json.loads(path.read_text("utf-8")):
        lines = person["lines"]
        with told_lines(lines) as (memory, clock):
            chat, answerer = memory.conversation("later"), MemoryAnswerer(memory)
            for question in person["questions"]:
                clock.advance(PAUSE)
                asked = chat.add("user", question["ask"], timestamp=clock.now())
                found = [hit.record for hit in answerer.recall("later", asked)[:MOST_READ]]
                answers = set(question["answers"])
                right = (not answers.isdisjoint(find_lines(memory, lines, each)) for each in found)
                yield Question(question["ask"], tuple(each.content for each in found), tuple(right))


class AdaptedLinear(nn.Module):
    """A linear layer whose published weights stay, beside a low-rank adapter that is trained."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        """Begin with an adapter that changes nothing."""
        super().__init__()
        outputs, inputs = weight.shape
        self.register_buffer("weight", weight.bfloat16())
        self.register_buffer("bias", bias.bfloat16())
        self.down = nn.Parameter(torch.randn(RANK, inputs) * 0.05)
        self.up = nn.Parameter(torch.zeros(outputs, RANK))

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of both."""
        low = functional.linear(x, self.down.bfloat16())
        added = functional.linear(low, self.up.bfloat16())
        return functional.linear(x, self.weight, self.bias) + added


class CrossEncoder(nn.Module):
    """Reads pairs of a question and a line; gives of each how likely the line answers it."""

    def __init__(self, published: dict[str, Tensor]) -> None:
        """Take the weights of MiniLM."""
        super().__init__()
        self.published = {name: value.float() for name, value in published.items()}
        self.layers = nn.ModuleDict()
        for name in linear_names():
            weight, bias = (self.published[f"{name}.{part}"] for part in ("weight", "bias"))
            self.layers[name.replace(".", "/")] = AdaptedLinear(weight, bias)
        self.drop = nn.Dropout(DROPPED)
        self.inner, self.outer = nn.Linear(4 * HIDDEN, HEAD_SIZE), nn.Linear(HEAD_SIZE, 1)
        nn.init.normal_(self.outer.weight, std=0.05)
        nn.init.zeros_(self.outer.bias)
        # That nothing answers: with the order, and beside it.
        self.nothing = nn.Parameter(torch.zeros(2))

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        """Return a score for each pair of a batch, all of shape ``[batch, length]``."""
        x = self._word("word")[ids] + self._word("position")[: ids.shape[1]]
        x = self._normalise(x + self._word("token_type")[kinds], "embeddings.LayerNorm")
        x, hidden = self.drop(x).bfloat16(), (1 - mask[:, None, None]).bfloat16() * -1e9
        for number in range(LAYERS):
            x = self._layer(x, hidden, f"encoder.layer.{number}")
        x = x.float()
        asked, told = (
            (x * part[..., None]).sum(1) / part.sum(1, keepdim=True)
            for part in (mask * (1 - kinds), mask * kinds)
        )
        both = [asked, told, PRODUCT * asked * told, (asked - told).abs()]
        scores: Tensor = self.outer(functional.gelu(self.inner(torch.cat(both, 1))))[:, 0]
        return scores

    def head_tensors(self) -> dict[str, Any]:
        """Return the tensors of the head, matrices as they are multiplied from the right."""
        named = {"inner": self.inner, "outer": self.outer}
        parts = {
            f"{name}.{part}": getattr(each, part)
            for name, each in named.items()
            for part in ("weight", "bias")
        }
        return {name: value.detach().numpy().T for name, value in parts.items()}

    def _word(self, name: str) -> Tensor:
        return self.published[f"embeddings.{name}_embeddings.weight"]

    def _normalise(self, x: Tensor, name: str) -> Tensor:
        parts = (self.published[f"{name}.{part}"].to(x.dtype) for part in ("weight", "bias"))
        return functional.layer_norm(x, (HIDDEN,), *parts, 1e-12)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        made: Tensor = self.layers[name.replace(".", "/")](x)
        return made

    def _layer(self, x: Tensor, hidden: Tensor, name: str) -> Tensor:
        size, length, _ = x.shape
        query, key, value = (
            self._linear(x, f"{name}.attention.self.{part}")
            .view(size, length, HEADS, HIDDEN // HEADS)
            .transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=hidden)
        mixed = mixed.transpose(1, 2).reshape(size, length, HIDDEN)
        attended = self._linear(mixed, f"{name}.attention.output.dense")
        x = self._normalise(x + attended, f"{name}.attention.output.LayerNorm")
        inner = functional.gelu(self._linear(x, f"{name}.intermediate.dense"))
        out = self.drop(self._linear(inner, f"{name}.output.dense"))
        return self._normalise(x + out, f"{name}.output.LayerNorm")


def linear_names() -> Iterator[str]:
    """Yield the names of the linear layers."""
    for number in range(LAYERS):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            yield f"encoder.layer.{number}.attention.{part}"
        yield f"encoder.layer.{number}.intermediate.dense"
        yield f"encoder.layer.{number}.output.dense"


def score(model: CrossEncoder, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Tensor:
    """Return the scores of pairs of a question and a line."""
    read = tokenizer.encode_batch(list(pairs))
    order = sorted(range(len(pairs)), key=lambda place: len(read[place].ids))
    step = math.ceil(len(order) / PIECES)
    parts = []
    for start in range(0, len(order), step):
        rows = [read[place] for place in order[start : start + step]]
        given = (
            [each.ids for each in rows],
            [each.type_ids for each in rows],
            [each.attention_mask for each in rows],
        )
        parts.append(model(*(torch.from_numpy(padded(each)) for each in given)))
    scores = torch.cat(parts)
    return scores[torch.tensor(order).argsort()]


def loss_of(model: CrossEncoder, question: Question, scores: Tensor, chance: random.Random) -> Any:
    """Return the loss of a question: how unlikely its right lines are, or that nothing answers."""
    right, ordered = torch.tensor(question.right), chance.random() < ORDERED
    places = torch.arange(1, len(right) + 1)
    told = scores + PLACE / places if ordered else scores
    nothing = model.nothing.sum() if ordered else model.nothing[0]
    if chance.random() < UNANSWERED:
        return torch.logsumexp(torch.cat([nothing[None], told[~right]]), 0) - nothing
    every = torch.cat([nothing[None], told])
    return torch.logsumexp(every, 0) - torch.logsumexp(told[right], 0)


def compared(question: Question) -> Question:
    """Return a question with the lines that it is learned with."""
    kept = [at for at, right in enumerate(question.right) if at < COMPARED or right]
    hits, right = (tuple(part[at] for at in kept) for part in question[1:])
    return Question(question.text, hits, right)


def train(model: CrossEncoder, tokenizer: Tokenizer, questions: Sequence[Question]) -> None:
    """Train the adapters and the head."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)  # noqa: S311 - no secret hangs on it
    learned = [compared(each) for each in questions]
    learned = [each for each in learned if any(each.right) and not all(each.right)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.05)
    steps = PASSES * (len(learned) // QUESTIONS_AT_ONCE)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / WARM_UP) * max(0.02, 1 - step / steps)
    )
    model.train()
    for passing in range(PASSES):
        chance.shuffle(learned)
        total = 0.0
        for start in range(0, len(learned) - QUESTIONS_AT_ONCE + 1, QUESTIONS_AT_ONCE):
            batch = learned[start : start + QUESTIONS_AT_ONCE]
            pairs = [(each.text, hit) for each in batch for hit in each.hits]
            parts = score(model, tokenizer, pairs).split([len(each.hits) for each in batch])
            lost = [loss_of(model, *each, chance) for each in zip(batch, parts, strict=True)]
            loss = torch.stack(lost).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        mean = total / (len(learned) // QUESTIONS_AT_ONCE)
        print(f"pass {passing + 1} of {PASSES}: loss {mean:.3f}", flush=True)
    model.eval()


class AdaptedGraph(Graph):
    """A graph whose linear layers have adapters, and which holds what was trained itself."""

    def __init__(self, trained: dict[str, Any]) -> None:
        """Hold these tensors, by name, in two bytes a number."""
        super().__init__()
        self.tensors = trained

    def trained(self, name: str) -> str:
        """Add a trained tensor, as floats; return its name."""
        stored = f"{name}.half"
        if stored not in self._known:
            self._keep(numpy_helper.from_array(self.tensors[name].astype(np.float16), stored))
        return self.add("Cast", stored, to=TensorProto.FLOAT)

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """Add the adapter of a layer to what the layer gives."""
        plain = super().linear(x, name, inputs, outputs)
        low = self.add("MatMul", x, self.trained(f"{name}.down"))
        return self.add("Add", plain, self.add("MatMul", low, self.trained(f"{name}.up")))


def build(model: CrossEncoder) -> onnx.ModelProto:
    """Return the trained model as a graph on the weights of MiniLM.

    It takes int64 ``input_ids``, ``token_type_ids`` and ``attention_mask``, all of shape ``[batch,
    length]``, and gives float32 ``score [batch]``.
    """
    trained = {f"head.{name}": value for name, value in model.head_tensors().items()}
    for name, layer in model.layers.items():
        plain = name.replace("/", ".")
        trained[f"{plain}.down"] = layer.down.detach().numpy().T
        trained[f"{plain}.up"] = layer.up.detach().numpy().T
    graph = AdaptedGraph(trained)
    x = read_tokens(graph, "token_type_ids")
    two = graph.integers("two", [2])
    mask, kinds = (
        graph.add("Cast", graph.add("Unsqueeze", name, two), to=TensorProto.FLOAT)
        for name in ("attention_mask", "token_type_ids")
    )
    told = graph.add("Mul", mask, kinds)
    asked, told = (_mean(graph, x, part) for part in (graph.add("Sub", mask, told), told))
    product = graph.add("Mul", graph.add("Mul", asked, told), graph.number("product", PRODUCT))
    apart = graph.add("Abs", graph.add("Sub", asked, told))
    both = graph.add("Concat", asked, told, product, apart, axis=-1)
    inner = graph.add("MatMul", both, graph.trained("head.inner.weight"))
    inner = gelu(graph, graph.add("Add", inner, graph.trained("head.inner.bias")))
    outer = graph.add("MatMul", inner, graph.trained("head.outer.weight"))
    outer = graph.add("Add", outer, graph.trained("head.outer.bias"))
    one = graph.integers("one", [1])
    graph.nodes.append(helper.make_node("Squeeze", [outer, one], ["score"], name="score"))
    given = ("input_ids", "token_type_ids", "attention_mask")
    return finish(graph, "cross-encoder", given, {"score": ["batch"]})


def _mean(graph: Graph, x: str, part: str) -> str:
    """Add the mean of the tokens that are a part of a text."""
    one = graph.integers("one", [1])
    total = graph.add("ReduceSum", graph.add("Mul", x, part), one, keepdims=0)
    return graph.add("Div", total, graph.add("ReduceSum", part, one, keepdims=0))


def main() -> None:
    """Train, and write the graph into the package."""
    torch.set_num_threads(os.cpu_count() or 1)
    folder = find()
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER.name))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    questions = [each for path in sorted(TRAINING.glob("*.json")) for each in read_questions(path)]
    torch.manual_seed(SEED)
    model = CrossEncoder(load_file(folder / WEIGHTS.name))
    train(model, tokenizer, questions)
    data = build(model).SerializeToString(deterministic=True)
    TARGET.write_bytes(data)
    print(f"{TARGET}: {len(data)} bytes; nothing: {model.nothing.tolist()}")


if __name__ == "__main__":
    main()

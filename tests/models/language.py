"""Language models as programs for MindSpore have them, small."""

import math

import mindspore as ms
import mindspore.common.dtype as mstype
import mindspore.numpy as mnp
import numpy as np
from mindspore import nn, ops
from mindspore.common.initializer import Uniform, initializer
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.ops import functional as F
from mindspore.ops import operations as P


class RMSNorm(nn.Cell):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight, self.eps = Parameter(initializer("ones", (dim,), mstype.float32)), eps

    def construct(self, x):
        scale = ops.rsqrt(x.pow(2).mean(-1, keep_dims=True) + self.eps)
        return (x * scale).astype(x.dtype) * self.weight


def turned(x):
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return ops.cat((-second, first), axis=-1)


class GroupedAttention(nn.Cell):
    """Rotary positions; two heads of queries share keys and values; earlier ones may be handed
    in."""

    def __init__(self, dim, heads=4, shared=2, longest=16):
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, dim // heads
        self.q = nn.Dense(dim, dim, has_bias=False)
        self.kv = nn.Dense(dim, 2 * shared * self.size, has_bias=False)
        self.o = nn.Dense(dim, dim, has_bias=False)
        angle = np.outer(np.arange(longest), 100.0 ** -np.linspace(0, 1, self.size // 2))
        angle = np.concatenate((angle, angle), -1)
        self.cos, self.sin = Tensor(np.cos(angle), ms.float32), Tensor(np.sin(angle), ms.float32)

    def construct(self, x, positions, mask, past=None):
        b, n, _ = x.shape
        q = self.q(x).view(b, n, self.heads, self.size).swapaxes(1, 2)
        kv = self.kv(x).view(b, n, 2 * self.shared, self.size).swapaxes(1, 2)
        k, v = kv[:, : self.shared], kv[:, self.shared :]
        cos, sin = self.cos[positions], self.sin[positions]
        q, k = q * cos + turned(q) * sin, k * cos + turned(k) * sin
        if past is not None:
            k, v = ops.cat((past[0], k), 2), ops.cat((past[1], v), 2)
        present = (k, v)
        times = self.heads // self.shared
        k, v = ops.repeat_interleave(k, times, 1), ops.repeat_interleave(v, times, 1)
        scores = ops.matmul(q, k.swapaxes(2, 3)) / math.sqrt(self.size) + mask
        scores = ops.softmax(scores, axis=-1, dtype=ms.float32).astype(x.dtype)
        out = ops.matmul(scores, v).swapaxes(1, 2).reshape(b, n, -1)
        return self.o(out), present


class Gated(nn.Cell):
    """A decoder's layers run over the text, then over one more word with what they kept."""

    def __init__(self, vocab=11, dim=8, num_classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norms = nn.CellList([RMSNorm(dim) for _ in range(3)])
        self.attention = nn.CellList([GroupedAttention(dim, 4, 2) for _ in range(2)])
        self.gate, self.up = nn.Dense(dim, 12, has_bias=False), nn.Dense(dim, 12, has_bias=False)
        self.down, self.act = nn.Dense(12, dim, has_bias=False), ops.silu
        self.head = nn.Dense(dim, num_classes, has_bias=False)

    def run(self, ids, positions, mask, past=None):
        x, kept = self.embed(ids), []
        for i, layer in enumerate(self.attention):
            y, present = layer(self.norms[i](x), positions, mask, past[i] if past else None)
            kept.append(present)
            x = x + y
            x = x + self.down(self.act(self.gate(x)) * self.up(x))
        return self.norms[-1](x), kept

    def construct(self, ids):
        n = ids.shape[1]
        mask = ops.triu(ops.full((n, n), -1e4, dtype=ms.float32), 1)
        _, kept = self.run(ids, ops.arange(n), mask)
        x, _ = self.run(ids[:, :1], ops.arange(n, n + 1), ops.zeros((1, n + 1), ms.float32), kept)
        return self.head(x[:, -1])


class Buckets(nn.Cell):
    """Attention biased by distances in buckets that grow; the head is the table of words."""

    def __init__(self, vocab=11, dim=8, heads=2, buckets=6):
        super().__init__()
        self.shared = nn.Embedding(vocab, dim)
        self.bias = Parameter(initializer(Uniform(0.1), [buckets, heads]), name="bias")
        self.project = nn.Dense(dim, 3 * dim, has_bias=False)
        self.heads, self.buckets = heads, buckets
        self.one_hot, self.batch_matmul = nn.OneHot(depth=buckets), P.BatchMatMul(transpose_b=True)

    def bucket(self, distance):
        exact = self.buckets // 2
        far = ops.log(ops.maximum(distance, 1).astype(ms.float32) / exact) / math.log(4.0)
        far = ops.minimum(exact + (far * exact).astype(ms.int32), self.buckets - 1)
        return ops.where(distance < exact, distance, far)

    def construct(self, ids):
        def by_heads(x):
            return P.Transpose()(
                F.reshape(x, (x.shape[0], x.shape[1], self.heads, -1)), (0, 2, 1, 3)
            )

        x = self.shared(ids)
        place = F.tuple_to_array(F.make_range(ids.shape[1])).astype(ms.int32)
        distance = ops.maximum(place.expand_dims(1) - place.expand_dims(0), 0)
        bias = ops.matmul(self.one_hot(self.bucket(distance)), self.bias).permute((2, 0, 1))
        q, k, v = map(by_heads, ops.split(self.project(x), x.shape[-1], -1))
        scores = self.batch_matmul(q, k)
        scores += bias.unsqueeze(0)
        y = ops.matmul(ops.softmax(scores), v).swapaxes(1, 2).reshape(x.shape)
        return P.MatMul(transpose_b=True)((x + y).mean(1), self.shared.embedding_table)[:, :5]


class Experts(nn.Cell):
    """Each text goes to the two experts that a gate likes best."""

    def __init__(self, vocab=11, dim=6, count=3, num_classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.gate = nn.Dense(dim, count, has_bias=False)
        self.experts = nn.CellList(
            [nn.SequentialCell(nn.Dense(dim, 7), nn.Tanh(), nn.Dense(7, num_classes))
             for _ in range(count)]
        )  # fmt: skip
        self.top, self.one_hot, self.count = P.TopK(), P.OneHot(), count
        self.on, self.off = Tensor(1.0, mstype.float32), Tensor(0.0, mstype.float32)

    def construct(self, ids):
        x = self.embed(ids).sum(1)
        likes, which = self.top(ops.softmax(self.gate(x)), 2)
        likes = likes / likes.sum(-1, keepdims=True)
        share = (self.one_hot(which, self.count, self.on, self.off) * likes.expand_dims(-1)).sum(1)
        out = 0
        for i, expert in enumerate(self.experts):
            out = out + share[:, i : i + 1] * expert(x)
        return out


class Chain(nn.Cell):
    """Tags of words as a chain: how likely each is at the end, by the forward sums."""

    def __init__(self, vocab=11, hidden=4, tags=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 3)
        self.lstm = nn.LSTM(3, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Dense(2 * hidden, tags, "he_uniform")
        self.start = Parameter(initializer(Uniform(0.1), (tags,)), name="start")
        self.trans = Parameter(initializer(Uniform(0.1), (tags, tags)), name="trans")

    def construct(self, ids):
        lengths = (ids > 3).astype(ms.int32).sum(axis=1) + 1
        out, _ = self.lstm(self.embedding(ids))
        emissions = self.fc(out).swapaxes(0, 1)
        inside = mnp.arange(0, ids.shape[1], 1, ms.int32).expand_dims(1) < lengths
        score = self.start + emissions[0]
        for i in range(1, emissions.shape[0]):
            step = score.expand_dims(2) + self.trans + emissions[i].expand_dims(1)
            score = mnp.where(inside[i].expand_dims(1), ops.logsumexp(step, 1), score)
        return score

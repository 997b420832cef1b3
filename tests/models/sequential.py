"""Nets of attention and recurrence as programs for MindSpore have them, small."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import TruncatedNormal, initializer


class Attention(nn.Cell):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Dense(dim, dim * 3), nn.Dense(dim, dim)
        self.softmax = nn.Softmax(axis=-1)
        self.batch_mm = ops.BatchMatMul()

    def construct(self, x, mask=None):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.num_heads, c // self.num_heads)
        q, k, v = ops.unstack(qkv.transpose(2, 0, 3, 1, 4))
        attn = self.batch_mm(q, k.swapaxes(-2, -1)) * self.scale
        if mask is not None:
            windows = mask.shape[0]
            attn = attn.view(b // windows, windows, self.num_heads, n, n)
            attn = attn + mask.expand_dims(1).expand_dims(0)
            attn = attn.view(-1, self.num_heads, n, n)
        attn = self.softmax(attn)
        return self.proj(self.batch_mm(attn, v).transpose(0, 2, 1, 3).reshape(b, n, c))


class Mlp(nn.Cell):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Dense(dim, hidden), nn.GELU(), nn.Dense(hidden, dim)

    def construct(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Cell):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm((dim,)), Attention(dim, num_heads)
        self.norm2, self.mlp = nn.LayerNorm((dim,)), Mlp(dim, 2 * dim)

    def construct(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Cell):
    def __init__(self, num_classes=5, dim=8):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 4, 4, pad_mode="valid", has_bias=True)
        self.cls_token = Parameter(initializer(TruncatedNormal(0.02), (1, 1, dim), ms.float32))
        self.pos_embed = Parameter(initializer(TruncatedNormal(0.02), (1, 5, dim), ms.float32))
        self.blocks = nn.CellList([Block(dim, 2) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm((dim,)), nn.Dense(dim, num_classes)

    def construct(self, x):
        x = self.patch_embed(x)
        b, c = x.shape[0], x.shape[1]
        x = ops.transpose(ops.reshape(x, (b, c, -1)), (0, 2, 1))
        x = ops.concat((ops.tile(self.cls_token, (b, 1, 1)), x), 1)
        x = x + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def window_partition(x, size):
    b, h, w, c = x.shape
    x = x.reshape(b, h // size, size, w // size, size, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, size * size, c)


def window_reverse(x, size, h, w):
    b = x.shape[0] // (h * w // size // size)
    x = x.reshape(b, h // size, w // size, size, size, -1)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, h, w, -1)


def shifted(x, by):
    """Rows and columns moved up and left, round the edges (ops.roll has no kernel everywhere)."""
    x = ops.concat((x[:, by:], x[:, :by]), 1)
    return ops.concat((x[:, :, by:], x[:, :, :by]), 2)


class Swin(nn.Cell):
    """Windows, shifted ones with a mask, and patches merged."""

    def __init__(self, num_classes=5, dim=6):
        super().__init__()
        self.embed = nn.Conv2d(3, dim, 2, 2, pad_mode="valid")
        self.norm1, self.attn1 = nn.LayerNorm((dim,)), Attention(dim, 2)
        self.norm2, self.attn2 = nn.LayerNorm((dim,)), Attention(dim, 2)
        region = np.zeros((1, 4, 4, 1), np.float32)
        for number, (rows, columns) in enumerate(
            (r, c) for r in (slice(0, -1), slice(-1, None)) for c in (slice(0, -1), slice(-1, None))
        ):
            region[:, rows, columns] = number
        parts = region.reshape(1, 2, 2, 2, 2, 1).transpose(0, 1, 3, 2, 4, 5).reshape(4, 4)
        mask = np.where(parts[:, None] != parts[:, :, None], -100.0, 0.0).astype(np.float32)
        self.attn_mask = Tensor(mask)
        self.reduction = nn.Dense(4 * dim, 2 * dim, has_bias=False)
        self.head = nn.Dense(2 * dim, num_classes)

    def construct(self, x):
        x = self.embed(x).transpose(0, 2, 3, 1)
        b, h, w, _ = x.shape
        y = self.attn1(window_partition(self.norm1(x), 2))
        x = x + window_reverse(y, 2, h, w)
        y = shifted(self.norm2(x), 1)
        y = self.attn2(window_partition(y, 2), self.attn_mask)
        x = x + shifted(window_reverse(y, 2, h, w), h - 1)
        x = x.reshape(b, h // 2, 2, w // 2, 2, -1).transpose(0, 1, 3, 4, 2, 5)
        x = x.reshape(b, h // 2, w // 2, -1)
        return self.head(self.reduction(x).mean((1, 2)))


class Mixer(nn.Cell):
    def __init__(self, num_classes=5, dim=6):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 4, 4, pad_mode="pad", padding=0, has_bias=True)
        self.norm1, self.tokens = nn.LayerNorm((dim,)), Mlp(4, 8)
        self.norm2, self.channels = nn.LayerNorm((dim,)), Mlp(dim, 8)
        self.head = nn.Dense(dim, num_classes)

    def construct(self, x):
        x = self.patch(x)
        x = x.view(x.shape[0], x.shape[1], -1).swapaxes(1, 2)
        x = x + self.tokens(self.norm1(x).swapaxes(1, 2)).swapaxes(1, 2)
        x = x + self.channels(self.norm2(x))
        return self.head(ops.ReduceMean()(x, 1))


class Tagger(nn.Cell):
    def __init__(self, vocab=11, dim=4, hidden=5, num_classes=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Dense(2 * hidden, num_classes)

    def construct(self, ids):
        x = self.embedding(ids)
        out, (h, _) = self.lstm(x)
        return self.fc(out[:, -1] + ops.tanh(h[-1]).sum(-1, keepdims=True))


class Translator(nn.Cell):
    def __init__(self, vocab=11, dim=8, num_classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        position = np.arange(6)[:, None] / 10.0 ** (np.arange(dim)[None] / dim)
        self.positions = Tensor(np.sin(position).astype(np.float32))
        self.transformer = nn.Transformer(dim, 2, 1, 1, 12, dropout=0.0, batch_first=True)
        self.out = nn.Dense(dim, num_classes)
        self.ahead = Tensor(np.triu(np.ones((6, 6), bool), 1))

    def construct(self, ids):
        x = self.embed(ids) * (8**0.5) + self.positions
        y = self.transformer(x, ops.flip(x, (1,)), tgt_mask=self.ahead)
        return self.out(y).mean(1)

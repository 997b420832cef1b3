"""Nets around formulas: flows, filters, rays and graphs, as programs for MindSpore have them."""

import math

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import XavierUniform, initializer
from mindspore.nn.cell import Cell


class Flow(Cell):
    """Affine couplings; each class has its own normal distribution at the end."""

    def __init__(self, dim=8, layers=3, num_classes=5):
        super().__init__()
        masks = (np.arange(dim)[None] + np.arange(layers)[:, None]) % 2
        self.mask = Parameter(Tensor(masks, ms.float32), requires_grad=False)
        self.shift = nn.CellList([nn.Dense(dim, dim, activation="tanh") for _ in range(layers)])
        self.scale = nn.CellList([nn.Dense(dim, dim, activation="tanh") for _ in range(layers)])
        self.centres = Parameter(initializer("normal", (num_classes, dim)), name="centres")

    def construct(self, x):
        z, volume = x[:, 0, 0], ops.zeros(x.shape[0], ms.float32)
        for i in reversed(range(len(self.shift))):
            kept = self.mask[i] * z
            s, t = self.scale[i](kept) * (1 - self.mask[i]), self.shift[i](kept)
            z = kept + (1 - self.mask[i]) * (z - t) * ops.exp(-s)
            volume -= s.sum(axis=1)
        distance = ((z[:, None] - self.centres) ** 2).sum(-1)
        return volume[:, None] - 0.5 * (distance + z.shape[1] * math.log(2 * math.pi))


class Trajectory(Cell):
    """A state that follows a learned law, by Runge and Kutta's steps."""

    def __init__(self, dim=4, steps=5, num_classes=5):
        super().__init__()
        self.begin, self.end = nn.Dense(24, dim), nn.Dense(dim, num_classes)
        self.law = nn.SequentialCell(nn.Dense(dim, 6), nn.Tanh(), nn.Dense(6, dim))
        self.steps, self.h = steps, 0.2

    def slope(self, t, y):
        return self.law(y**3) * ops.cos(t)

    def construct(self, x):
        y, t = self.begin(x[:, :, 0].reshape((x.shape[0], -1))), ops.zeros((), ms.float32)
        for _ in range(self.steps):
            a = self.slope(t, y)
            b = self.slope(t + self.h / 2, y + self.h / 2 * a)
            c = self.slope(t + self.h / 2, y + self.h / 2 * b)
            d = self.slope(t + self.h, y + self.h * c)
            y = y + self.h / 6 * (a + 2 * b + 2 * c + d)
            t += self.h
        return self.end(y)


class Filters(Cell):
    """How well each of five Kalman filters foretells a row of numbers."""

    def __init__(self, count=5, dim=2):
        super().__init__()
        self.law = Parameter(initializer("ones", (count, dim, dim)), name="law")
        self.seen = Parameter(initializer("ones", (count, 1, dim)), name="seen")
        self.log_noise = Parameter(initializer("zeros", (count, dim)), name="log_noise")
        self.eye = ops.eye(dim, dim, ms.float32)

    def construct(self, x):
        rows = x[:, 0, 1]
        state, spread = ops.zeros((x.shape[0], 5, 2, 1), ms.float32), self.eye
        noise = ops.exp(self.log_noise)[:, :, None] * self.eye
        total = 0.0
        for t in range(rows.shape[1]):
            state = ops.matmul(self.law, state)
            spread = ops.matmul(ops.matmul(self.law, spread), self.law.swapaxes(1, 2)) + noise
            error = rows[:, t].reshape(-1, 1, 1, 1) - ops.matmul(self.seen, state)
            both = ops.matmul(spread, self.seen.swapaxes(1, 2))
            size = ops.matmul(self.seen, both) + 1.0
            gain = both / size
            state = state + gain * error
            spread = spread - ops.matmul(gain, ops.matmul(self.seen, spread))
            total -= 0.5 * (ops.log(size) + error * error / size)
        return total.squeeze((2, 3))


class Radiance(Cell):
    """Light along rays: densities and colours at places on them, and a running product."""

    def __init__(self, width=6, num_classes=5):
        super().__init__()
        self.bands = [2.0**k for k in range(2)]
        self.first, self.second = nn.Dense(15, width), nn.Dense(width + 15, width)
        self.density, self.colour = nn.Dense(width, 1), nn.Dense(width, num_classes)

    def embedded(self, x):
        out = [x]
        for band in self.bands:
            for wave in (ops.sin, ops.cos):
                out.append(wave(band * x))
        return ops.concat(out, -1)

    def construct(self, x):
        origin, way = x[:, :, 0, 0], x[:, :, 1, 1]
        depths = ops.linspace(0.5, 2.0, 6)
        points = self.embedded(origin[:, None] + way[:, None] * depths[:, None])
        h = ops.relu(self.first(points))
        h = ops.relu(self.second(ops.concat((points, h), -1)))
        gaps = ops.concat((depths[1:] - depths[:-1], ops.ones(1, ms.float32)))
        gaps = gaps * ops.norm(way, dim=-1, keepdim=True)
        clear = ops.exp(-ops.softplus(self.density(h)[..., 0]) * gaps)
        before = ops.concat((ops.ones_like(clear[:, :1]), ops.cumprod(clear, 1)[:, :-1]), 1)
        return (((1 - clear) * before)[..., None] * self.colour(h)).sum(1)


class GraphAttention(Cell):
    """Each node looks at those that an edge leads from; eight pixels are the nodes."""

    def __init__(self, heads=2, size=3, num_classes=5):
        super().__init__()
        self.fc = nn.Dense(3, heads * size, has_bias=False)
        self.source = Parameter(initializer(XavierUniform(), [heads, size]), name="source")
        self.sink = Parameter(initializer(XavierUniform(), [heads, size]), name="sink")
        self.heads, self.size, self.act = heads, size, nn.LeakyReLU(0.2)
        self.start = Tensor([*range(8), 0, 1, 2, 3, 5, 7, 2], ms.int32)
        self.stop = Tensor([*range(8), 3, 0, 0, 6, 6, 6, 1], ms.int32)
        self.out = nn.Dense(heads * size, num_classes)

    def message(self, x):
        feature = self.fc(x).reshape(-1, self.heads, self.size)
        pull = ops.gather((feature * self.source).sum(-1), self.start, 0)
        pull = self.act(pull + ops.gather((feature * self.sink).sum(-1), self.stop, 0))
        pull = ops.exp(pull - pull.max())
        total = ops.zeros((x.shape[0], self.heads), ms.float32)
        total = ops.tensor_scatter_add(total, self.stop.expand_dims(1), pull)
        share = pull / ops.gather(total, self.stop, 0)
        found = ops.gather(feature, self.start, 0) * share.expand_dims(-1)
        return ops.elu(ops.unsorted_segment_sum(found, self.stop, x.shape[0]))

    def construct(self, x):
        rows = []
        for i in range(x.shape[0]):
            rows.append(self.message(x[i, :, 0].T).reshape(8, -1).mean(0))
        return self.out(ops.stack(rows))

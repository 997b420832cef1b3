"""Nets that split, shuffle and join their channels, as programs for MindSpore have them, small."""

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
from mindspore import Parameter, Tensor
from mindspore.common.initializer import HeUniform, initializer
from mindspore.ops import operations as P


def conv_norm_act(cin, cout, size=3, stride=1, groups=1, act=nn.ReLU):
    return nn.SequentialCell(
        nn.Conv2d(cin, cout, size, stride, "pad", size // 2, group=groups),
        nn.BatchNorm2d(cout),
        act(),
    )


class ShuffleUnit(nn.Cell):
    """Half of the channels pass; the other half is convolved, then both are interleaved."""

    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.split = P.Split(axis=1, output_num=2)
        self.work = nn.SequentialCell(
            [conv_norm_act(half, half, 1), conv_norm_act(half, half, 3, groups=half, act=nn.HSwish)]
        )

    @staticmethod
    def interleaved(x, groups=2):
        n, c, h, w = x.shape
        x = ops.reshape(x, (n, groups, c // groups, h, w))
        return ops.transpose(x, (0, 2, 1, 3, 4)).view(n, c, h, w)

    def construct(self, x):
        kept, worked = self.split(x)
        return self.interleaved(ops.concat((kept, self.work(worked)), axis=1))


class Shuffle(nn.Cell):
    def __init__(self, num_classes=5):
        super().__init__()
        units = [conv_norm_act(3, 4, stride=2)]
        units.extend(ShuffleUnit(4) for _ in range(2))
        self.features = nn.SequentialCell(units)
        self.classifier = nn.Dense(4, num_classes)

    def construct(self, x):
        x = ops.adaptive_avg_pool2d(self.features(x), 1)
        return self.classifier(ops.flatten(x))


class Selective(nn.Cell):
    """Two reaches, and how much of each a channel takes."""

    def __init__(self, num_classes=5, channels=4):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 2)
        self.paths = nn.CellList(
            [
                nn.Conv2d(channels, channels, 3, pad_mode="pad", padding=d, dilation=d)
                for d in (1, 2)
            ]
        )
        self.squeeze = nn.SequentialCell(nn.Dense(channels, 3), nn.BatchNorm1d(3), nn.ReLU())
        self.choose = nn.Dense(3, 2 * channels)
        self.fc = nn.Dense(channels, num_classes)

    def construct(self, x):
        x = self.stem(x)
        found = []
        for path in self.paths:
            found.append(path(x))
        both = ops.stack(found, axis=1)
        weights = self.choose(self.squeeze(both.sum(1).mean((2, 3))))
        weights = ops.softmax(weights.reshape(x.shape[0], 2, -1), axis=1)
        x = (both * weights[:, :, :, None, None]).sum(axis=1)
        return self.fc(P.ReduceMean()(ops.relu(x), (2, 3)))


class Exchange(nn.Cell):
    """Branches of several sizes hand each other what they found."""

    def __init__(self, widths):
        super().__init__()
        self.branches = nn.CellList([conv_norm_act(w, w) for w in widths])
        rows = []
        for i, to in enumerate(widths):
            row = []
            for j, source in enumerate(widths):
                if i == j:
                    row.append(nn.Identity())
                else:
                    row.append(
                        nn.Conv2d(source, to, 1 if j > i else 3, 1 if j > i else 2 ** (i - j))
                    )
            rows.append(nn.CellList(row))
        self.fuse = nn.CellList(rows)

    def construct(self, xs):
        for i in range(len(self.branches)):
            xs[i] = self.branches[i](xs[i])
        fused = []
        for i, row in enumerate(self.fuse):
            total = 0
            for j, cell in enumerate(row):
                y = cell(xs[j])
                if j > i:
                    y = ops.interpolate(y, size=xs[i].shape[2:], mode="nearest")
                total = total + y
            fused.append(ops.relu(total))
        return fused


class HighResolution(nn.Cell):
    def __init__(self, num_classes=5, widths=(3, 4)):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 3, 1, weight_init=HeUniform())
        self.down = conv_norm_act(widths[0], widths[1], stride=2)
        self.stages = nn.CellList([Exchange(widths), Exchange(widths)])
        self.classifier = nn.Dense(sum(widths), num_classes)

    def construct(self, x):
        x = self.stem(x)
        xs = [x, self.down(x)]
        for stage in self.stages:
            xs = stage(xs)
        return self.classifier(ops.concat([y.mean((2, 3)) for y in xs], 1))


class StandardConv(nn.Conv2d):
    """Of its kernels, mean and spread are taken out."""

    def construct(self, x):
        w = self.weight
        w = (w - w.mean((1, 2, 3), keep_dims=True)) / ops.sqrt(
            w.var((1, 2, 3), keepdims=True) + 1e-6
        )
        y = self.conv2d(x, w)
        return self.bias_add(y, self.bias) if self.has_bias else y


class Pieces(nn.Cell):
    """Channels in pieces, each convolved with what the one before gave; channels attend."""

    def __init__(self, num_classes=5, channels=8, width=3):
        super().__init__()
        self.stem = StandardConv(3, channels, 4, 4, "valid", has_bias=True)
        self.width = width
        self.convs = nn.CellList([nn.Conv2d(width, width, 3, group=width) for _ in range(2)])
        self.temperature = Parameter(initializer("ones", (1, 1), ms.float32))
        self.qkv = nn.Dense(channels, 3 * channels, has_bias=False)
        self.head = nn.Dense(channels, num_classes)

    def pieces(self, x):
        begin, found = 0, []
        while begin + self.width < x.shape[1]:
            found.append(x[:, begin : begin + self.width])
            begin += self.width
        found.append(x[:, begin:])
        return {"pieces": found, "count": len(found)}

    def construct(self, x):
        x = self.stem(x)
        cut = self.pieces(x)
        y, out = None, []
        for i in range(cut["count"] - 1):
            piece = cut["pieces"][i]
            y = self.convs[i](piece if y is None else y + piece)
            out.append(y)
        out.append(cut["pieces"][-1])
        x = ops.concat(out, 1)
        n, c, h, w = x.shape
        tokens = x.reshape(n, c, h * w).swapaxes(1, 2)
        q, k, v = ops.chunk(self.qkv(tokens), 3, axis=-1)
        unit = ops.L2Normalize(axis=1)
        attention = ops.Softmax(-1)(ops.matmul(unit(q).swapaxes(1, 2), unit(k)) * self.temperature)
        tokens = tokens + ops.matmul(v, attention.swapaxes(1, 2))
        return self.head(tokens.mean(1))


class Detector(nn.Cell):
    """A pyramid of two levels, a box from each place, and how boxes overlap fixed ones."""

    def __init__(self, num_classes=5):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 4, 3, 2), nn.Conv2d(4, 6, 3, 2)
        self.lateral = nn.layer.CellList([nn.Conv2d(4, 4, 1), nn.Conv2d(6, 4, 1)])
        self.box = nn.Conv2d(4, 4, 1, has_bias=True)
        self.anchors = Tensor([[0.3, 0.3, 0.4, 0.2], [0.6, 0.5, 0.3, 0.9]], ms.float32)
        self.fc = nn.Dense(2, num_classes)

    def decoded(self, feature):
        n, _, rows, columns = P.Shape()(feature)
        raw = P.Transpose()(self.box(feature), (0, 2, 3, 1))
        x = P.Tile()(ms.numpy.arange(columns).reshape(1, 1, -1, 1), (1, rows, 1, 1))
        y = P.Tile()(ms.numpy.arange(rows).reshape(1, -1, 1, 1), (1, 1, columns, 1))
        size = ops.cast(ops.tuple_to_array((columns, rows)), ms.float32)
        centre = (ops.sigmoid(raw[..., :2]) + ops.concat((x, y), -1)) / size
        return ops.concat((centre, ops.exp(0.3 * raw[..., 2:4])), -1).reshape(n, -1, 1, 4)

    def construct(self, x):
        low = ops.relu(self.c1(x))
        high = self.lateral[1](ops.relu(self.c2(low)))
        low = self.lateral[0](low) + ops.ResizeNearestNeighbor(low.shape[2:])(high)
        boxes = ()
        for feature in (low, high):
            boxes += (self.decoded(feature),)
        boxes = ops.concat(boxes, 1)
        near, far = boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2
        half = self.anchors[:, 2:] / 2
        near = ops.maximum(near, self.anchors[:, :2] - half)
        far = ops.minimum(far, self.anchors[:, :2] + half)
        overlap = ops.relu(far - near).prod(-1)
        union = boxes[..., 2:].prod(-1) + self.anchors[:, 2:].prod(-1) - overlap
        return self.fc(ops.logsumexp(overlap / union, 1))

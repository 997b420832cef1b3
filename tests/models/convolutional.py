"""Convolutional nets as programs for MindSpore have them, small; the tests change the import."""

import mindspore as ms
import mindspore.common.initializer as init
from mindspore import Parameter, Tensor, nn, ops
from mindspore.ops import operations as P


class VGG(nn.Cell):
    def __init__(self, cfg=(4, "M", 8, 8, "M"), num_classes=5):
        super().__init__()
        layers, in_channels = [], 3
        for v in cfg:
            if v == "M":
                layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
            else:
                conv = nn.Conv2d(
                    in_channels, v, kernel_size=3, padding=1, pad_mode="pad", has_bias=True
                )
                layers += [conv, nn.BatchNorm2d(v), nn.ReLU()]
                in_channels = v
        self.layers = nn.SequentialCell(layers)
        self.flatten = P.Flatten()
        self.classifier = nn.SequentialCell(
            [nn.Dense(8 * 2 * 2, 16), nn.ReLU(), nn.Dropout(p=0.0), nn.Dense(16, num_classes)]
        )

    def construct(self, x):
        x = self.layers(x)
        x = self.flatten(x)
        return self.classifier(x)


class BasicBlock(nn.Cell):
    def __init__(self, in_channel, channel, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(
            in_channel, channel, 3, stride=stride, pad_mode="same", weight_init="he_normal"
        )
        self.bn1 = nn.BatchNorm2d(channel)
        self.conv2 = nn.Conv2d(channel, channel, 3, pad_mode="same")
        self.bn2 = nn.BatchNorm2d(channel)
        self.relu = nn.ReLU()
        self.down_sample = None
        if stride != 1 or in_channel != channel:
            self.down_sample = nn.SequentialCell(
                [nn.Conv2d(in_channel, channel, 1, stride=stride), nn.BatchNorm2d(channel)]
            )

    def construct(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        return self.relu(out + identity)


class ResNet(nn.Cell):
    def __init__(self, num_classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, kernel_size=7, stride=2, padding=3, pad_mode="pad")
        self.bn1 = nn.BatchNorm2d(4, eps=1e-4, momentum=0.9)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        self.layer1 = self._make_layer(4, 4, 2, 1)
        self.layer2 = self._make_layer(4, 8, 2, 2)
        self.mean = ops.ReduceMean(keep_dims=True)
        self.end_point = nn.Dense(8, num_classes)

    def _make_layer(self, in_channel, channel, count, stride):
        layers = [BasicBlock(in_channel, channel, stride)]
        for _ in range(1, count):
            layers.append(BasicBlock(channel, channel))
        return nn.SequentialCell(layers)

    def construct(self, x):
        x = ops.relu(self.bn1(self.conv1(x)))
        x = self.maxpool(x)
        x = self.layer2(self.layer1(x))
        out = ops.Flatten()(self.mean(x, (2, 3)))
        return self.end_point(out)


class SE(nn.Cell):
    def __init__(self, channels, ratio=2):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.conv_reduce = nn.Conv2d(channels, channels // ratio, 1, has_bias=True)
        self.conv_expand = nn.Conv2d(channels // ratio, channels, 1, has_bias=True)
        self.gate = nn.HSigmoid()

    def construct(self, x):
        s = self.pool(x)
        s = ops.relu(self.conv_reduce(s))
        return x * self.gate(self.conv_expand(s))


class InvertedResidual(nn.Cell):
    def __init__(self, inp, oup, stride, expand):
        super().__init__()
        hidden = inp * expand
        self.use_res = stride == 1 and inp == oup
        self.body = nn.SequentialCell(
            [
                nn.Conv2d(inp, hidden, 1),
                nn.BatchNorm2d(hidden),
                nn.HSwish(),
                nn.Conv2d(hidden, hidden, 3, stride, pad_mode="pad", padding=1, group=hidden),
                nn.BatchNorm2d(hidden),
                SE(hidden),
                nn.HSwish(),
                nn.Conv2d(hidden, oup, 1),
                nn.BatchNorm2d(oup),
            ]
        )

    def construct(self, x):
        if self.use_res:
            return x + self.body(x)
        return self.body(x)


class MobileNet(nn.Cell):
    def __init__(self, num_classes=5):
        super().__init__()
        self.stem = nn.SequentialCell(
            nn.Conv2d(3, 4, 3, 2, pad_mode="pad", padding=1), nn.BatchNorm2d(4), nn.ReLU6()
        )
        blocks = [InvertedResidual(4, 4, 1, 2), InvertedResidual(4, 8, 2, 2)]
        self.blocks = nn.CellList(blocks)
        self.head = nn.Dense(8, num_classes)
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Dense):
                cell.weight.set_data(
                    init.initializer(init.Normal(0.01), cell.weight.shape, cell.weight.dtype)
                )

    def construct(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = ops.mean(x, (2, 3))
        return self.head(x)


class DenseLayer(nn.Cell):
    def __init__(self, inp, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inp), nn.Conv2d(inp, 2 * growth, 1)
        self.norm2 = nn.BatchNorm2d(2 * growth)
        self.conv2 = nn.Conv2d(2 * growth, growth, 3, pad_mode="pad", padding=1)

    def construct(self, features):
        y = self.conv1(ops.relu(self.norm1(features)))
        y = self.conv2(ops.relu(self.norm2(y)))
        return ops.concat((features, y), 1)


class DenseNet(nn.Cell):
    def __init__(self, num_classes=5):
        super().__init__()
        self.conv0 = nn.Conv2d(3, 4, 3)
        self.block1 = nn.SequentialCell([DenseLayer(4 + 2 * k, 2) for k in range(3)])
        self.trans = nn.SequentialCell(
            [nn.BatchNorm2d(10), nn.ReLU(), nn.Conv2d(10, 5, 1), nn.AvgPool2d(2, 2)]
        )
        self.block2 = nn.SequentialCell([DenseLayer(5 + 2 * k, 2) for k in range(2)])
        self.classifier = nn.Dense(9, num_classes)

    def construct(self, x):
        x = self.block2(self.trans(self.block1(self.conv0(x))))
        return self.classifier(ops.relu(x).mean(axis=(2, 3)))


class Inception(nn.Cell):
    def __init__(self, num_classes=5):
        super().__init__()
        self.b1 = nn.Conv2d(3, 2, 1, has_bias=True)
        self.b2 = nn.SequentialCell(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.Conv2d(3, 4, 3))
        self.b3 = nn.SequentialCell(nn.Conv2d(3, 2, (1, 5)), nn.Conv2d(2, 3, (5, 1)))
        self.pool = nn.MaxPool2d(3, 1, pad_mode="same")
        self.b4 = nn.Conv2d(3, 2, 1)
        self.concat = P.Concat(axis=1)
        self.avg = nn.AvgPool2d(3, 1, pad_mode="same")
        self.fc = nn.Dense(11, num_classes)

    def construct(self, x):
        branches = (self.b1(x), self.b2(x), self.b3(x), self.b4(self.pool(x)))
        x = self.avg(ops.relu(self.concat(branches)))
        return self.fc(P.ReduceMean()(x, (2, 3)))


class ConvNextBlock(nn.Cell):
    def __init__(self, dim, scale=1e-1):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 7, pad_mode="pad", padding=3, group=dim, has_bias=True)
        self.norm = nn.LayerNorm((dim,), epsilon=1e-6)
        self.pwconv1, self.act = nn.Dense(dim, 4 * dim), nn.GELU(approximate=False)
        self.pwconv2 = nn.Dense(4 * dim, dim)
        self.gamma = Parameter(Tensor([scale] * dim, ms.float32), requires_grad=True)

    def construct(self, x):
        y = self.dwconv(x)
        y = ops.transpose(y, (0, 2, 3, 1))
        y = self.pwconv2(self.act(self.pwconv1(self.norm(y))))
        y = self.gamma * y
        return x + ops.transpose(y, (0, 3, 1, 2))


class ConvNeXt(nn.Cell):
    def __init__(self, num_classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, kernel_size=4, stride=4, pad_mode="valid", has_bias=True)
        self.blocks = nn.SequentialCell(*[ConvNextBlock(4) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm((4,), epsilon=1e-6), nn.Dense(4, num_classes)

    def construct(self, x):
        x = self.blocks(self.stem(x))
        return self.head(self.norm(x.mean([-2, -1])))


class DoubleConv(nn.Cell):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv = nn.SequentialCell(
            nn.Conv2d(in_ch, out_ch, 3),
            nn.BatchNorm2d(out_ch),
            nn.LeakyReLU(0.1),
            nn.Conv2d(out_ch, out_ch, 3),
            nn.GroupNorm(2, out_ch),
            nn.ReLU(),
        )

    def construct(self, x):
        return self.conv(x)


class UNet(nn.Cell):
    def __init__(self, num_classes=5):
        super().__init__()
        self.inc, self.down = DoubleConv(3, 4), DoubleConv(4, 8)
        self.pool = nn.MaxPool2d(2, 2)
        self.up = nn.Conv2dTranspose(8, 4, kernel_size=2, stride=2, has_bias=True)
        self.fuse = DoubleConv(8, 4)
        self.wide = nn.Upsample(scale_factor=2.0, mode="bilinear", recompute_scale_factor=True)
        self.outc = nn.Conv2d(4, num_classes, 1, has_bias=True)

    def construct(self, x):
        x1 = self.inc(x)
        x2 = self.down(self.pool(x1))
        x = self.fuse(ops.cat((x1, self.up(x2)), axis=1))
        return self.outc(self.wide(x)).mean(3).mean(2)

"""ResNet-18, of thumbnail size, reads handwritten digits.

The network is that of He et al. (2015) as it is written for small images: a first convolution of
3 x 3 without pooling, and here with a quarter of the channels.
"""

import numpy as np
from running import accuracy, batches, digits, plot_losses, progress, start

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops
from autodiff_compiler.common.initializer import HeNormal


def conv(in_channels: int, out_channels: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """A convolution that keeps the size, but for the stride."""
    return nn.Conv2d(
        in_channels, out_channels, kernel, stride=stride, pad_mode="pad", padding=kernel // 2,
        weight_init=HeNormal(mode="fan_out", nonlinearity="relu"),
    )  # fmt: skip


class BasicBlock(nn.Cell):
    """Two convolutions, and what came in added to them."""

    expansion = 1

    def __init__(
        self, in_channel: int, out_channel: int, stride: int = 1, down_sample: nn.Cell | None = None
    ):
        super().__init__()
        self.conv1 = conv(in_channel, out_channel, 3, stride)
        self.norm1 = nn.BatchNorm2d(out_channel)
        self.relu = nn.ReLU()
        self.conv2 = conv(out_channel, out_channel, 3)
        self.norm2 = nn.BatchNorm2d(out_channel)
        self.down_sample = down_sample

    def construct(self, x):
        identity = x
        out = self.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Cell):
    """Logits f32[n,classes] for images f32[n,channels,h,w]."""

    def __init__(
        self, block: type[BasicBlock], layer_nums: list[int], width: int = 64, num_channel: int = 1,
        num_classes: int = 10,
    ):  # fmt: skip
        super().__init__()
        self.in_channels = width
        self.conv1 = conv(num_channel, width, 3)
        self.norm = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.layer1 = self._make_layer(block, width, layer_nums[0])
        self.layer2 = self._make_layer(block, width * 2, layer_nums[1], stride=2)
        self.layer3 = self._make_layer(block, width * 4, layer_nums[2], stride=2)
        self.layer4 = self._make_layer(block, width * 8, layer_nums[3], stride=2)
        self.fc = nn.Dense(width * 8 * block.expansion, num_classes)

    def _make_layer(self, block, channel, block_nums, stride=1):
        down_sample = None
        if stride != 1 or self.in_channels != channel * block.expansion:
            down_sample = nn.SequentialCell(
                [conv(self.in_channels, channel * block.expansion, 1, stride),
                 nn.BatchNorm2d(channel * block.expansion)]
            )  # fmt: skip
        layers = [block(self.in_channels, channel, stride, down_sample)]
        self.in_channels = channel * block.expansion
        for _ in range(1, block_nums):
            layers.append(block(self.in_channels, channel))
        return nn.SequentialCell(layers)

    def construct(self, x):
        x = self.relu(self.norm(self.conv1(x)))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        x = ops.mean(x, (2, 3))
        return self.fc(x)


def resnet18(width: int = 16) -> ResNet:
    """Four stages of two blocks."""
    return ResNet(BasicBlock, [2, 2, 2, 2], width)


def gradient() -> str:
    """The source of the gradient."""
    net = nn.WithLossCell(resnet18(), nn.CrossEntropyLoss()).set_train()
    return ms.gradient_source(net, "f32[64,1,8,8]", "i32[64]", get_by_list=True)


def main(epochs: int = 5, plot: str = "") -> float:
    """Trains; gives the accuracy on the digits that were held out."""
    ms.set_seed(1)
    images, labels, test_images, test_labels = digits()
    picked = batches(len(images), 64, epochs)
    network = resnet18()
    lr = nn.cosine_decay_lr(1e-4, 0.05, len(picked), len(picked) // epochs, epochs)
    opt = nn.Momentum(network.trainable_params(), lr, momentum=0.9, weight_decay=5e-4)
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def forward_fn(inputs, targets):
        logits = network(inputs)
        return loss_fn(logits, targets)

    grad_fn = ms.value_and_grad(forward_fn, None, opt.parameters)
    network.set_train()
    losses = []
    for step in progress(range(len(picked))):
        part = picked[step]
        loss, grads = grad_fn(Tensor(images[part]), Tensor(labels[part]))
        opt(grads)
        losses.append(float(loss))
    reached = accuracy(network, test_images, test_labels)
    print(f"loss {losses[0]:.3f} at first, {np.mean(losses[-20:]):.3f} at last")
    print(f"{reached:.1%} of {len(test_labels)} digits that were held out are read rightly")
    if plot:
        plot_losses(losses, plot, "ResNet-18, thumbnail, on handwritten digits")
    return reached


if __name__ == "__main__":
    start(main, gradient)

"""LeNet-5 reads handwritten digits.

The network is the one of LeCun et al. (1998) as it is usually written today; the digits, 8 x 8
pixels each, are enlarged four times to the size that it takes, and moved a little.
"""

import numpy as np
from running import accuracy, batches, digits, plot_losses, progress, start

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn


class LeNet5(nn.Cell):
    """Logits f32[n,classes] for images f32[n,channels,32,32]."""

    def __init__(self, num_class: int = 10, num_channel: int = 1):
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc1 = nn.Dense(16 * 5 * 5, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, num_class)
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


def enlarged(images: np.ndarray) -> np.ndarray:
    """Each pixel as a square of four by four."""
    return images.repeat(4, axis=2).repeat(4, axis=3)


def shifted(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The images, moved by up to two of their 32 pixels."""
    rows, columns = rng.integers(0, 5, 2)
    wide = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
    return wide[:, :, rows : rows + 32, columns : columns + 32]


def gradient() -> str:
    """The source of the gradient."""
    net = nn.WithLossCell(LeNet5(), nn.CrossEntropyLoss())
    return ms.gradient_source(net, "f32[16,1,32,32]", "i32[16]", get_by_list=True)


def main(epochs: int = 20, plot: str = "") -> float:
    """Trains; gives the accuracy on the digits that were held out."""
    ms.set_seed(1)
    images, labels, test_images, test_labels = digits()
    images = enlarged(images)
    picked = batches(len(images), 16, epochs)
    net = LeNet5()
    loss_fn = nn.CrossEntropyLoss()
    lr = nn.cosine_decay_lr(1e-4, 0.03, len(picked), len(picked) // epochs, epochs)
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=lr, momentum=0.9)

    def forward_fn(data, label):
        logits = net(data)
        loss = loss_fn(logits, label)
        return loss, logits

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

    def train_step(data, label):
        (loss, _), grads = grad_fn(data, label)
        optimizer(grads)
        return loss

    net.set_train()
    losses, rng = [], np.random.default_rng(1)
    for step in progress(range(len(picked))):
        part = picked[step]
        losses.append(float(train_step(Tensor(shifted(images[part], rng)), Tensor(labels[part]))))
    reached = accuracy(net, enlarged(test_images), test_labels)
    print(f"loss {losses[0]:.3f} at first, {np.mean(losses[-20:]):.3f} at last")
    print(f"{reached:.1%} of {len(test_labels)} digits that were held out are read rightly")
    if plot:
        plot_losses(losses, plot, "LeNet-5 on handwritten digits")
    return reached


if __name__ == "__main__":
    start(main, gradient)

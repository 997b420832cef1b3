"""A small convolutional network learns to tell stripes that lie from stripes that stand.

Trains with clipped gradients, saves a checkpoint, and loads it into a fresh network.
"""

import tempfile
from pathlib import Path

import numpy as np
from running import accuracy, progress

import autodiff_compiler as ms
from autodiff_compiler import Tensor, load_checkpoint, nn, ops, save_checkpoint


class ConvNet(nn.Cell):
    """Two convolutions and a dense layer, on images of one channel."""

    def __init__(self, classes: int = 2):
        super().__init__()
        self.first = nn.Conv2d(1, 6, 3, pad_mode="same", has_bias=True)
        self.norm = nn.BatchNorm2d(6)
        self.second = nn.Conv2d(6, 8, 3, pad_mode="same", has_bias=True)
        self.pool = nn.MaxPool2d(2, 2)
        self.head = nn.Dense(8 * 3 * 3, classes)

    def construct(self, x):
        x = self.pool(ops.relu(self.norm(self.first(x))))
        x = self.pool(ops.relu(self.second(x)))
        return self.head(ops.flatten(x))


class ClippedStep(nn.TrainOneStepCell):
    """A step of training whose gradients have together at most the norm 1."""

    def scaled(self, gradients):
        return ops.clip_by_global_norm(gradients, 1.0)


def drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy images f32[count,1,12,12] of stripes, and whether they stand, i32[count]."""
    rng = np.random.default_rng(seed)
    stands = rng.integers(0, 2, count)
    frequency, phase = rng.uniform(0.8, 2.0, (count, 1)), rng.uniform(0, 6, (count, 1))
    waves = np.sin(np.arange(12) * frequency + phase)
    lying = np.broadcast_to(waves[:, :, None], (count, 12, 12))
    images = np.where(stands[:, None, None], lying.swapaxes(1, 2), lying)
    images = images + rng.normal(size=images.shape) * 0.8
    return images[:, None].astype(np.float32), stands.astype(np.int32)


def main(steps: int = 60) -> float:
    """Trains; gives the accuracy on images that were not trained on, from the checkpoint."""
    ms.set_seed(1)
    net = ConvNet()
    adam = nn.Adam(net.trainable_params(), 0.01)
    step = ClippedStep(nn.WithLossCell(net, nn.CrossEntropyLoss()), adam).set_train()
    losses = [float(step(*map(Tensor, drawn(32, seed)))) for seed in progress(range(steps))]
    print(f"loss {losses[0]:.3f} at first, {np.mean(losses[-10:]):.3f} at last")

    images, labels = drawn(400, seed=10_000)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "stripes.ckpt"
        save_checkpoint(net, place)
        fresh = ConvNet()
        before = accuracy(fresh, images, labels)
        load_checkpoint(place, fresh)
    reached = accuracy(fresh, images, labels)
    print(f"accuracy on new images: {before:.1%}, and {reached:.1%} with the checkpoint loaded")
    return reached


if __name__ == "__main__":
    main()

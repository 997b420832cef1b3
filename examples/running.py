"""What the examples that train share: options, a bar of progress, a plot of the loss, the digits.

What is not NumPy comes with the extra ``examples``; without tqdm there are lines for a bar.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autodiff_compiler import Tensor

try:
    from tqdm import tqdm
except ModuleNotFoundError:
    tqdm = None
try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError:
    load_digits = None

EXTRA = "pip install autodiff-compiler[examples]"


def start(main: Callable[..., Any], gradient: Callable[[], str]) -> None:
    """Runs ``main`` by the command line; with ``--dump`` prints the source of the gradient."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--dump", action="store_true", help="print the gradient's source, and end")
    parser.add_argument("--epochs", type=int, help="how often to go through the data")
    parser.add_argument("--plot", metavar="FILE.png", help="where to plot the loss")
    options = vars(parser.parse_args())
    if options.pop("dump"):
        print(gradient())
    else:
        main(**{name: given for name, given in options.items() if given is not None})


def progress(steps: range, doing: str = "training") -> Iterator[int]:
    """The steps with a bar, where there is tqdm; else a line for every tenth part."""
    if tqdm is not None:
        yield from tqdm(steps, desc=doing, mininterval=0.5)
        return
    for step in steps:
        if step % max(1, len(steps) // 10) == 0:
            print(f"{doing}: {step} of {len(steps)}")
        yield step


def plot_losses(losses: Iterable[float], place: str, title: str) -> None:
    """Writes the loss of every step to a PNG file."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise SystemExit(f"a plot needs matplotlib: {EXTRA}") from None
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.semilogy(list(losses), linewidth=0.8)
    axes.set(title=title, xlabel="step", ylabel="loss")
    figure.savefig(place, dpi=120)
    print(f"the loss is plotted in {place}")


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The 1797 handwritten digits of scikit-learn: images f32[n,1,8,8] between 0 and 1 and labels
    i32[n] to train with, then those held out, every fifth."""
    if load_digits is None:
        raise SystemExit(f"the digits come with scikit-learn: {EXTRA}")
    found = load_digits()
    images = (found.images[:, None] / 16.0).astype(np.float32)
    labels = found.target.astype(np.int32)
    out = np.arange(len(labels)) % 5 == 0
    return images[~out], labels[~out], images[out], labels[out]


def batches(count: int, size: int, epochs: int, seed: int = 0) -> list[np.ndarray]:
    """The positions of each batch, all of one size, in a new order for every epoch."""
    rng = np.random.default_rng(seed)
    orders = (rng.permutation(count) for _ in range(epochs))
    return [part for order in orders for part in order[: count - count % size].reshape(-1, size)]


def accuracy(net: Any, images: np.ndarray, labels: np.ndarray) -> float:
    """The part of the images that a network names rightly."""
    logits = net.set_train(False)(Tensor(images)).asnumpy()
    return float((logits.argmax(1) == labels).mean())

"""An LSTM writes a counting rhyme, letter by letter.

It learns the text below from pieces of 40 letters. To go on rightly it needs a memory: all verses
are alike but for a number and a thing, and the next number is told by the last one.
"""

import numpy as np
from running import batches, plot_losses, progress, start

import autodiff_compiler as ms
from autodiff_compiler import Tensor, nn, ops

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
THINGS = ["kite", "boat", "bell", "drum", "lamp", "gate", "nest", "well", "ring", "door"]
TEXT = "".join(
    f"{number} for a {thing}, a {thing} for {number};\n" for number, thing in zip(NUMBERS, THINGS)
)
LETTERS = sorted(set(TEXT))
CODES = np.array([LETTERS.index(letter) for letter in TEXT], np.int32)


class CharLSTM(nn.Cell):
    """Logits f32[n,t,letters] of the next letter, and the state, for letters i32[n,t]."""

    def __init__(self, vocab_size: int, embed_size: int = 16, hidden_size: int = 64):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size)
        self.lstm = nn.LSTM(embed_size, hidden_size, batch_first=True)
        self.fc = nn.Dense(hidden_size, vocab_size)

    def construct(self, x, state=None):
        out, state = self.lstm(self.embedding(x), state)
        return self.fc(out), state


class NextLetterLoss(nn.Cell):
    """The mean cross entropy of letters that follow i32[n,t] others."""

    def __init__(self, net: nn.Cell):
        super().__init__(auto_prefix=False)
        self.net = net
        self.loss = nn.CrossEntropyLoss()

    def construct(self, x, following):
        logits, _ = self.net(x)
        return self.loss(ops.reshape(logits, (-1, logits.shape[-1])), ops.reshape(following, (-1,)))


def written(net: nn.Cell, beginning: str, length: int) -> str:
    """What the network writes: always the letter that it holds most likely."""
    text, state = beginning, None
    x = [LETTERS.index(letter) for letter in beginning]
    while len(text) < length:
        logits, state = net(Tensor(np.array([x], np.int32)), state)
        x = [int(logits.asnumpy()[0, -1].argmax())]
        text += LETTERS[x[0]]
    return text


def gradient() -> str:
    """The source of the gradient."""
    loss = NextLetterLoss(CharLSTM(len(LETTERS)))
    return ms.gradient_source(loss, "i32[16,40]", "i32[16,40]", get_by_list=True)


def main(epochs: int = 30, plot: str = "") -> float:
    """Trains; gives the part of the text whose next letter is foretold rightly."""
    ms.set_seed(1)
    net = CharLSTM(len(LETTERS))
    loss_net = NextLetterLoss(net)
    pieces = np.lib.stride_tricks.sliding_window_view(CODES, 41)
    picked = batches(len(pieces), 16, epochs)
    lr = nn.cosine_decay_lr(1e-4, 0.015, len(picked), len(picked) // epochs, epochs)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=lr)
    grad_fn = ms.value_and_grad(loss_net, None, optimizer.parameters)
    losses = []
    for step in progress(range(len(picked))):
        part = pieces[picked[step]]
        loss, grads = grad_fn(Tensor(part[:, :-1]), Tensor(part[:, 1:]))
        optimizer(ops.clip_by_global_norm(grads, 1.0))
        losses.append(float(loss))
    logits, _ = net(Tensor(CODES[None, :-1]))
    reached = float((logits.asnumpy()[0].argmax(1) == CODES[1:]).mean())
    print(f"loss {losses[0]:.3f} at first, {np.mean(losses[-20:]):.3f} at last")
    print(f"reading the rhyme, {reached:.1%} of the letters are foretold rightly; it writes:")
    print(written(net, "one", len(TEXT)))
    if plot:
        plot_losses(losses, plot, "an LSTM learns a rhyme")
    return reached


if __name__ == "__main__":
    start(main, gradient)

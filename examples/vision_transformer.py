"""A small Vision Transformer reads handwritten digits.

Each image of 8 x 8 pixels is cut into 16 patches; a class token learns what they show (Dosovitskiy
et al., 2021). The blocks are equal, so that the source of the gradient has one function for all.
"""

import numpy as np
from running import accuracy, batches, digits, plot_losses, progress, start

import autodiff_compiler as ms
from autodiff_compiler import Parameter, Tensor, nn, ops
from autodiff_compiler.common.initializer import TruncatedNormal, XavierUniform, initializer


class Attention(nn.Cell):
    """Multi-head self-attention."""

    def __init__(self, dim: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = nn.Dense(dim, dim * 3, weight_init=XavierUniform())
        self.out = nn.Dense(dim, dim, weight_init=XavierUniform())

    def construct(self, x):
        b, n, c = x.shape
        qkv = ops.reshape(self.qkv(x), (b, n, 3, self.num_heads, c // self.num_heads))
        q, k, v = ops.unbind(ops.transpose(qkv, (2, 0, 3, 1, 4)), 0)
        attn = ops.matmul(q, ops.swapaxes(k, -2, -1)) * self.scale
        attn = ops.softmax(attn, axis=-1)
        out = ops.matmul(attn, v)
        out = ops.reshape(ops.transpose(out, (0, 2, 1, 3)), (b, n, c))
        return self.out(out)


class FeedForward(nn.Cell):
    """Two dense layers with a GELU between."""

    def __init__(self, dim: int, hidden: int, dropout: float):
        super().__init__()
        self.dense1 = nn.Dense(dim, hidden, weight_init=XavierUniform())
        self.activation = nn.GELU()
        self.dense2 = nn.Dense(hidden, dim, weight_init=XavierUniform())
        self.dropout = nn.Dropout(p=dropout)

    def construct(self, x):
        x = self.activation(self.dense1(x))
        return self.dropout(self.dense2(x))


class TransformerBlock(nn.Cell):
    """Attention and feed-forward, each behind a norm and added to what came in."""

    def __init__(self, dim: int, num_heads: int, mlp_ratio: int, dropout: float):
        super().__init__()
        self.norm1 = nn.LayerNorm((dim,))
        self.attention = Attention(dim, num_heads)
        self.norm2 = nn.LayerNorm((dim,))
        self.feedforward = FeedForward(dim, dim * mlp_ratio, dropout)

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feedforward(self.norm2(x))


class ViT(nn.Cell):
    """Logits f32[n,classes] for images f32[n,channels,size,size]."""

    def __init__(
        self, image_size: int = 8, patch_size: int = 2, in_channels: int = 1, embed_dim: int = 32,
        num_layers: int = 3, num_heads: int = 4, mlp_ratio: int = 2, dropout: float = 0.0,
        num_classes: int = 10,
    ):  # fmt: skip
        super().__init__()
        num_patches = (image_size // patch_size) ** 2
        self.patch_embedding = nn.Conv2d(
            in_channels, embed_dim, patch_size, stride=patch_size, has_bias=True
        )
        self.cls_token = Parameter(
            initializer(TruncatedNormal(0.02), (1, 1, embed_dim)), name="cls_token"
        )
        positions = initializer(TruncatedNormal(0.02), (1, num_patches + 1, embed_dim))
        self.pos_embedding = Parameter(positions, name="pos_embedding")
        self.pos_dropout = nn.Dropout(p=dropout)
        blocks = [
            TransformerBlock(embed_dim, num_heads, mlp_ratio, dropout) for _ in range(num_layers)
        ]
        self.transformer = nn.SequentialCell(blocks)
        self.norm = nn.LayerNorm((embed_dim,))
        self.head = nn.Dense(embed_dim, num_classes)

    def construct(self, x):
        x = self.patch_embedding(x)
        b, c = x.shape[:2]
        x = ops.transpose(ops.reshape(x, (b, c, -1)), (0, 2, 1))
        cls_token = ops.broadcast_to(self.cls_token, (b, 1, c))
        x = ops.concat((cls_token, x), axis=1) + self.pos_embedding
        x = self.transformer(self.pos_dropout(x))
        x = self.norm(x)
        return self.head(x[:, 0])


def warm_cosine(most: float, steps: int) -> list[float]:
    """A learning rate for each step: up in the first tenth, then down as a cosine."""
    done = np.arange(1, steps + 1) / steps
    return (most * np.minimum(1, 10 * done) * np.cos(np.pi / 2 * done) ** 2).tolist()


def gradient() -> str:
    """The source of the gradient."""
    net = nn.WithLossCell(ViT(), nn.CrossEntropyLoss())
    return ms.gradient_source(net, "f32[32,1,8,8]", "i32[32]", get_by_list=True)


def main(epochs: int = 20, plot: str = "") -> float:
    """Trains; gives the accuracy on the digits that were held out."""
    ms.set_seed(1)
    images, labels, test_images, test_labels = digits()
    picked = batches(len(images), 32, epochs)
    net = ViT()
    lr = warm_cosine(3e-3, len(picked))
    optimizer = nn.Adam(net.trainable_params(), learning_rate=lr)
    train_net = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    train_net.set_train()
    losses = []
    for step in progress(range(len(picked))):
        part = picked[step]
        losses.append(float(train_net(Tensor(images[part]), Tensor(labels[part]))))
    reached = accuracy(net, test_images, test_labels)
    print(f"loss {losses[0]:.3f} at first, {np.mean(losses[-20:]):.3f} at last")
    print(f"{reached:.1%} of {len(test_labels)} digits that were held out are read rightly")
    if plot:
        plot_losses(losses, plot, "a small Vision Transformer on handwritten digits")
    return reached


if __name__ == "__main__":
    start(main, gradient)

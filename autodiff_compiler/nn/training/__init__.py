"""Training: losses, optimizers, learning rates, loss scaling, and the Cells that run a step."""

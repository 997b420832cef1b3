"""Functions of neural networks: layers, losses, images, random masks."""

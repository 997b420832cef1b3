"""The verifier: structure, memory safety, and what of them each stage demands."""

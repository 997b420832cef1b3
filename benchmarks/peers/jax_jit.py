"""JAX: value and gradient in one function, compiled by ``jax.jit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from benchmarks.peers.programs import jax_jit as programs
from benchmarks.workloads.workload import Workload


def make(work: Workload) -> Callable[[], Any]:
    """The program's value and gradients, or its pullback."""
    function = getattr(programs, work.program)
    given = [jnp.asarray(array) for array in work.given]
    seed = jnp.asarray(work.inputs[-1]) if work.asked == "pullback" else jnp.ones(())

    @jax.jit
    def gradient(seed: Any, *given: Any) -> Any:
        if work.asked == "nothing":
            return function(*given)

        def of_wanted(*wanted: Any) -> Any:
            rest = dict(enumerate(given)) | dict(zip(work.places, wanted))
            return function(*rest.values())

        out, backward = jax.vjp(of_wanted, *(given[place] for place in work.places))
        gradients = backward(jnp.broadcast_to(seed, out.shape))
        return gradients if work.asked == "pullback" else (out, *gradients)

    return lambda: jax.block_until_ready(gradient(seed, *given))


def arrays(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer, in order."""
    return list(map(np.asarray, answer))


def forget() -> None:
    """A maker's function is a new one, which JAX compiles again."""

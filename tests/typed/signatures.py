"""What type checkers know of a transformed function. Nothing here runs: ``make types`` reads it.

Each ``type: ignore`` stands where a wrong call must be refused; if it is not, strict mode reports
that the comment is unused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import assert_type

    import autodiff_compiler as ms
    from autodiff_compiler import Tensor, nn, ops

    Array = NDArray[np.float64]

    class Net(nn.Cell):
        def construct(self, x: Tensor, times: int = 1) -> Tensor:
            return x * times

    def f(x: Array, k: float, *, shift: float = 0.0) -> float: ...

    def keyword(*, x: float) -> float: ...

    array: Array = np.ones(2)
    tensor = Tensor(array)
    net = Net()

    # The gradient takes the arguments of the function, and has the type of the first.
    assert_type(ms.grad(f)(array, 2.0, shift=1.0), Array)
    assert_type(ms.grad(f)(x=array, k=2.0), Array)
    assert_type(ms.value_and_grad(f)(array, 2.0), tuple[float, Array])
    ms.grad(f)("a", 2.0)  # type: ignore[arg-type]
    ms.grad(f)(array)  # type: ignore[call-arg]
    ms.grad(f)(array, 2.0, scale=1.0)  # type: ignore[call-arg]
    ms.grad(3)  # type: ignore[call-overload]
    ms.grad(f, "x")  # type: ignore[call-overload]
    ms.grad(keyword)(x=1.0)

    # So with other positions, weights and outputs, whose gradients have no type of their own.
    assert_type(ms.grad(f, (0, 1))(array, 2.0), Any)
    assert_type(ms.value_and_grad(f, None, net.trainable_params())(array, 2.0), tuple[float, Any])
    ms.grad(f, (0, 1))(2.0, array)  # type: ignore[arg-type]
    ms.grad(f, sens_param=True)(array, 2.0, 1.0)

    # Transforms of transforms.
    assert_type(ms.grad(ms.grad(f))(array, 2.0), Array)
    assert_type(ms.hessian(f)(array, 2.0), Array)
    assert_type(ms.jacrev(ms.grad(f))(array, 2.0), Array)
    assert_type(ms.vmap(net)(tensor), Tensor)
    assert_type(ms.jvp(f, (array, 2.0), (array, 1.0)), tuple[float, float])
    assert_type(ms.vjp(f, array, 2.0)[0], float)
    assert_type(ms.linearize(net, tensor), tuple[Tensor, Callable[[Any], Tensor]])
    assert_type(ms.recompute(net, tensor), Tensor)
    ms.hessian(f)(array, "a")  # type: ignore[arg-type]

    # Cells are called like their construct.
    assert_type(net(tensor), Tensor)
    assert_type(net(x=tensor, times=2), Tensor)
    assert_type(ms.grad(net)(tensor, 3), Tensor)
    assert_type(ms.value_and_grad(net)(tensor, times=3), tuple[Tensor, Tensor])
    net(tensor, "a")  # type: ignore[arg-type]
    net()  # type: ignore[call-arg]
    ms.grad(net)(tensor, 3, 4)  # type: ignore[call-arg]
    assert_type(nn.Dense(2, 3)(tensor), Tensor)
    assert_type(nn.SequentialCell(net, nn.ReLU())(tensor), Tensor)
    assert_type(nn.MSELoss()(tensor, tensor), Tensor)

    # Tensors, their methods, and functions and classes of ops.
    assert_type(2.0 * tensor + tensor @ tensor.T, Tensor)
    assert_type(tensor.sum(axis=0).reshape(1, 2), Tensor)
    assert_type(tensor.max(), Tensor)
    assert_type(ops.softmax(tensor), Tensor)
    assert_type(ops.topk(tensor, 2), tuple[Tensor, Tensor])
    assert_type(ops.Tanh()(tensor), Tensor)
    assert_type(ops.MatMul(transpose_b=True)(tensor, tensor), Tensor)
    tensor.reshap(2)  # type: ignore[attr-defined]
    tensor.clip(lowest=2)  # type: ignore[call-arg]

    # Decorators keep the signature.
    assert_type(ms.jit(f)(array, 2.0), float)
    assert_type(ms.differentiable(f)(array, 2.0), float)
    assert_type(ms.differentiable(Net)()(tensor), Tensor)
    assert_type(ms.mutable((array, 2.0)), tuple[Array, float])
    ms.jit(f)("a", 2.0)  # type: ignore[arg-type]

    # Misspelt names are refused; what is imported at its first use is known.
    ms.grads()  # type: ignore[attr-defined]
    ops.sofmax()  # type: ignore[attr-defined]
    nn.Dens()  # type: ignore[attr-defined]
    assert_type(ms.numpy.sin(tensor), Tensor)
    assert_type(ms.numpy.cumsum(tensor, axis=0), Tensor)
    ms.compile_info().clear()

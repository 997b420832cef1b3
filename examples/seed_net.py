"""The first Cell: its gradient as source, as numbers, and checked against finite differences."""

import numpy as np

from autodiff_compiler import Parameter, ParameterTuple, Tensor, gradient_source, nn, ops
from autodiff_compiler import dtype as mstype
from autodiff_compiler.testing import check_grads


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.matmul = ops.MatMul()
        self.z = Parameter(Tensor(np.array([1.0], np.float32)), name="z")

    def construct(self, x, y):
        x = x * self.z
        out = self.matmul(x, y)
        return out


def main() -> None:
    net = Net()
    x = Tensor([[0.8, 0.6, 0.2], [1.8, 1.3, 1.1]], dtype=mstype.float32)
    y = Tensor([[0.11, 3.3, 1.1], [1.1, 0.2, 1.4], [1.1, 2.2, 0.3]], dtype=mstype.float32)
    sens = Tensor([[0.1, 0.6, 0.2], [0.8, 1.3, 1.1]], dtype=mstype.float32)
    wanted = {"get_all": True, "get_by_list": True, "sens_param": True}

    print(gradient_source(net, x, y, **wanted))

    weights = ParameterTuple(net.trainable_params())
    (d_x, d_y), (d_z,) = ops.GradOperation(**wanted)(net, weights)(x, y, sens)
    for name, gradient in (("d_x", d_x), ("d_y", d_y), ("d_z", d_z)):
        print(f"{name} =\n{gradient}")

    check_grads(net, (x, y), weights=weights, modes=("reverse",), order=2)
    print("check_grads: first and second derivatives agree with finite differences")


if __name__ == "__main__":
    main()

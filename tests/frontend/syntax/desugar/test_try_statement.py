"""``try``: what is printed, in which order; gradients of order two; what is refused."""

import contextlib
import io

import numpy as np
import pytest

import autodiff_compiler as ms
from autodiff_compiler import Tensor, errors, ops
from autodiff_compiler.testing import check_grads
from tests.frontend.rows import tries

INPUTS = [tries.LARGE, tries.MIXED, tries.SMALL]


def printed(function, *args):
    """What a call gives, and what it prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        result = function(*args)
    return result, said.getvalue()


@pytest.mark.parametrize(
    "program", [tries.returns, tries.around_a_loop, tries.again, tries.asserting, tries.all_exits]
)
def test_prints_come_once_and_in_order(program):
    grad = ms.ops.value_and_grad(program)
    seen = set()
    for x in INPUTS:
        expected, said = printed(program, Tensor(x))
        (value, _), ours = printed(grad, x)
        np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=2e-6)
        assert ours == said
        seen.add(said)
    assert len(seen) > 1 or program is tries.returns


@pytest.mark.parametrize(
    "program", [tries.try_taken, tries.in_a_loop, tries.around_a_loop, tries.nested, tries.again]
)
@pytest.mark.parametrize("x", INPUTS, ids=["large", "mixed", "small"])
def test_gradients_of_order_two(program, x):
    with contextlib.redirect_stdout(io.StringIO()):
        assert check_grads(program, (x,), order=2).rows


def test_an_uncaught_exception_leaves_the_function():
    def program(x):
        try:
            try:
                if x.sum() < 0:
                    raise ValueError("negative", 2)
                y = x * x
            except KeyError:
                y = x
            finally:
                print("finally")
        except (TypeError, LookupError):
            y = x * 2
        return y

    grad = ops.grad(program)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"\('negative', 2\)"):
            printed(grad, tries.MIXED)
        found, said = printed(grad, tries.LARGE)
        assert said == "finally\n"
        np.testing.assert_allclose(found.asnumpy(), 2 * tries.LARGE.asnumpy())


def test_a_handler_raises_again_what_it_caught():
    def program(x):
        try:
            if x[0] < 0:
                raise ValueError("first is negative")
            if x[1] < 1:
                raise TypeError("small")
            return x * x
        except (ValueError, TypeError) as error:
            print("caught")
            raise error

    grad = ops.grad(program)
    with pytest.raises(ValueError, match="^first is negative"):
        printed(grad, tries.MIXED)


def test_an_unset_variable_is_reported():
    def program(x):
        try:
            if x.sum() < 0:
                raise ValueError
            y = x * x
        except ValueError:
            pass
        return y

    grad = ops.grad(program)
    np.testing.assert_allclose(grad(tries.LARGE).asnumpy(), 2 * tries.LARGE.asnumpy())
    with pytest.raises(UnboundLocalError):
        grad(tries.MIXED)


def test_a_loop_stays_a_loop():
    def program(x, n):
        y = x
        for _ in range(n):
            try:
                y = y * x
                if y.sum() > 2:
                    raise ValueError("large")
            except ValueError as error:
                print(error)
                y = y * 0.5
        return y

    def at(n):
        return ms.ops.value_and_grad(lambda x: program(x, n))

    for n in (3, 40):
        expected, said = printed(program, Tensor(tries.LARGE), n)
        (value, _), ours = printed(at(n), tries.LARGE)
        np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-5)
        assert ours == said != ""
    assert check_grads(lambda x: program(x, 3), (tries.LARGE,), order=1).rows


def test_an_exception_of_a_called_function_escapes_unchanged():
    def program(x):
        try:
            y = x + _strict(x)
        except KeyError:
            y = x
        finally:
            print("finally")
        return y

    with pytest.raises(ValueError, match="^negative") as caught:
        printed(ops.grad(program), tries.MIXED)
    notes = getattr(caught.value, "__notes__", None) or [str(caught.value.__cause__)]
    assert 'raise ValueError("negative")' in str(notes)


def test_nothing_is_evaluated_twice_or_after_it_was_thrown():
    def told(v, name):
        print(name)
        if v.sum() < 0:
            raise ValueError(name)
        return v

    def program(x):
        seen = [x]
        try:
            y = told(x * 2, "first") + seen.pop() * told(x, "second") - told(x + 1, "third")
        except ValueError as error:
            print("caught", error)
            y = x * len(seen)
        return y

    for x in (tries.LARGE, tries.MIXED, Tensor([-0.5, 0.1])):
        expected, said = printed(program, Tensor(x))
        (value, _), ours = printed(ms.ops.value_and_grad(program), x)
        np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=2e-6)
        assert ours == said and "first" in said


def test_a_tensor_changed_between_operands_is_refused():
    def change(v):
        v[0] = 3.0
        if v.sum() < 0:
            raise ValueError
        return v

    def program(x):
        y = x * 1
        try:
            return (y * 2) * y + change(y)
        except ValueError:
            return x

    def spoilt(x):
        y = x * 1
        try:
            return y.sum() * 0 + (y, change(y))[0]
        except ValueError:
            return x

    assert check_grads(program, (tries.LARGE,), order=1).rows
    assert "reads a tensor and also changes it" in refusal(spoilt)


def test_nothing_is_thrown_across_the_end_of_a_with():
    def program(x):
        try:
            with contextlib.nullcontext():
                y = _strict(x)
        except ValueError:
            y = x
        return y

    assert "raised inside this 'with'" in refusal(program)


def refusal(program, x=tries.LARGE):
    with pytest.raises(errors.CompileError) as caught:
        ops.grad(program)(x)
    return str(caught.value)


def _strict(x):
    if x.sum() < 0:
        raise ValueError("negative")
    return x * x


class Told(Exception):
    def __str__(self):
        return "told"


def test_an_operation_that_may_raise_what_is_caught_is_refused():
    def differentiated(x):
        try:
            return ops.grad(_strict)(x)
        except ValueError:
            return x

    def decomposed(x):
        m = ops.outer(x, x)
        try:
            return ops.cholesky(m).sum()
        except Exception:
            return x.sum()

    for program, carets in (
        (differentiated, "ops.grad(_strict)(x)"), (decomposed, "ops.cholesky(m)"),
    ):  # fmt: skip
        told = refusal(program)
        assert (
            "an 'except' around this operation catches" in told
            and "known only when the function runs" in told
        )
        assert carets in told and "^" * 5 in told


def test_an_operation_that_may_raise_another_exception_is_not_refused():
    def program(x):
        try:
            return _strict(x) * x[ops.argmax(x)]
        except (OSError, ImportError):
            return x

    assert check_grads(program, (tries.LARGE,), order=1).rows


def test_texts_of_a_run_are_not_compared():
    def program(x):
        try:
            if x.sum() < 0:
                raise ValueError("negative")
            y = x * x
        except ValueError as error:
            y = x if str(error) == "negative" else x * 2
        return y

    assert "both strings of this comparison" in refusal(program)


def test_an_exception_may_have_a_text_of_its_own():
    def program(x):
        try:
            if x.sum() < 0:
                raise Told("negative")
            return x * x
        except Told as error:
            print(error)
            return x

    told = refusal(program)
    assert "the message of a Told is computed by its own" in told
    assert told.count("\n  cure: ") == 1


def test_except_requires_classes():
    def program(x):
        try:
            if x.sum() < 0:
                raise ValueError
        except x:
            return x
        return x * x

    assert "is not an exception class" in refusal(program)


def test_an_operation_that_cannot_fail_is_not_refused():
    def program(x, n):
        seen = []
        y = x
        for i in range(n):
            try:
                if i % 2:
                    continue
                seen.append(y**2)
                if seen[-1].sum() > 4:
                    raise ValueError
                y = y * x[0] + float(i)
            except ValueError:
                y = y * 0.5
            finally:
                y = y + x
        return y * seen[0]

    assert check_grads(lambda x: program(x, 5), (tries.LARGE,), order=1).rows
    assert check_grads(lambda x: program(x, 5), (tries.SMALL,), order=1).rows

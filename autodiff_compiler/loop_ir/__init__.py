"""The loop-nest IR: loops over the elements of arrays, on buffers and scalars of C's types.

A function of it is a list of statements (``nodes``). The lowering in ``loops`` makes it from typed
IR; ``emit/c`` prints it as C. Text and IR are each other's inverse (``printer``, ``reader``), and
``verifier`` states its laws. It knows neither NumPy nor derivatives.
"""

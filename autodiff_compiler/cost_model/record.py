"""The record of all thresholds. A comment before each says what it decides, and why it is so.

A name ends in its unit. ``…_ratio`` is a quotient of two sizes: "this much smaller than an array"
means that the array is at least that many times as large.
"""

from __future__ import annotations

from typing import Any


class Costs:
    """All thresholds, at their default or given values.

    A record is frozen, and equal only to itself. It can therefore be part of a key at no cost. It
    is no dataclass: Python would compile methods with sixty parameters at each import.
    """

    # ---- Memory (decision 0012). For smaller arrays a pass saves nothing and makes longer text.

    #: The size from which an array is large: then it is worth reusing a buffer. Measured on chains
    #: of elementwise operations: from some 64 KiB on, the system maps and clears new pages for each
    #: array. This takes two thirds of the time. Smaller arrays come from the allocator's free list,
    #: and most passes that save memory traffic leave them alone.
    large_bytes: int = 2**16
    #: The size of all temporaries of a C function that stand on its stack. Threads may have small
    #: stacks. Chosen, not measured.
    stack_bytes: int = 2**14
    #: A matrix product that adds at least this many terms is computed by a BLAS in C. Measured
    #: on one thread: below, the kernel in C takes .8 to 1.1 times OpenBLAS's time. For 256 rows
    #: and 1024 columns of 1024 terms it takes 1.35 times as long.
    blas_product_terms: int = 2**23
    #: A loop of at least this many iterations copies the right matrix of a product before it.
    #: Chosen, not measured.
    packed_operand_iterations: int = 4
    #: The rows of the result from which this pays. A product of fewer rows reads the matrix as it
    #: is. Measured at 32 rows, 128 columns and 128 terms.
    packed_operand_rows: int = 13
    #: The size of a row of a panel, to which such a matrix is copied: that of the vectors of a tile
    #: on every machine. A product does not copy rows of this size again.
    operand_panel_bytes: int = 2**7
    #: A loop of known length in C polls if it computes at least this many elements. Chosen, not
    #: measured.
    polled_terms: int = 2**28
    #: A loop polls after about this many elements. Chosen, not measured.
    poll_period_terms: int = 2**16
    #: The most iterations from one poll to the next. Chosen, not measured.
    poll_period_iterations: int = 2**12
    #: The most rows of a matrix that a C function inverts or factorises. It takes .6 to 1.4 times
    #: LAPACK's time for 128 rows, and .8 to 2.8 times for 256 (one thread).
    eliminated_rows: int = 128
    #: The number of copies in a C function that have statements of their own, and no loop around
    #: them: the elements of a window, the counts of a repetition. Chosen, not measured.
    unrolled_copy_items: int = 32
    #: The size from which arrays with a variable of their own are reused. A result overwrites a
    #: dead operand, and a carry stays in one buffer. Parts are computed in the array that joins
    #: them. A product and its sum are one call. A variable holds its array until the function
    #: returns. Chosen, not measured.
    medium_bytes: int = 2**11
    #: The size of an item from which a tape is an array and not a list. The item decides, not the
    #: whole tape: else the text would depend on the number of iterations. Chosen, not measured.
    tape_row_bytes: int = 2**10
    #: The size of a tape row from which every call of a chain computes in the row. NumPy has free
    #: buffers for smaller results. Chosen, not measured.
    computed_in_row_bytes: int = 2**14
    #: The size from which backward rematerialises a cheap value and forward does not save it: that
    #: is worth a line of text. In a loop, where each value has a tape, the size does not matter.
    #: Chosen, not measured.
    rematerialised_bytes: int = 2**11
    #: The number of cheap operations on arguments that are repeated before a cheap value. This
    #: applies if several large values wait for backward. Measured: with two, a GELU by the error
    #: function saves one array of three, and a focal loss three of five.
    rematerialised_steps: int = 2
    #: Backward reads a row of an outside array again, unless the array is this many times larger
    #: than all rows. To save such an array would cost more than it spares. Chosen, not measured.
    saved_for_rows_ratio: int = 4
    #: A result this much smaller than the large array that it reduces is computed before anything
    #: overwrites that array. Chosen, not measured.
    reduced_first_ratio: int = 16
    #: A part this much smaller than its array is copied when it is read. A later write to the array
    #: may then happen in place. Chosen, not measured.
    copied_part_ratio: int = 2
    #: The number of rounds in which conflicts of writes in place are resolved; after that the
    #: conflicting writes copy. Each round runs the proof of memory safety. Few are needed, since
    #: each finds all conflicts and no resolution is tried twice (decision 0018). Chosen, not
    #: measured.
    overwrite_rounds: int = 12

    # ---- Tiles (decision 0012): loop tiling with elementwise fusion.

    #: The largest size of a tile, so that a few tiles stay in the cache of a core. Chosen; only the
    #: smallest size, below, was measured.
    tile_bytes: int = 2**18
    #: The size of the cache of a core. Chosen, not measured.
    cache_bytes: int = 2**20
    #: The smallest size of a tile, if many arrays are in use at once. Measured: tiles of half that
    #: size took a seventh more time for a chain on 400 KB, and gained nothing elsewhere.
    smallest_tile_bytes: int = 2**17
    #: Arrays of at least this many tiles are processed in full tiles, smaller ones in tiles of half
    #: the size. Half a megabyte stays in the cache anyway, so tiling it costs calls. No figures are
    #: recorded.
    full_tiles: int = 4
    #: The number of tiles, of the size in use, that is worth a loop. With tiles of half the size
    #: that is an array of 384 KiB. Measured: losses and activations of half a megabyte took half to
    #: two thirds of the memory, in the same time.
    least_tiles: int = 3
    #: The operations of a fused group must exceed its full results by this number, on arrays of
    #: ``full_tiles``. Decision 0012 states the number; no figures are recorded.
    tiled_operations: int = 3
    #: The same for smaller arrays: such a group takes no more time in a loop, and less memory.
    #: Decision 0012 states the number; no figures are recorded.
    tiled_operations_of_half: int = 5
    #: The same for smaller arrays if their tiles in use exceed the cache, or are reduced to several
    #: numbers each. Decision 0012 states the number; no figures are recorded.
    tiled_operations_of_many: int = 10
    #: A value this much smaller than the arrays of a fused group may wait until the group's loop is
    #: done. Chosen, not measured.
    waits_for_tiles_ratio: int = 8
    #: A part of an axis may be this many times smaller than planned if it then divides the axis
    #: evenly: for tiles, and for scatters. Chosen, not measured.
    divisor_search_ratio: int = 4

    # ---- Algebra: small values are computed apart from large arrays.

    #: A part is compared with at most this many parts that were written before it. Compile time is
    #: then proportional to the number of parts. Chosen, not measured.
    compared_operations_of_chain: int = 32
    #: A factor this much smaller than a product is multiplied with other small ones first. It is
    #: factored out of sums, and counts as the scale of a normalization. Chosen, not measured.
    small_factor_ratio: int = 4
    #: A sum this much smaller than its array is shared: another sum continues from it, and backward
    #: reads it in place of adding the array up again. Chosen, not measured.
    small_sum_ratio: int = 4
    #: If the elements that a gather reads are this much smaller than their array, they are computed
    #: separately. Then the array need not be saved for the gather. Chosen, not measured.
    gathered_ratio: int = 4
    #: The largest number of like products whose sum becomes one product. Chosen, not measured.
    like_products: int = 16
    #: The number of operations of a product that are searched for factors. Each operation of a long
    #: product starts a search, so an unlimited one would take quadratic time. Chosen, not measured.
    factor_search_operations: int = 64
    #: The depth of products to which a derivative is searched for a forward value. Chosen, not
    #: measured.
    factor_search_levels: int = 12
    #: The depth of signs and products with numbers to which a choice is searched for. Chosen, not
    #: measured.
    choice_search_levels: int = 4
    #: The depth of operations to which the sign of a value is proved. Chosen, not measured.
    sign_search_levels: int = 6

    # ---- Products and their sums in one call of NumPy.

    #: The number of multiplications from which a batch of matrices times one matrix is one product.
    #: Below it ``x @ w`` is as fast. Measured with OpenBLAS, one thread, 64 matrices of one row: at
    #: 16 x 16 one product takes a third of the time.
    joined_product_terms: int = 2**14
    #: The number of rows of each matrix up to which one product is faster in any case. Measured at
    #: 64 x 64: one row takes a third of the time, two rows 0.7, four rows 1.3.
    joined_product_rows: int = 2
    #: The least number of rows and columns of a transposed factor from which one product is faster.
    #: Measured: 0.4 to 0.9 of the time from 16 on, and 1.1 to 1.9 with ten.
    joined_product_columns: int = 16
    #: BLAS reads a smaller factor in memory order as it is, and copies a larger one for each
    #: matrix. Measured: one product takes 1.3 to 1.5 of the time of many with 64 x 64 elements. It
    #: takes 0.85 with 128 x 128, and 0.2 to 0.6 with 512 x 512.
    copied_factor_elements: int = 2**14
    #: The number of rows from which that copy is small beside the product. Measured at 128 rows: no
    #: difference.
    copied_factor_rows: int = 2**7
    #: The largest number of terms, adjacent in memory, that einsum adds up in one go. More lose
    #: digits: NumPy's pairwise sums do not. Chosen, not measured.
    einsum_terms: int = 2**13
    #: The largest number of float32 terms that BLAS may add up in one go. Measured on two hundred
    #: times as many: of fifty million equal squares the sum was off by a percent.
    blas_terms: int = 2**18
    #: The number of terms from which rows are added up one by one if a single sum would lose
    #: digits. Shorter rows are faster through an array of the products. No figures are recorded.
    row_sum_terms: int = 2**3
    #: Rows of fewer elements are multiplied by einsum, which is faster than vecdot: that calls BLAS
    #: for each row. No figures are recorded.
    vecdot_elements: int = 64

    # ---- Sums in C.

    #: The size of the partial sums that a sum in C adds up side by side. Their number is fixed, and
    #: a result does not depend on the machine. Measured on 4096 products in float32: 0.027 ns an
    #: element with vectors of 64 bytes, 0.037 with vectors of 32. OpenMP's reduction takes 0.072
    #: and 0.144.
    sum_vector_bytes: int = 2**7
    #: The least number of partial sums. Fewer gain nothing over a sum in one register. Chosen, not
    #: measured.
    least_partial_sum_terms: int = 2**2
    #: The largest number of additions in a row of a sum in C. Longer sums are sums of sums. Chosen,
    #: not measured.
    sum_chain_terms: int = 2**6

    # ---- Long bodies of loops in C.

    #: The operations on vectors from which the body of a loop is divided. Measured on twelve
    #: operators in a row and their gradient, of 370: one loop takes 1.5 times as long. The smaller
    #: bodies of other benchmarks have 60 to 150. These were not measured.
    distributed_operations: int = 200
    #: The largest number of such operations in one of its loops, unless one function has more.
    #: Chosen for about one function in each loop, not measured.
    operations_of_part: int = 48

    # ---- Source of single operators.

    #: Windows of up to this many elements are unrolled to slices; longer ones are a loop over
    #: slices. For so few, slices count as faster than a reduction. Chosen, not measured.
    unrolled_window_elements: int = 4
    #: The number of elements from which a scatter adds them one by one, with a flat array of
    #: indices. Chosen, not measured.
    scattered_elements: int = 2**10
    #: The number of elements that a scatter adds at a time, so that its arrays of indices stay
    #: small. Chosen, not measured.
    scatter_step_elements: int = 2**15
    #: A sum on zeros is one scatter if there are at most this many zeros for each element to add.
    #: Chosen, not measured.
    scattered_zeros_ratio: int = 4

    # ---- Growth of functions, and rounds of passes.

    #: The largest number of rounds of the simplifying passes, which otherwise run until nothing
    #: changes. Chosen, not measured.
    simplify_rounds: int = 8
    #: A call is inlined if its caller computes more than this fraction of its operations anyway.
    #: Chosen, not measured.
    computed_anyway_fraction: float = 0.5
    #: A callee of more operations is not inlined in a loop that reads few items of its results
    #: (decision 0018). Chosen, not measured.
    inlined_operations: int = 500
    #: The largest depth of branches and loops in one function. Each level is a step of indentation,
    #: of which Python reads at most 100. Chosen, not measured.
    nested_levels: int = 24

    # ---- Text and its docstrings.

    #: An operand whose expression nests this deep gets a statement of its own. Chosen for the
    #: reader.
    expression_levels: int = 3
    #: The widest operands of a wider expression get statements of their own, too. Chosen for the
    #: reader: it leaves room for a name and an indentation in lines of 100 columns.
    expression_characters: int = 72
    #: The size from which a docstring reports the values saved for backward, arguments not counted.
    #: The number is that of ``large_bytes``, but no pass depends on it.
    reported_bytes: int = 2**16
    #: The number of saved values, the largest ones, that such a docstring names. Chosen for the
    #: reader.
    reported_values: int = 8

    # ---- Front end: what is unrolled, and when lowering gives up.

    #: A comprehension of at most this many items is unrolled. Chosen, not measured.
    unrolled_comprehension_items: int = 8
    #: A loop of at most this many iterations is unrolled if a position in known items depends on
    #: its counter. Chosen, not measured.
    unrolled_loop_iterations: int = 32
    #: A repeated list (``items * n``) of at most this many items is unrolled. Chosen, not measured.
    unrolled_list_items: int = 64
    #: An array from outside of at most this many elements is printed as literals in an exported
    #: text. Chosen for the reader.
    literal_elements: int = 64
    #: A loop that must be unrolled is refused from this many iterations on, since the text grows
    #: with them. With two overlapping writes an iteration, 800 iterations compiled in 9 s of
    #: processor time, 3,200 in 50 s.
    unrolled_iterations: int = 5_000
    #: An unrolled loop over the rows of an array is refused from this many rows on. Each write may
    #: concern all rows that wait. With two writes an iteration, 300 rows compiled in 7 s of
    #: processor time, 500 in 17 s.
    unrolled_rows: int = 300
    #: The number of times that a loop is lowered again, with more carries or wider types. Then it
    #: is refused as a loop that no types fit. Chosen, not measured.
    loop_trials: int = 24
    #: The number of nested calls of a source function that may differ in numbers alone. Then these
    #: numbers become run-time values. Chosen, not measured.
    recursive_calls: int = 24
    #: The largest depth of nested calls of source functions; deeper ones are refused. Chosen, not
    #: measured: the work and the stack of the compiler grow with them.
    nested_calls: int = 1000
    #: The largest depth of calls of one source function in itself, if none is known to end the
    #: recursion earlier; deeper ones are refused as a recursion. Chosen, not measured.
    deep_recursion_calls: int = 400
    #: The number of objects that are searched for those that a method reaches; one that reaches
    #: more is taken to reach all. Chosen, not measured.
    reached_objects: int = 20_000
    #: The largest array that is made only for a check: as a stand-in for arguments of NumPy, or to
    #: verify that an exported text builds the array. Chosen, not measured.
    checked_array_elements: int = 1_000_000

    #: The largest array of which the self-test of an exported C file has every element. Of larger
    #: ones it has some. Chosen, not measured.
    recorded_elements: int = 4096

    # ---- Run time: what a process caches, and how long a check may take.

    #: The size of the workspace buffers of all compiled pairs together; a pair that needs more gets
    #: none. Chosen, not measured.
    workspace_bytes: int = 2**30
    #: The number of compiled functions in the cache for one source function. Chosen, not measured.
    cached_functions_of_source: int = 64
    #: The number of compiled functions in the cache. Chosen, not measured.
    cached_functions: int = 1024
    #: The number of programs that are kept undifferentiated, for another derivative of the same
    #: call. A call and then its gradient need one. Chosen, not measured.
    undifferentiated_programs: int = 4
    #: The number of structures of containers that a gradient function remembers how to flatten.
    #: Chosen, not measured.
    container_kinds: int = 64
    #: The number of pairs of arguments that are compared directly for shared memory; of more,
    #: neighbours in memory are searched for first. Chosen, not measured.
    compared_pairs: int = 16
    #: The number of steps that NumPy may take to find out if two arrays with gaps share memory;
    #: after that they count as sharing it. Chosen, not measured.
    overlap_steps: int = 10_000

    def __init__(self, **fields: Any) -> None:
        unknown = sorted(fields.keys() - Costs.__annotations__.keys())
        if unknown:
            raise TypeError(f"there are no thresholds {', '.join(unknown)}")
        vars(self).update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"thresholds are frozen: use changed_costs({name}={value!r})")

    def changed(self, **fields: Any) -> Costs:
        """Returns a record with other values of these fields."""
        return Costs(**{**vars(self), **fields})


__all__ = ["Costs"]

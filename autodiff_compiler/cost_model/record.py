"""The record of all thresholds. A comment says of each what it decides, and what it rests on.

A name ends in its unit. ``…_ratio`` is a quotient of two sizes: "small beside an array" means that
the array is at least so many times as large.
"""

from __future__ import annotations

from typing import Any


class Costs:
    """All thresholds, at their values or at those that are given. A record is frozen, and equal to
    itself alone, so that one can be part of a key at no cost.

    It is no dataclass: Python would compile methods with sixty parameters at each import.
    """

    # ---- Memory (decision 0012). Below these sizes a pass would save nothing and cost reading.

    #: An array is large, and worth memory that is there already, from so many bytes on. Measured on
    #: chains of elementwise operations: from some 64 KiB on the machine hands memory out page by
    #: page, each one cleared, which is two thirds of the time. Below, the allocator has it at hand,
    #: and most passes that save memory traffic do nothing.
    large_bytes: int = 2**16
    #: From so many bytes on a result goes into a dead operand that has a variable of its own, parts
    #: are made in the array that they are put together to, what a loop carries stays in one place,
    #: and a product and its sum are one call. A variable keeps its array until the function
    #: returns. Chosen, not measured.
    medium_bytes: int = 2**11
    #: What a loop keeps is one array, and no list, if an iteration keeps so many bytes. The row
    #: decides and not the whole: else the text would depend on the number of iterations. Chosen,
    #: not measured.
    tape_row_bytes: int = 2**10
    #: What ends in the row of a tape is computed in that row from the start, if a row has so many
    #: bytes: NumPy has memory for smaller results at hand. Chosen, not measured.
    computed_in_row_bytes: int = 2**14
    #: From so many bytes on backward computes a cheap value again, rather than that forward keeps
    #: it: that is worth a line of text. In a loop, where each is a tape, size does not matter.
    #: Chosen, not measured.
    recomputed_bytes: int = 2**11
    #: So many cheap operations on arguments are made again before such a value, where several large
    #: ones wait for backward. Measured: with two a GELU by the error function keeps one array of
    #: three, and a focal loss three of five.
    recomputed_steps: int = 2
    #: A row that an iteration takes of an array around its loop is taken again by backward, unless
    #: that array is so many times as large as all rows together: it would be kept for little.
    #: Chosen, not measured.
    kept_for_rows_ratio: int = 4
    #: A result this much smaller than a large array that it is reduced from comes before what may
    #: write over that array. Chosen, not measured.
    reduced_first_ratio: int = 16
    #: A part this much smaller than its array is copied where it is taken, so that a write to the
    #: array may happen in place. Chosen, not measured.
    copied_part_ratio: int = 2
    #: In so many rounds what hinders writes in place is mended; after that the writes that are
    #: hindered copy. Each round is a run of the proof. Few are needed, as each finds all conflicts
    #: and no mending is tried twice (decision 0018). Chosen, not measured.
    overwrite_rounds: int = 12

    # ---- Tiles (decision 0012): rows of elementwise operations, part by part.

    #: The bytes of a tile at most, so that a few of them stay in the cache of a core. Chosen; what
    #: was measured is the smallest size, below.
    tile_bytes: int = 2**18
    #: The bytes that the cache of a core holds. Chosen, not measured.
    cache_bytes: int = 2**20
    #: The bytes of the smallest tile, where many arrays are in use at once. Measured: tiles of half
    #: of that took a seventh more time for a chain on 400 KB, and won nothing elsewhere.
    smallest_tile_bytes: int = 2**17
    #: Arrays of so many tiles are worked on in whole tiles, smaller ones in tiles of half. Half a
    #: megabyte stays in the cache by itself, so tiles cost it calls (no figures are recorded).
    full_tiles: int = 4
    #: So many tiles, of the size that is used, are worth a loop. For tiles of half that is an array
    #: of 384 KiB. Measured: losses and activations of half a megabyte took half to two thirds of
    #: the memory, in the same time.
    least_tiles: int = 3
    #: By so many the operations of a row are more than the arrays that it makes whole: on arrays of
    #: ``full_tiles``. Decision 0012 states the number; no figures are recorded.
    tiled_operations: int = 3
    #: The same for smaller arrays: a row that long takes no more time in a loop, and less memory.
    #: Decision 0012 states the number; no figures are recorded.
    tiled_operations_of_half: int = 5
    #: The same for smaller arrays whose tiles in use are too many for the cache, or are reduced to
    #: more than a number each. Decision 0012 states the number; no figures are recorded.
    tiled_operations_of_many: int = 10
    #: What is this much smaller than the arrays of a row may wait until its loop is done. Chosen,
    #: not measured.
    waits_for_tiles_ratio: int = 8
    #: A part of an axis may be so many times smaller than wished for, in order to divide the axis
    #: evenly: for tiles, and for scatters. Chosen, not measured.
    divisor_search_ratio: int = 4

    # ---- Algebra: what is small beside an array is computed apart from it.

    #: A factor this much smaller than a product is multiplied with other small ones first, is taken
    #: out of sums, and counts as the scale of a normalization. Chosen, not measured.
    small_factor_ratio: int = 4
    #: A sum this much smaller than its array is shared: another sum adds it up once more, and
    #: backward reads it where it would add the array up again. Chosen, not measured.
    small_sum_ratio: int = 4
    #: What a gather reads is computed apart from the rest of an array that others read, too, if it
    #: is this much smaller: then the array need not be kept for it. Chosen, not measured.
    gathered_ratio: int = 4
    #: So many times a product stands for a sum of like products, at most. Chosen, not measured.
    like_products: int = 16
    #: So many operations of a product are looked through for its factors. A longer product is
    #: looked at from each of its operations, which would take the square of its length. Chosen, not
    #: measured.
    factor_search_operations: int = 64
    #: So many products deep a value of forward is looked for in what a derivative asks for. Chosen,
    #: not measured.
    factor_search_levels: int = 12
    #: So many signs and products with numbers deep a choice is looked for. Chosen, not measured.
    choice_search_levels: int = 4
    #: So many operations deep the sign of a value is looked for. Chosen, not measured.
    sign_search_levels: int = 6

    # ---- Products and their sums in one call of NumPy.

    #: So many terms, side by side in memory, einsum adds up in a row. More lose digits: sums in
    #: pairs, which are NumPy's own, do not. Chosen, not measured.
    einsum_terms: int = 2**13
    #: So many singles BLAS may add up in a row. Measured on two hundred times as many: of fifty
    #: million equal squares the sum was off by a percent.
    blas_terms: int = 2**18
    #: Rows of so many terms are added up each by itself, where all at once would lose digits:
    #: shorter ones take less time through an array of the products. No figures are recorded.
    row_sum_terms: int = 2**3
    #: Rows of fewer elements einsum multiplies quicker than vecdot, which calls BLAS for each row.
    #: No figures are recorded.
    vecdot_elements: int = 64

    # ---- Texts of single operators.

    #: Windows of so many elements are written out as slices, longer ones are a loop over them.
    #: So few slices count as quicker than a reduction. Chosen, not measured.
    written_window_elements: int = 4
    #: From so many numbers on a scatter adds them one by one with a flat array of places. Chosen,
    #: not measured.
    scattered_elements: int = 2**10
    #: So many numbers a scatter adds at a time, so that its arrays of places stay small. Chosen,
    #: not measured.
    scatter_step_elements: int = 2**15
    #: A sum on zeros is one scatter if there are at most so many times as many zeros as numbers.
    #: Chosen, not measured.
    scattered_zeros_ratio: int = 4

    # ---- Growth of functions, and rounds of passes.

    #: In so many rounds the simplifying passes run until nothing changes. Chosen, not measured.
    simplify_rounds: int = 8
    #: A call is written out of whose operations its caller computes more than this part anyway.
    #: Chosen, not measured.
    computed_anyway_share: float = 0.5
    #: A callee of more operations is called all the same by a loop that takes few items of what it
    #: returns (decision 0018). Chosen, not measured.
    written_out_operations: int = 500
    #: So many branches and loops stand in each other in one function, at most. Each level costs a
    #: step of indentation, of which Python reads no more than 100. Chosen, not measured.
    nested_levels: int = 24

    # ---- Text and its docstrings.

    #: An operand whose expression nests so deep gets a statement of its own. Chosen for the reader.
    expression_levels: int = 3
    #: The widest operands of a wider expression do, too. Chosen for the reader: it leaves room for
    #: a name and an indentation in lines of 100 columns.
    expression_characters: int = 72
    #: From so many bytes on, arguments not counted, a docstring tells what is kept for backward.
    #: The number is that of ``large_bytes``, but no pass depends on it.
    told_bytes: int = 2**16
    #: So many of the values kept, the largest ones, such a docstring names. Chosen for the reader.
    told_values: int = 8

    # ---- Front end: what is written out, and when it gives up.

    #: A comprehension of no more items is written out. Chosen, not measured.
    written_comprehension_items: int = 8
    #: A loop of no more iterations is written out where a position in known items depends on its
    #: counter. Chosen, not measured.
    written_loop_iterations: int = 32
    #: A list that is repeated (``items * n``) is written out up to so many items. Chosen, not
    #: measured.
    written_list_items: int = 64
    #: An array from outside stands in an exported text as literals up to so many elements. Chosen
    #: for the reader.
    literal_elements: int = 64
    #: A loop that has to be unrolled is refused from so many iterations on: text grows with them.
    #: Chosen, not measured.
    unrolled_iterations: int = 20_000
    #: So many times a loop is lowered anew, with more that its iterations carry or wider types,
    #: before it counts as one that no types fit. Chosen, not measured.
    loop_trials: int = 24
    #: So many calls of a text inside each other may differ in numbers alone, before these count as
    #: known at run time only. Chosen, not measured.
    recursive_calls: int = 24
    #: So many calls of any texts may nest; more are refused. Chosen, not measured: the work and
    #: the stack of the compiler grow with them.
    nested_calls: int = 1000
    #: So many calls of one text may nest in each other where none is known to end the recursion
    #: earlier; more are refused as a recursion. Chosen, not measured.
    deep_recursion_calls: int = 400
    #: So many objects are looked at for what a method leads to; who leads to more is taken to lead
    #: to all. Chosen, not measured.
    reached_objects: int = 20_000
    #: Of more elements no array is made just to check something: as a stand-in to ask NumPy what it
    #: says of arguments, or to see whether an exported text gives the array. Chosen, not measured.
    checked_array_elements: int = 1_000_000

    # ---- Run time: what a process keeps, and how long a check may take.

    #: All compiled pairs together keep so many bytes of work arrays; a pair that needs more is lent
    #: none. Chosen, not measured.
    lent_bytes: int = 2**30
    #: So many units are kept for one function. Chosen, not measured.
    kept_units_of_function: int = 64
    #: So many units are kept for all functions. Chosen, not measured.
    kept_units: int = 1024
    #: So many kinds of containers a gradient function remembers how to take apart. Chosen, not
    #: measured.
    container_kinds: int = 64
    #: So many pairs of arguments are compared one by one for memory that they share; of more, the
    #: neighbours in memory are looked for first. Chosen, not measured.
    compared_pairs: int = 16
    #: So many steps NumPy may take to find whether two arrays with gaps share memory; after that
    #: they count as sharing it. Chosen, not measured.
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

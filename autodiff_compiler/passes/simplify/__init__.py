"""Simplification: fewer or cheaper operations, same meaning.

dce                        dead code elimination
cse                        common subexpression elimination
fold_constants             constant folding
merge_branches             merges branches on one condition (jump threading)
flatten_raising_branches   removes the nesting behind a branch that raises
simplify_loop_exits        replaces an exit flag by the exit condition
inline_calls               inlining
inline_single_use          inlining of functions with one caller
inline_element_calls       inlining of calls that loops make for each item of an array
outline_deep_branches      outlining of deeply nested branches
drop_custom_rules          removes the markers of custom derivative rules
stabilise                  replaces formulas that overflow or cancel
algebra                    algebraic simplification
"""

"""The tests of modules that have no test file of their own name.

``tests/architecture/test_mirror.py`` says what a row has to prove. A test stands here as its node
id without ``tests/``, a file as its path without ``tests/``.
"""

from __future__ import annotations

ROW = "frontend/test_rows.py::test_value_and_gradient"
CORPUS = "corpus/test_corpus.py"
#: A program with calls in calls, loops that hooks of exceptions leave, and several functions.
THROWN = f"{ROW}[thrown.in_inner_functions2]"
NOTHING = f"{ROW}[nothing.before_a_loop0]"
NEIGHBOURS = f"{CORPUS}::test_forward_mode_and_both_modes_over_each_other[for_loops.neighbours]"

#: Modules that a test runs: module -> test. The test fails if it does not. Without a parameter
#: set in brackets the row means all of them.
RUN_BY: dict[str, str] = {
    "abstract_arguments": (
        "frontend/test_syntax.py::test_source_does_not_grow_with_trip_counts[True]"
    ),
    "analysis.path_conditions": NOTHING,
    "analysis.versions": THROWN,
    "analysis.zero_times_infinity": (
        f"{CORPUS}::test_forward_mode_and_both_modes_over_each_other[branches.early_return-1]"
    ),
    "analysis.zeroed_tangents": (
        f"{CORPUS}::test_forward_mode_and_both_modes_over_each_other[branches.early_return-1]"
    ),
    "cli.commands": "cli/test_cli.py::test_check",
    "cli.dump": "cli/test_cli.py::test_dump_after_a_pass",
    "cli.inputs": "cli/test_targets.py::test_a_keyword_by_name",
    "cli.parser": "cli/test_cli.py::test_check",
    "cli.source_files": "cli/test_targets.py::test_files_that_import_their_siblings",
    "common.compiler_hook": "frontend/test_effects.py::test_prints_once_and_in_order",
    "common.files.atomic_files": (
        "common/files/test_parameter_files.py::test_a_file_stays_as_it_was"
    ),
    "common.hooks": (
        "frontend/derivatives/test_hooks.py"
        "::test_a_hook_stays_on_a_tensor_and_changes_what_is_compiled"
    ),
    "common.indexing": NEIGHBOURS,
    "common.mutable": "frontend/test_helpers.py::test_a_mutable_thing_is_the_thing",
    "common.random": "ops/functions/test_random.py::test_draws_are_made_once_and_kept",
    "common.tensor_data": "frontend/test_syntax.py::test_value_and_gradient[comprehensions]",
    "emit.c.library.record": (
        "emit/c/library/test_table.py::test_what_a_function_needs_precedes_it"
    ),
    "emit.c.header": "stages/test_c_export.py::test_a_plain_function",
    "emit.c.self_test": "stages/test_c_export.py::test_a_plain_function",
    "emit.c.signature": "stages/test_c_export.py::test_a_plain_function",
    "emit.function_text": THROWN,
    "emit.literal_sites": "emit/test_shared_functions.py::test_each_rank_is_one_function",
    "emit.memory_report.backward_readers": THROWN,
    "emit.memory_report.byte_formulas": THROWN,
    "emit.memory_report.table": (
        "emit/memory_report/test_saved_values.py"
        "::test_each_line_tells_who_made_a_value_and_who_needs_it"
    ),
    "emit.memory_report.value_origins": THROWN,
    "emit.module_header": THROWN,
    "emit.naming.choose": THROWN,
    "emit.naming.coalesce": THROWN,
    "emit.naming.unique_functions": THROWN,
    "emit.outside_arrays": "test_generated_source.py::test_what_is_made_is_a_line_of_text",
    "emit.size_expressions": "emit/test_shared_functions.py::test_each_rank_is_one_function",
    "emit.source": THROWN,
    "emit.statements.builder": THROWN,
    "emit.statements.loops": THROWN,
    "emit.statements.merge_tapes": THROWN,
    "emit.statements.nodes": THROWN,
    "emit.statements.use_counts": THROWN,
    "emit.text.literals": THROWN,
    "emit.text.templates": THROWN,
    "errors": "frontend/test_syntax.py::test_a_recursion_that_writes_around_itself_is_refused",
    "fast_ast": THROWN,
    "frontend.abstract.aliasing": THROWN,
    "frontend.abstract.heap": THROWN,
    "frontend.abstract.in_place_writes": (
        "frontend/objects/test_in_place.py::test_a_parameter_is_written_once_per_call"
    ),
    "frontend.abstract.iterators": "frontend/test_syntax.py::test_value_and_gradient[mapped]",
    "frontend.abstract.join": (
        "frontend/test_syntax.py::test_a_recursion_that_writes_around_itself_is_refused"
    ),
    "frontend.abstract.optional": NOTHING,
    "frontend.abstract.outcomes": THROWN,
    "frontend.abstract.packing": THROWN,
    "frontend.abstract.values": THROWN,
    "frontend.calls.call_expression": THROWN,
    "frontend.calls.external": (
        "frontend/test_effects.py::test_strings_are_built_by_forward_as_in_python"
    ),
    "frontend.calls.inlining": THROWN,
    "frontend.calls.outlined_calls": THROWN,
    "frontend.calls.outlining": THROWN,
    "frontend.calls.python_callbacks": (
        "frontend/test_effects.py::test_logs_are_written_once_in_order_by_forward"
    ),
    "frontend.control_flow.branches": THROWN,
    "frontend.control_flow.carries": THROWN,
    "frontend.control_flow.comprehensions": (
        "frontend/test_syntax.py::test_value_and_gradient[comprehensions]"
    ),
    "frontend.control_flow.exceptions": THROWN,
    "frontend.control_flow.loops": NEIGHBOURS,
    "frontend.control_flow.merge": THROWN,
    "frontend.control_flow.rolled_loop": THROWN,
    "frontend.core.compilation": NEIGHBOURS,
    "frontend.core.cotangents": (
        "frontend/derivatives/test_custom_rules.py::test_none_is_zero_and_a_number_fills"
    ),
    "frontend.core.dependencies": (
        f"{CORPUS}::test_derivatives_of_order_one_and_two[growing.picked_at_run_time-1]"
    ),
    "frontend.core.guards": NEIGHBOURS,
    "frontend.core.hook_placement": (
        "frontend/derivatives/test_hooks.py::test_register_hook_sees_the_gradient_of_every_use"
    ),
    "frontend.core.lowering": THROWN,
    "frontend.core.parameters": NEIGHBOURS,
    "frontend.core.python_values": "ops/neural/test_embedding.py::test_bidense",
    "frontend.core.unwinding": THROWN,
    "frontend.derivatives.recompute": (
        "transforms/reverse/test_recompute.py::test_a_function_a_lambda_and_a_primitive"
    ),
    "frontend.derivatives.vmap_arguments": "ops/transforms/test_vmap.py::test_containers",
    "frontend.expressions.attributes": THROWN,
    "frontend.expressions.comparisons": (
        f"{CORPUS}::test_the_compiled_forward_is_the_eager_one[statements.match_on_a_tensor]"
    ),
    "frontend.expressions.containers": (
        "frontend/test_syntax.py::test_value_and_gradient[changed_in_place]"
    ),
    "frontend.expressions.evaluation": THROWN,
    "frontend.expressions.strings": (
        "frontend/test_effects.py::test_strings_are_built_by_forward_as_in_python"
    ),
    "frontend.expressions.subscripts": NEIGHBOURS,
    "frontend.library.builtins": "frontend/test_effects.py::test_prints_once_and_in_order",
    "frontend.lower": THROWN,
    "frontend.numpy_rules.signatures": (
        "numpy_arguments/test_numpy_arguments.py::test_subscripts_may_hold_lists_of_run_time_places"
    ),
    "frontend.objects.array_updates": (
        "frontend/objects/test_in_place.py::test_a_parameter_is_written_once_per_call"
    ),
    "frontend.objects.user_objects": (
        f"{CORPUS}::test_derivatives_of_order_one_and_two[containers.several_from_one]"
    ),
    "frontend.statements.item_assignment": (
        "frontend/test_written_rows.py"
        "::test_writes_through_views_of_views_cost_what_there_is_to_write"
    ),
    "frontend.statements.simple": THROWN,
    "frontend.syntax.builders": THROWN,
    "frontend.syntax.desugar.insert_gradient": (
        "frontend/derivatives/test_hooks.py"
        "::test_with_insert_grad_of_runs_in_the_loop_of_the_backward"
    ),
    "frontend.syntax.desugar.match_statement": (
        f"{CORPUS}::test_the_compiled_forward_is_the_eager_one[statements.match_on_a_tensor]"
    ),
    "frontend.syntax.desugar.nonlocal_variables": f"{ROW}[refused_elsewhere.inner_nonlocal]",
    "frontend.syntax.desugar.steps": THROWN,
    "frontend.syntax.desugar.walrus_tests": f"{ROW}[iterating.walrus_binds_in_the_function]",
    "frontend.syntax.desugar.with_statement": f"{ROW}[refused_elsewhere.with_custom]",
    "frontend.syntax.exits": THROWN,
    "frontend.syntax.nodes": THROWN,
    "interface.compiled": NEIGHBOURS,
    "ir.aliasing": THROWN,
    "ir.builder": THROWN,
    "ir.effects": THROWN,
    "ir.opdef": THROWN,
    "ir.parser": "ir/test_printer.py::test_parsed_functions",
    "ir.types": THROWN,
    "ir.verify.conflicts": NEIGHBOURS,
    "loop_ir.line_reader": "loop_ir/test_reader.py::test_every_form_reads_back",
    "loops.core.places": "loops/test_lower.py::test_gradients_agree[grown]",
    "loops.core.rows": "loops/test_lower.py::test_gradients_agree[grown]",
    "loops.core.positions": "loops/test_rules.py::test_value[take_along]",
    "loops.core.liveness": "loops/test_lower.py::test_gradients_agree[recurrent]",
    "loops.rules.contractions": "loops/test_rules.py::test_value[einsum]",
    "loops.rules.control_flow": "loops/test_lower.py::test_gradients_agree[newton]",
    "loops.rules.creation": "loops/test_rules.py::test_value[arange]",
    "loops.rules.elementwise": "loops/test_lower.py::test_gradients_agree[chain]",
    "loops.rules.indexing": "loops/test_rules.py::test_value[add_at]",
    "loops.rules.inlined": "loops/test_rules.py::test_value[norm]",
    "loops.rules.lists": "loops/test_lower.py::test_gradients_agree[recurrent]",
    "loops.rules.moving": "loops/test_rules.py::test_value[roll]",
    "loops.rules.numbers": "loops/test_rules.py::test_value[dim]",
    "loops.rules.reductions": "loops/test_lower.py::test_gradients_agree[normalised]",
    "loops.rules.scans": "loops/test_rules.py::test_value[cumsum]",
    "loops.rules.shapes": "loops/test_lower.py::test_gradients_agree[views]",
    "ops.core.one_kernel": "common/test_eager_kernels.py::test_a_composed_function_is_one_kernel",
    "ops.core.primitive_base": "test_mindspore_paths.py::test_older_names_of_operators",
    "ops.transforms.custom_rules": (
        "frontend/derivatives/test_custom_rules.py::test_function_saves_tensors_and_attributes"
    ),
    "ops.transforms.gradient_structures": "ops/transforms/test_derivatives.py::test_vjp_of_weights",
    "ops.transforms.hooks": (
        "frontend/derivatives/test_hooks.py::test_hook_backward_is_given_a_tuple_and_may_only_look"
    ),
    "ops.transforms.jacobian": ("ops/transforms/test_derivatives.py::test_hessian_and_its_product"),
    "ops.transforms.pullback": (
        "ops/transforms/test_derivatives.py::test_derivatives_inside_a_text"
    ),
    "ops.transforms.recompute": (
        "transforms/reverse/test_recompute.py::test_a_function_a_lambda_and_a_primitive"
    ),
    "ops.transforms.tangent": "ops/transforms/test_derivatives.py::test_jvp_structure",
    "ops.transforms.transformed": (
        "ops/transforms/test_derivatives.py::test_no_perturbation_confusion"
    ),
    "passes.core.traversal": THROWN,
    "passes.derivative.factors": NEIGHBOURS,
    "passes.derivative.share_partial_sums": THROWN,
    "passes.destinations.template_calls": (
        "passes/memory/test_assign_buffers.py::test_a_dead_operand_is_written_over"
    ),
    "passes.memory.buffer_pool": (
        "passes/memory/test_assign_buffers.py::test_a_dead_operand_is_written_over"
    ),
    "passes.memory.resolve_conflicts": NEIGHBOURS,
    "program": THROWN,
    "runtime.compiled_function": NEIGHBOURS,
    "runtime.static_arguments": THROWN,
    "span": THROWN,
    "stages.derivatives": NEIGHBOURS,
    "stages.listing": "passes/test_registry.py::test_the_command_prints_the_table",
    "stages.names": THROWN,
    "runtime.late_imports": "stages/test_outcome.py::test_a_setting_chooses_the_target",
    "stages.native": "stages/test_outcome.py::test_a_setting_chooses_the_target",
    "testing.probes": THROWN,
    "testing.reached": THROWN,
    "testing.subject": THROWN,
    "transforms.batching.loop_fallback": (
        "transforms/batching/test_batched_loops.py"
        "::test_rows_of_unknown_rank_are_read_for_one_example_after_the_other"
    ),
    "transforms.batching.operators": (
        "transforms/batching/test_batched_loops.py::test_a_tuple_that_all_examples_share_at_first"
    ),
    "transforms.reverse.cotangents": THROWN,
    "transforms.reverse.element_residuals": THROWN,
    "transforms.tangent.loops": NEIGHBOURS,
    "transforms.tangent.operators": NEIGHBOURS,
}

_LAYERS = "nn/measured_cases.txt nn/layers/test_layers.py"
_ARRAYS = "ops/functions/test_arrays.py ops/test_array_conventions.py"
_DTYPES = "frontend/numpy_rules/test_numpy_dtypes.py"
_PRODUCTS = "numpy_arguments/products.py"
_SPECIAL = "ops/functions/test_special.py"
#: Modules of public names: module -> files of tests that together use each of the names.
NAMED_IN: dict[str, str] = {
    "mindspore_names.supported": "mindspore_names/test_suggestions.py",
    "mindspore_names.unsupported": "mindspore_names/test_suggestions.py",
    "nn.layers.activation": f"{_LAYERS} nn/layers/test_dropout.py",
    "nn.layers.attention": "nn/test_texts.py",
    "nn.layers.basic": f"{_LAYERS} ops/neural/test_embedding.py",
    "nn.layers.image": "nn/measured_cases.txt ops/neural/test_images.py",
    "nn.layers.legacy_arithmetic": "nn/measured_cases.txt ops/test_array_conventions.py",
    "nn.layers.padding": "nn/measured_cases.txt",
    "nn.layers.pooling": "nn/measured_cases.txt",
    "nn.layers.recurrent_cells": "nn/layers/test_layers.py",
    "nn.training.optimizer_base": "nn/training/test_optimizers.py",
    "numpy.creation": f"{_DTYPES} numpy_arguments/test_numpy_arguments.py",
    "numpy.differences": "numpy_arguments/reductions.py",
    "numpy.linalg": _PRODUCTS,
    "numpy.padding": "numpy/test_argument_aliases.py",
    "numpy.products": _PRODUCTS,
    "numpy.reductions": "numpy_arguments/reductions.py",
    "numpy.shapes": "frontend/numpy_rules/test_copies_and_views.py",
    "ops.composite": "ops/test_namespaces.py",
    "ops.core.marks": "ops/test_functions.py",
    "ops.functional": "ops/test_namespaces.py",
    "ops.functions.activations": _SPECIAL,
    "ops.functions.complex_parts": (
        f"frontend/test_numbers.py ops/neural/test_embedding.py {_SPECIAL}"
    ),
    "ops.functions.creation": "fuzz/arrays.py",
    "ops.functions.einsum": "ops/test_array_conventions.py",
    "ops.functions.gather_scatter": f"{_ARRAYS} test_costs.py",
    "ops.functions.masks": _ARRAYS,
    "ops.functions.sorting": _ARRAYS,
    "ops.methods.arrays": (
        f"{_ARRAYS} ops/methods/test_table.py ops/test_inner_derivatives.py"
        " numpy_arguments/test_numpy_arguments.py"
    ),
    "ops.methods.functions": f"{_SPECIAL} ops/methods/test_table.py",
    "ops.methods.matrices": "ops/neural/test_embedding.py ops/functions/test_matrices.py",
    "ops.neural.distances": "ops/functions/test_matrices.py",
    "ops.operations": "ops/test_namespaces.py",
    "ops.primitives.losses": "ops/neural/test_losses.py nn/layers/test_layers.py",
    "ops.primitives.pooling": "ops/neural/test_pooling.py",
    "testing.samples": "operators/test_records.py operators/test_values.py",
    "testing.sampling": "operators/test_records.py operators/test_values.py ops/test_kinks.py",
    "version": "test_package.py",
}

#: Packages and modules that a table of cases covers as a whole: pattern -> file of tests. Each has
#: a proof in ``tests/architecture/test_mirror.py``.
TABLES: dict[str, str] = {
    "emit.c.library.*": "emit/c/library/test_table.py",
    "operators.*": "operators/test_records.py",
    "passes.simplify.algebra.*": "passes/simplify/algebra/test_simplify_algebra.py",
    "testing.*_samples": "operators/test_records.py",
}

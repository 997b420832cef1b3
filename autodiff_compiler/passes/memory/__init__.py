"""Memory: copies, in-place updates, tapes, buffer assignment.

copy_escaping_views      copy insertion at function boundaries
update_lists_in_place    copy elision for lists
update_arrays_in_place   copy elision for arrays
resolve_conflicts        repairs where an update in place would overwrite a value still read
preallocate_tapes        turns a list tape into a preallocated array
overwrite_named_arrays   writes over dead operands with a name (level 1)
assemble_in_place        computes the parts of an array in their slices of it
carry_in_place           in-place loop carries
scan_in_place            in-place running sums
extend_destinations      propagates a destination up a chain of calls
materialize_copies       makes the implicit copies of reshape explicit
overlay_tapes            stores tape rows in an array whose rows the loop has consumed
assign_buffers           buffer assignment (linear scan)
buffer_pool              the pool of buffers: best fit, donation
"""

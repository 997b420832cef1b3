"""``python -m benchmarks`` runs every measurement."""

from benchmarks import call_overhead

call_overhead.main()

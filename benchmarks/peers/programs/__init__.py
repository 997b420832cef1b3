"""The programs of each peer, a file each: functions (ours: Cells, too) of the name that a workload
gives its program, which take its inputs and then its weights."""

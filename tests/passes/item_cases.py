"""Cases of the rules for reads and writes of items: see ``test_simplify_algebra.CASES``."""

from __future__ import annotations

ITEMS = {
    "incremented": ("%x: f32[99,3], %v: f32[4,3], %i: i64[4]", "f32[99,3]", (
        "f32[4,3] = index %x, %i {index=(('op', 0),)}", "f32[4,3] = sub %a, %v",
        "f32[99,3] = set_item %x, %b, %i {index=(('op', 0),)}"), (
        "f32[4,3] = neg %v", "f32[99,3] = increment_at %x, %a, %i {index=(('op', 0),)}")),
    "stored in a row": ("%x: f32[99,3], %v: f32[]", "f32[99,3]", (
        "f32[3] = index %x {index=(4,)}", "f32[3] = set_item %a, %v {index=(-1,)}",
        "f32[99,3] = set_item %x, %b {index=(4,)}"), (
        "f32[99,3] = set_item %x, %v {index=(4, -1)}",)),
    "read in a row": ("%x: f32[99,3]", "f32[]", (
        "f32[3] = index %x {index=(4,)}", "f32[] = index %a {index=(-1,)}"), (
        "f32[] = index %x {index=(4, -1)}",)),
}  # fmt: skip

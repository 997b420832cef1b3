"""``python -m tests.frontend.call_rules_page``: prints ``docs/call-rules.md``."""

from __future__ import annotations

from collections.abc import Iterable

from autodiff_compiler.frontend.call_rules import CALL_RULES, CALLABLE_VALUES, CallRule

HEAD = """# Call rules

`make call-rules-page` prints this page from `autodiff_compiler/frontend/call_rules.py`.

The front end looks up every call of a function in these tables. The callee decides what happens.

1. Wrappers are removed: `jit`, `differentiable`; a user's object is replaced by its `__call__`.
2. If the callee is a compile-time value of the first table, its class selects the rule.
3. Otherwise the first rule of the second table that applies is used.
"""


def rows(rules: Iterable[CallRule]) -> list[str]:
    """Returns the rows of a table: the callee, and what happens."""
    made = ["| callee | what happens |", "|---|---|"]
    return made + [f"| {rule.name} | {rule.summary} |" for rule in rules]


def page() -> str:
    """Returns the page as Markdown."""
    classes, others = rows(CALLABLE_VALUES.values()), rows(CALL_RULES)
    return "\n".join(
        [HEAD, "## Compile-time values", *classes, "", "## Python objects", *others, ""]
    )


if __name__ == "__main__":
    print(page(), end="")

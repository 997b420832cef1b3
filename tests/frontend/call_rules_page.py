"""``python -m tests.frontend.call_rules_page``: prints ``docs/call-rules.md``."""

from __future__ import annotations

from collections.abc import Iterable

from autodiff_compiler.frontend.call_rules import CALL_RULES, CALLABLE_VALUES, CallRule

HEAD = """# What happens with a call

Printed from `autodiff_compiler/frontend/call_rules.py` by `make call-rules-page`.

While a function is compiled, every call in it is looked up here. Compile-time values with a class
of their own come first; of the other rules, the first one that applies is followed. Before that,
`jit` and `differentiable` around a callee are taken off, `object.__setattr__` and its like are
followed, and an object of a user's class stands for its `__call__`.
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

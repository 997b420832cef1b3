"""``python -m tests.numpy_arguments N [seed] [name …]``: N random calls of each function."""

from __future__ import annotations

import sys
import traceback
from collections import Counter

from tests.numpy_arguments.table import CALLS, case, indexed


def main(count: int, seed: int, names: list[str]) -> int:
    wrong = 0
    ends: Counter[str] = Counter()
    for name in names or (*CALLS, "reading", "writing"):
        told: Counter[str] = Counter()
        for number in range(count):
            if name in ("reading", "writing"):
                made = indexed(name, seed, number)
            else:
                made = case(name, seed, number)
            try:
                end = made.run()
            except Exception as error:
                wrong += 1
                ends["wrong"] += 1
                what = f"{type(error).__name__} {str(error)[:60]}"
                told[what] += 1
                said = str(error)[:400]
                if told[what] == 1:
                    print(f"---- {name} {seed} {number}\n{made}{type(error).__name__}: {said}")
                    if type(error).__name__ not in ("Wrong",):
                        traceback.print_exc(limit=-4, file=sys.stdout)
                continue
            ends[end.partition(":")[0]] += 1
            if end.startswith("refused"):
                told[end] += 1
                if told[end] == 1:
                    print(f"---- {name} {seed} {number}: {end}\n     {made.expression}")
    print(dict(ends))
    return int(wrong > 0)


if __name__ == "__main__":
    given = sys.argv[1:]
    numbers = [int(each) for each in given if each.isdigit()]
    sys.exit(main(numbers[0], numbers[1] if len(numbers) > 1 else 0,
                  [each for each in given if not each.isdigit()]))  # fmt: skip

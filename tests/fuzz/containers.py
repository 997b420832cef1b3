"""Random statements on lists, dicts and pairs."""

from __future__ import annotations

from tests.fuzz.statements import Statements


class Containers(Statements):
    """Writes what makes, changes and reads containers."""

    def put_list(self, indent: int) -> None:
        items = ", ".join(self.vector(1) for _ in range(self.random.randint(1, 3)))
        made = f"[{self.vector(1)} * (e + 1) for e in range({self.random.randint(1, 3)})]"
        self.assign(indent, "L", self.one(f"[{items}]", made))

    def put_extend(self, indent: int) -> None:
        for name in self.some("L", 1):
            item = self.vector(1)
            forms = ("@.append(#)", "@.append(#)", "@.extend([#])", "@ += [#]", "@ = @ + [#]")
            self.put(indent, self.one(*forms).replace("@", name).replace("#", item))

    def put_list_item(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.put(indent, f"{name}[{self.one('0', '-1')}] {self.one('', '+')}= {self.stored()}")

    def put_pop(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.put(indent, f"{name}.append({self.vector(1)})")
            self.assign(indent, "v", f"{name}.pop({self.one('', '', '0')})")

    def put_grown(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.assign(indent, "v", f"grown({name}, {self.vector(1)})")

    def put_dict(self, indent: int) -> None:
        for name in self.some("d", 1) if self.chance(0.5) else ():
            self.put(indent, f"{name}['{self.one('p', 'q')}'] {self.one('', '*')}= {self.stored()}")
            return
        made = (f"{{'p': {self.vector(1)}, 'q': {self.vector(1)}}}",
                f"dict(p={self.vector(1)}, q={self.vector(1)})",
                f"{{c: e for c, e in zip('pq', ({self.vector(1)}, {self.vector(1)}))}}",
                *(f"{{**{name}, 'q': {self.vector(1)}}}" for name in self.names("d")),
                *(f"{name} | {{'p': {self.vector(1)}}}" for name in self.names("d")))  # fmt: skip
        self.assign(indent, "d", self.one(*made))

    def put_dict_item(self, indent: int) -> None:
        """A key that is there for a while, and items read by a default."""
        for name in self.some("d", 1):
            self.put(indent, f"{name}['r'] = {self.vector(1)}")
            other = f"{name}.get('r', x) + {name}.get('s', {self.vector(1)})"
            chosen = f"{name}['r' if {self.test(1)} else 'p']"
            way = self.one(f"{name}.pop('r')", other, chosen, f"{name}.setdefault('q', x)")
            self.assign(indent, "v", way)
            self.put(
                indent, self.one(f"{name}.update(q={self.vector(1)})", f"{name}.pop('r', None)")
            )

    def put_dict_walked(self, indent: int) -> None:
        self.count += 1
        for name in self.some("d", 1):
            total, key = f"v{self.count}", f"k{self.count}"
            self.put(indent, f"{total} = {self.vector(1)}")
            head = self.one(f"{key}, {key}_ in {name}.items()", f"{key} in {name}")
            self.put(indent, f"for {head}:")
            item = f"{key}_" if "items" in head else f"{name}[{key}]"
            self.put(
                indent + 1, f"if {key} == {self.one(repr('p'), 'f{}'.format(repr('{chr(113)}')))}:"
            )
            self.put(indent + 2, f"{total} = {total} * {item}")
            self.put(indent + 1, f"{total} = ops.sin({total} + {item})")
            self.scope[total] = "v"

    def put_comprehension(self, indent: int) -> None:
        for name in self.some("L", 1):
            made = (f"[q * {self.vector(1)} for q in {name}]",
                    f"[q for q in {name} if {self.test(1)}] + [{self.vector(1)}]",
                    f"[q * z for q in {name}[:2] for z in (0.5, {self.vector(1)})]",
                    f"[*{name}, {self.vector(1)}]", f"list(reversed({name}))",
                    f"[q + z for q, z in zip({name}, {name}[::-1])]",
                    f"list(filter(lambda q: {self.test(1)}, {name})) + [x]")  # fmt: skip
            self.assign(indent, "L", self.one(*made))

    def put_changed(self, indent: int) -> None:
        """A list changed by its methods."""
        for name in self.some("L", 1):
            self.put(indent, f"{name}.append({self.vector(1)})")
            place = self.one("0", "1", "-1")
            ways = (f"{name}.reverse()", f"{name}.insert({place}, {self.vector(1)})",
                    f"del {name}[{self.one('0', '-1')}]", f"{name}[:1] = [{self.vector(1)}]",
                    f"{name} *= 2")  # fmt: skip
            self.put(indent, self.one(*ways))

    def put_gathered(self, indent: int) -> None:
        """A list that grows, shrinks and is read by position in a loop of unknown length."""
        self.count += 1
        name, i = f"L{self.count}", f"i{self.count}"
        self.put(indent, f"{name} = [{self.one('', self.vector(1))}]")
        self.put(indent, f"for {i} in range({self.int()}):")
        with self.within(self.scope | {i: "n"}):
            item = f"ops.sin({self.vector(1)})"
            place = self.one("-1", "0", f"{i} % len({name})")
            self.put(indent + 1, f"if len({name}) > 0 and ({self.test()}):")
            changes = (f"{name}[{place}] = {name}[-1] * {item}", f"{name}.append({name}[{place}])",
                       f"{name}.pop()", f"{name}.insert(0, {item})",
                       f"{name} = {name} + [{item}, {name}[{place}] * 0.5]")  # fmt: skip
            self.put(indent + 2, self.one(*changes))
            self.put(indent + 1, self.one(f"{name}.append({item})", f"{name} += [{item}]"))
        self.put(indent, f"{name}.append({self.vector(1)})")
        self.scope[name] = "L"

    def put_pick(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.put(indent, f"{name}.append({self.vector(1)})")
            self.assign(indent, "v", f"{name}[{self.int()} % len({name})] * 0.7")

    def put_walked(self, indent: int) -> None:
        self.count += 1
        for name in self.some("L", 1):
            total, item = f"v{self.count}", f"v{self.count}_"
            head = self.one(f"{item} in {name}", f"{item} in reversed({name})")
            made = self.one(f"[q * 0.5 for q in {name}]", f"{name}[1:]", f"{name}[::-1] + {name}")
            self.put(indent, f"{total} = {self.vector(1)}")
            self.put(indent, f"for {head if self.chance(0.5) else f'{item} in {made}'}:")
            self.put(indent + 1, f"{total} = ops.tanh({total} * {item} + {self.vector(1)})")
            self.scope[total] = "v"

    def put_nested(self, indent: int) -> None:
        for name in self.some("L", 1):
            self.count += 1
            tree = f"z{self.count}"
            self.put(indent, f"{tree} = {{'a': {name}, 'b': ({self.vector(1)}, {name})}}")
            change = self.one("['b'][1][0] = #", "['a'].append(#)", "['a'] = [#]")
            self.put(indent, tree + change.replace("#", self.vector(1)))
            self.assign(indent, "v", f"{tree}['b'][1][-1] * {tree}['b'][0]")

    def put_pair(self, indent: int) -> None:
        pair = f"({self.stored()}, {self.vector(1)})"
        self.assign(indent, "t", self.one(pair, f"ordered{pair}", f"Pair{pair}"))

    def put_swap(self, indent: int) -> None:
        first, second = self.target("v"), self.target("v")
        both = self.one(f"{self.stored()}, {self.stored()}", *self.some("t", 1))
        if first != second:
            self.put(indent, f"{first}, {second} = {both}")
            self.scope |= {first: "v", second: "v"}

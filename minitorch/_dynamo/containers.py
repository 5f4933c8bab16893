"""The methods of lists and dicts in captured code. What they do to outside objects waits for the end of the graph."""

from __future__ import annotations

from minitorch._dynamo.assigning import Assigning
from minitorch._dynamo.exc import Break
from minitorch._dynamo.generators import Generated
from minitorch._dynamo.operating import OUTSIDE
from minitorch._dynamo.values import Items, Known, Mapping, Steps, Value


class Containers(Assigning):
    """How methods of lists and dicts are captured."""

    def method_of_list(self, owner: Items, name: str, args: list[Value]) -> Value:
        """What a method that writes to a list does."""
        items = owner.items
        if any(isinstance(each, Generated) for each in args):
            raise Break("a list gets the values of a generator expression, or the expression")
        if name == "extend" and len(args) == 1:
            args = [Items(list, self.iterator(args[0]).rest())]
        where = [self.plain(each) for each in args[:1]] if name in ("insert", "pop") else []
        if len(args) != {"append": 1, "extend": 1, "insert": 2, "reverse": 0, "pop": len(where)}[name]:
            raise Break(f"list.{name}")
        if name == "pop" and not -len(items) <= (where or [-1])[0] < len(items):
            raise Break("pop from a list that has no such item")
        fields = ", ".join(f"{{{place}}}" for place in range(1, len(args) + 1))
        self.effects.change(OUTSIDE, f"{{0}}.{name}({fields})", owner, *args)
        if name == "append":
            items.append(args[0])
        elif name == "extend":
            items += args[0].items  # type: ignore[attr-defined]
        elif name == "insert":
            items.insert(where[0], args[1])
        elif name == "reverse":
            items.reverse()
        else:
            return items.pop(*where)
        return Known(None)

    def write_to_dict(self, owner: Mapping, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """What a method that writes to a dict does."""
        if name == "update" and len(args) < 2 and all(isinstance(each, Mapping) for each in args):
            new = {**(args[0].items if args else {}), **kwargs}  # type: ignore[attr-defined]
            self.effects.change(OUTSIDE, "{0}.update({1})", owner, Mapping(new))
            owner.items.update(new)
            return Known(None)
        if name == "update" or kwargs or not 1 <= len(args) <= 2:
            raise Break(f"dict.{name}")
        key = self.plain(args[0])
        default = args[1] if len(args) > 1 else Known(None)
        if name == "setdefault":
            if key not in owner.items:
                self.effects.change(OUTSIDE, "{0}[{1}] = {2}", owner, Known(key), default)
            return owner.items.setdefault(key, default)
        if key in owner.items:
            self.effects.change(OUTSIDE, "del {0}[{1}]", owner, Known(key))
            return owner.items.pop(key)
        if len(args) < 2:
            raise Break(f"KeyError: {key!r}")
        return default

    def method_of_dict(self, owner: Mapping, name: str, args: list[Value]) -> Value:
        """What a method that reads a dict gives."""
        if name == "get":
            return owner.items.get(self.plain(args[0]), args[1] if len(args) > 1 else Known(None))
        if name == "keys":
            return Steps([Known(key) for key in owner.items])
        pairs: list[Value] = [Items(tuple, [Known(key), each]) for key, each in owner.items.items()]
        return Steps(list(owner.items.values()) if name == "values" else pairs)

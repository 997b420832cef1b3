# The names of gast that the front end extends, as one class of nodes. All other names are Any.
import ast
from ast import NodeTransformer as NodeTransformer
from typing import Any, TypeAlias

class _Node(ast.AST):
    def __init__(self, *args: Any, **fields: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

AST: TypeAlias = Any
stmt: TypeAlias = _Node
expr: TypeAlias = _Node
BinOp: TypeAlias = _Node
Name: TypeAlias = _Node
For: TypeAlias = _Node
While: TypeAlias = _Node
Raise: TypeAlias = _Node

def __getattr__(name: str) -> Any: ...

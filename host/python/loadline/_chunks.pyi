from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from . import Table

_Thing = TypeVar("_Thing")

CHUNK_S: float
FIRST: int

def predicted(environments: Sequence[Any], plans: Any, options: dict[str, Any]) -> Table: ...
def advised(needs: Sequence[Any], options: dict[str, Any]) -> Table: ...
def chunks(function: Callable[..., Table], things: Iterable[_Thing], *rest: Any) -> tuple[list[Table], list[list[_Thing]]]: ...

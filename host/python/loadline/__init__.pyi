from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, TypeAlias, overload

from ._loadline import Advice as Advice
from ._loadline import Bug as Bug
from ._loadline import Comparison as Comparison
from ._loadline import Emulation as Emulation
from ._loadline import Error as Error
from ._loadline import Forked as Forked
from ._loadline import Refused as Refused
from ._loadline import Run as Run
from ._loadline import Store as Store
from ._loadline import Table as Table
from ._loadline import __version__ as __version__

__all__ = [
    "Advice",
    "Bug",
    "Comparison",
    "Emulation",
    "Environment",
    "Error",
    "Forked",
    "Need",
    "Plan",
    "Refused",
    "Run",
    "Store",
    "Svg",
    "Table",
    "__version__",
    "advise",
    "advise_many",
    "compare",
    "emulate",
    "join",
    "predict",
    "predict_many",
    "read",
    "run",
]

_Path: TypeAlias = str | PathLike[str]
_Option: TypeAlias = str | int | float | bool | timedelta | PathLike[str] | Sequence[str | int | float] | None

class Svg(str):
    def _repr_svg_(self) -> str: ...
    def save(self, path: _Path) -> None: ...

class _Document:
    name: str
    text: str
    def __init__(self, text: str, name: str | None = None) -> None: ...
    @classmethod
    def read(cls, path: _Path) -> Any: ...
    def __setattr__(self, key: str, value: object) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

class Plan(_Document):
    @classmethod
    def named(cls, name: str) -> Plan: ...

class Environment(_Document):
    @classmethod
    def named(cls, name: str) -> Environment: ...

class Need(_Document): ...

def run(
    plan: str | PathLike[str] | Plan | Sequence[str | PathLike[str] | Plan],
    on: _Path | Sequence[str] | Mapping[str, _Path] | None = None,
    *,
    store: _Path | None = None,
    yes: bool = False,
    **options: Any,
) -> Run: ...
def predict(
    plan: str | PathLike[str] | Plan | Sequence[str | PathLike[str] | Plan],
    env: str | PathLike[str] | Environment,
    *,
    store: _Path | None = None,
    **options: _Option,
) -> Run: ...
@overload
def predict_many(
    environments: Iterable[str | PathLike[str] | Environment],
    plans: str | PathLike[str] | Plan | Sequence[str | PathLike[str] | Plan],
    *,
    table: Literal[True],
    limits_only: bool = False,
    **options: Any,
) -> Table: ...
@overload
def predict_many(
    environments: Iterable[str | PathLike[str] | Environment],
    plans: str | PathLike[str] | Plan | Sequence[str | PathLike[str] | Plan],
    *,
    limits_only: Literal[True],
    table: bool = False,
    **options: Any,
) -> Table: ...
@overload
def predict_many(
    environments: Iterable[str | PathLike[str] | Environment],
    plans: str | PathLike[str] | Plan | Sequence[str | PathLike[str] | Plan],
    *,
    table: Literal[False] = False,
    limits_only: Literal[False] = False,
    **options: Any,
) -> list[Run]: ...
def advise_many(needs: Iterable[str | PathLike[str] | Need], **options: Any) -> Table: ...
def join(tables: Iterable[Table]) -> Table: ...
def advise(
    need: _Path | None = None,
    *,
    plan: str | PathLike[str] | Plan | None = None,
    from_: _Path | Sequence[str] | None = None,
    **options: _Option,
) -> Advice: ...
def compare(*runs: Run, **options: _Option) -> Comparison: ...
def read(path: _Path | Sequence[_Path], *more: _Path, name: str | None = None) -> Any: ...
def emulate(
    env: str | PathLike[str] | Environment,
    *,
    seed: int | None = None,
    memory_bytes: int | None = None,
    socket: _Path | None = None,
) -> Emulation: ...

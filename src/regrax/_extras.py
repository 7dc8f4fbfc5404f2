"""Doors of packages that need extras: names load on first use, and an extra that is not installed is one line."""

from collections.abc import Callable
from typing import Any

import lazy_loader


def attach_extra(
    package: str, file: str, extra: str, needs: tuple[str, ...]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: its name.
        file: its `__file__`; the stub beside it lists the names.
        extra: what must be installed for them.
        needs: the modules that the extra installs.
    """
    attribute, names, every = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        try:
            return attribute(name)
        except ModuleNotFoundError as error:
            if error.name not in needs:
                raise
            text = f"{package} needs {error.name}, but it is not installed: pip install 'regrax[{extra}]'"
            raise ModuleNotFoundError(text, name=error.name) from None

    return get, names, every

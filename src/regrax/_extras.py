"""Lazy imports for packages that need extras, with a one-line error if the extra is not installed."""

from collections.abc import Callable
from typing import Any

import lazy_loader


def attach_extra(
    package: str, file: str, extra: str, needs: tuple[str, ...]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package that needs an extra.

    Args:
        package: the package's name.
        file: the package's `__file__`; the stub next to it lists the public names.
        extra: name of the extra that must be installed.
        needs: modules that the extra installs.
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

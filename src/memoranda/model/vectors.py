"""Names for arrays of numbers; the room itself needs no third party when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"
"""Shape ``(dimensions,)``, unit length."""

Vectors: TypeAlias = "npt.NDArray[np.float32]"
"""Shape ``(rows, dimensions)``, rows of unit length."""

"""All cells of the matrix."""
from __future__ import annotations

import shapes

CELLS = [*shapes.CELLS]

"""All cells of the matrix."""

from __future__ import annotations

import faults
import reported
import shapes

CELLS = [*shapes.CELLS, *faults.CELLS, *reported.CELLS]

"""All cells of the matrix."""

from __future__ import annotations

import faults
import half_healthy
import plugins
import reported
import shapes
import sockets

CELLS = [
    *shapes.CELLS,
    *faults.CELLS,
    *half_healthy.CELLS,
    *reported.CELLS,
    *plugins.CELLS,
    *sockets.CELLS,
]

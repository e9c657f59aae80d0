"""All cells of the matrix."""

from __future__ import annotations

import faults
import plugins
import reported
import shapes
import sockets

CELLS = [*shapes.CELLS, *faults.CELLS, *reported.CELLS, *plugins.CELLS, *sockets.CELLS]

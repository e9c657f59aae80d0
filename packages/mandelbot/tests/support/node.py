"""Node, for those scripts of a page that touch no document."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

NODE = shutil.which("node")

_SERVE = """
const functions = new Map();
const lines = require('node:readline').createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const [script, values] = JSON.parse(line);
  if (!functions.has(script)) functions.set(script, new Function(script));
  let reply;
  try {
    reply = { found: functions.get(script)(...values) };
  } catch (error) {
    reply = { error: String(error.stack) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\\n`);
});
"""


class Node:
    """Runs scripts as a browser's driver does, in one process."""

    def __init__(self) -> None:
        assert NODE is not None
        self._process = subprocess.Popen(
            [NODE, "-e", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def execute_script(self, script: str, *values: Any) -> Any:
        """Return what the body of a function returns for these arguments."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([script, values]) + "\n")
        self._process.stdin.flush()
        reply = json.loads(self._process.stdout.readline())
        assert "error" not in reply, reply["error"]
        return reply["found"]

    def quit(self) -> None:
        """End the process."""
        self._process.communicate()

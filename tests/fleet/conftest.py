"""What tests of a job on Redis share."""

from __future__ import annotations

import pytest
from shared_jobs import Worker


@pytest.fixture
def worker(redis_server):
    """Start workers of one job."""
    started = []

    def start(**arguments) -> Worker:
        started.append(Worker(redis_server.url, **arguments))
        return started[-1]

    yield start
    for one in started:
        one.close()

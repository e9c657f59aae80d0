"""Decides which request may go: sites, flights, waiting requests, peers.

The state of one site is in ``politeness/site_state.py``. This package holds the bounded
map of all sites, one heap of timers, the requests that wait outside the queue, and
those in flight. The field's concepts, and where they stand:

- places of the downloader: ``InFlight``, ``Unresponsive`` (``in_flight.py``)
- gossip between crawls: ``Peers`` (``peers.py``)
- health check: ``HealthCheck`` (``health_check.py``)
- control plane: ``ManualControl``, ``IdlePolicy`` (``manual_control.py``)
"""

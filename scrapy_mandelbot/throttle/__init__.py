"""Decides which request may go: sites, flights, waiting requests, leases, peers.

The state of one site is in ``politeness/site_state.py``. This package holds the bounded
map of all sites, one heap of timers, the requests that wait outside the queue, and
those in flight.
"""

"""How the sites of a crawl are asked: what is known of each, what is in flight, who waits.

What is known of one site, and what follows from it, is in ``politeness/site_state.py``. Here is one
bounded map of them, one alarm, one waiting room, and what is in flight.
"""

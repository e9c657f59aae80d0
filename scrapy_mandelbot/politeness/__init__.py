"""What a site's answers mean, and when it may be asked again.

Pure: answers, numbers and ``now`` go in, values come out. Nothing here reads a clock,
draws a random number or touches a socket, so that all of it is tested without a crawl.

The field's concepts, and where they stand:

- circuit breaker, half-open probe: ``Pause`` (``pause.py``), ``probe.py``
- exponential backoff, with memory: ``PausePolicy``, ``Backoff`` (``pause_policy.py``)
- rate control by slow start and CUBIC: ``RateControl`` (``rate_control.py``)
- rate limit or chance: ``LimitEstimator``, ``SlowLimitEstimator``
- concurrency limit: ``ConcurrencyLimit`` (``concurrency_limit.py``)
- pacing (GCRA), quota: ``Pacer``, ``Quota`` (``pacer.py``), ``Pace`` (``pace.py``)
- fault localisation: ``Faults`` (``faults.py``), ``BotBlockDetector``
- reservation, account: ``Flight``, ``Reservation`` (``flight.py``), ``Tally``
- per-site state, and the decision: ``Site`` (``site_state.py``)
"""

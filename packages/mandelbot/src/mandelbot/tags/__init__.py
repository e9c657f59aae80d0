"""Robot tags: ``X-Robots-Tag`` and ``<meta name="robots">``, from any bytes.

No Scrapy, no network, no clock.

>>> page = b'<head><meta name="examplebot" content="noindex, max-snippet:50"></head>'
>>> tags = robot_tags([("X-Robots-Tag", "nofollow")], page, "Examplebot")
>>> tags.noindex, tags.nofollow, tags.max_snippet
(True, True, 50)
>>> print(tags.decided_by("noindex"))
noindex in <meta name="examplebot"> on line 1
"""

from mandelbot.tags.reading import RobotTag, RobotTags, robot_tags

__all__ = ["RobotTag", "RobotTags", "robot_tags"]

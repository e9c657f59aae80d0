"""`scrapy crawl`, with an exit code that shows whether the demo's check held.

Scrapy's own command exits with 0 however a crawl ended, and an extension cannot change
that: what it raises is logged. A command of the same name in COMMANDS_MODULE takes the
place of Scrapy's.

Scrapy says a lot at level INFO. It goes to LOG_FILE, and to the terminal only what the
package and the spiders say, warnings and errors.
"""

import logging

from scrapy import signals
from scrapy.commands import crawl

from sample_project import comparison


class Command(crawl.Command):
    """Exits with 0 if the crawl ended and the check passed or is off, else with 1.

    A spider may name others, which are crawled in the same process (`beside`).
    """

    def run(self, args, opts):
        """Run the spider as Scrapy's command does."""
        self.exitcode = 1
        if self.settings["LOG_FILE"]:
            show_some({"scrapy_mandelbot", *args})
            print(f"The log is in {self.settings['LOG_FILE']}.")
        crawlers = [self.crawler_process.create_crawler(name) for name in args]
        beside = [
            name for one in crawlers for name in getattr(one.spidercls, "beside", ())
        ]
        crawlers += [self.crawler_process.create_crawler(name) for name in beside]
        self.unchecked = len(crawlers)
        for crawler in crawlers:
            crawler.signals.connect(self.engine_stopped, signal=signals.engine_stopped)
        for crawler in crawlers[1:]:
            self.crawler_process.crawl(crawler)
        super().run(crawlers[:1], opts)
        if beside:
            print(comparison.render(crawlers))

    def engine_stopped(self, sender):
        """Read the outcome from the stats, where the extension has left it."""
        held = sender.stats.get_value("demo/mismatches") == 0
        self.unchecked -= held or not sender.settings.getbool("DEMO_CHECK")
        self.exitcode = 1 if self.unchecked else 0


def show_some(names):
    """Show on the terminal the lines of these loggers, and all warnings and errors."""
    terminal = logging.StreamHandler()
    terminal.setFormatter(
        logging.Formatter("%(asctime)s [%(name)s] %(message)s", "%H:%M:%S")
    )
    terminal.setLevel(logging.INFO)
    terminal.addFilter(
        lambda record: (
            record.levelno >= logging.WARNING or record.name.split(".")[0] in names
        )
    )
    logging.getLogger().addHandler(terminal)

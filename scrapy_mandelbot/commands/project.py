"""An invocation of a verb in a project: what the project has set goes for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mandelbot.cli.invocation import Invocation
from scrapy.utils.misc import load_object

from scrapy_mandelbot.fetching.request_agents import default_header, first_named
from scrapy_mandelbot.settings.config import read_setting
from scrapy_mandelbot.settings.values import SettingsError

if TYPE_CHECKING:
    from argparse import Namespace

    from mandelbot.cli.output import Terminal
    from scrapy.settings import Settings

ADDON = "scrapy_mandelbot.Addon"


class ProjectInvocation(Invocation):
    """An invocation by ``scrapy robots``; outside a project Scrapy's defaults count."""

    errors = (*Invocation.errors, SettingsError)

    def __init__(self, opts: Namespace, terminal: Terminal, settings: Settings) -> None:
        super().__init__(opts, terminal)
        self.settings = settings
        self.verifies = settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES")
        self.page_timeout = settings.getfloat("DOWNLOAD_TIMEOUT")
        self.user_agent = first_named(default_header(settings), settings["USER_AGENT"])
        """The project's User-Agent, one that names a robot if there is any."""

    @property
    def crawl_settings(self) -> Settings:
        """The settings of a crawl: with what the add-on sets, if the project has it."""
        settings = self.settings.copy()
        if self.has_addon:
            load_object(ADDON)().update_settings(settings)
        return settings

    @property
    def has_addon(self) -> bool:
        """Whether the project has the add-on in ``ADDONS``."""
        addon = load_object(ADDON)
        return any(load_object(one) is addon for one in self.settings.getdict("ADDONS"))

    def setting(self, name: str) -> Any:
        """Return a setting by the name of its attribute in ``Config``."""
        return read_setting(self.settings, name)

    @property
    def fresh_for(self) -> float:
        """For how many seconds a robots.txt is not fetched again."""
        ttl = self.setting("cache_ttl")
        if ttl is None:
            ttl = self.dialect.fresh_for
        return float(ttl)

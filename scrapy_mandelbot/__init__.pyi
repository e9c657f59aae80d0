# The public names for type checkers; __init__.py has them for the interpreter.

from ._version import __version__ as __version__
from .addon import Addon as Addon
from .console import PauseConsole as PauseConsole
from .console import pause_site as pause_site
from .console import paused_sites as paused_sites
from .console import resume_site as resume_site
from .console import site_rules as site_rules
from .console import why_idle as why_idle
from .downloadermiddlewares.pause import PauseMiddleware as PauseMiddleware
from .downloadermiddlewares.robotstxt import RobotsTxtMiddleware as RobotsTxtMiddleware
from .downloadermiddlewares.site_budget import BudgetReachedError as BudgetReachedError
from .fetching.robot_parser import MandelbotRobotParser as MandelbotRobotParser
from .fleet.shared_scheduler import SharedJobScheduler as SharedJobScheduler
from .job.job_scheduler import JobScheduler as JobScheduler
from .job.middleware import JobMiddleware as JobMiddleware
from .report.crawl_report import CrawlReport as CrawlReport
from .report.metrics import CrawlMetrics as CrawlMetrics
from .report.summary import CrawlSummary as CrawlSummary
from .report.survey import status as status
from .scheduling.parking import ParkingScheduler as ParkingScheduler
from .scheduling.site_queue import SiteQueue as SiteQueue
from .settings.values import SettingsError as SettingsError
from .sitemap_crawl.follower import SitemapFollower as SitemapFollower
from .spidermiddlewares.hooks import SpiderHooks as SpiderHooks
from .spidermiddlewares.robot_tags import RobotTagsMiddleware as RobotTagsMiddleware
from .throttle.in_flight import SitePausedError as SitePausedError

# The public names for type checkers; __init__.py has them for the interpreter.

from .content_codings import ACCEPTED as ACCEPTED
from .content_codings import UnknownCodingError as UnknownCodingError
from .content_codings import UnreadableBodyError as UnreadableBodyError
from .content_codings import codings_in as codings_in
from .content_codings import is_plain as is_plain
from .content_codings import unpack as unpack
from .failures import TruncatedError as TruncatedError
from .failures import error_text as error_text
from .failures import failure_at as failure_at
from .failures import failure_of as failure_of
from .failures import has_begun as has_begun
from .failures import without_traceback as without_traceback
from .inside import leads_inside as leads_inside
from .meaning import GOES_BACK as GOES_BACK
from .meaning import NOTHING as NOTHING
from .meaning import Kind as Kind
from .meaning import ResponseMeaning as ResponseMeaning
from .meaning import meaning_of as meaning_of
from .meaning import terms_of as terms_of
from .outcome import PAUSE_STATUSES as PAUSE_STATUSES
from .outcome import SILENT as SILENT
from .outcome import SiteKnowledge as SiteKnowledge
from .outcome import Trouble as Trouble
from .outcome import is_fresh as is_fresh
from .outcome import whole_lines as whole_lines
from .retry_after import quota_of as quota_of

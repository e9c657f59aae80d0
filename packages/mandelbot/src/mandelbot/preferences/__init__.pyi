# The public names for type checkers; __init__.py has them for the interpreter.

from .in_pages import HEADERS_READ as HEADERS_READ
from .statements import CATEGORIES as CATEGORIES
from .statements import NOTHING_SAID as NOTHING_SAID
from .tdmrep import BYTES_LIMIT as BYTES_LIMIT
from .tdmrep import TDMREP_PATH as TDMREP_PATH
from .tdmrep import TdmFile as TdmFile
from .tdmrep import with_tdm_file as with_tdm_file

MARKED_STATUSES: frozenset[int]
TERMS_STATUSES: frozenset[int]

# The public names for type checkers; __init__.py has them for the interpreter.

from .fetch import Fetched as Fetched
from .invocation import Invocation as Invocation
from .invocation import Result as Result
from .output import RewrittenLine as RewrittenLine
from .output import Terminal as Terminal
from .output import TerminalStyle as TerminalStyle
from .output import UnavailableError as UnavailableError
from .output import cut as cut
from .output import joined as joined
from .output import width_of as width_of
from .sources import Url as Url
from .sources import errors_at as errors_at
from .sources import write_file as write_file
from .verbs import OUTPUT as OUTPUT
from .verbs import VERBS as VERBS
from .verbs import Verb as Verb
from .verbs import argument as argument
from .verbs import flag as flag
from .verbs import many as many
from .verbs import parse as parse
from .verbs import run as run

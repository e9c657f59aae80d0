"""Files that are replaced as a whole.

Opening a file for writing empties it. On a full disk, at Ctrl-C or a kill, its owner
would keep the first part of a robots.txt: the rules behind it are gone, and what they
forbade is open. So a draft is written beside the file, is brought to the disk, and then
takes the file's place in one step of the file system.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_MODE = 0o666  # of a file that was not there, less the process's umask


def open_regular(place: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read it, unless it is a pipe, a device or a directory.

    Opening a pipe that nobody writes to would wait for ever. Raises OSError.
    """
    # without O_NONBLOCK, as on Windows, there are no such pipes
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    number = os.open(place, flags)
    try:
        is_regular = stat.S_ISREG(os.fstat(number).st_mode)
        if not is_regular:
            raise OSError(errno.EINVAL, "Not a regular file", os.fspath(place))  # noqa: TRY301 -- it is closed below
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def replace_file(place: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Replace a file by what the pieces make up, or leave it as it is.

    The file has either its old contents or all of the new ones whenever the process
    ends. It keeps its mode and, as far as the system permits, its owner and group. A
    symbolic link stays one: the file that it names is replaced. Of several hard links
    only this one has the new contents. Into what is no regular file, such as
    ``/dev/stdout``, the pieces are written as they come.

    Raises OSError, with the name of the file and not of the draft, if the draft cannot
    be written or take the place, and what `pieces` raises. The draft is removed then; a
    killed process leaves it as a hidden file.
    """
    try:
        _replace(place, pieces)
    except OSError as error:
        if error.errno is None:  # no error of the system
            raise
        raise OSError(error.errno, error.strerror, os.fspath(place)) from error


def _replace(place: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    path = Path(os.path.realpath(place))
    replaced: os.stat_result | None = None
    with suppress(FileNotFoundError):
        replaced = path.stat()
    if replaced is not None and not stat.S_ISREG(replaced.st_mode):
        with path.open("wb") as stream:
            stream.writelines(pieces)
        return
    draft = path.with_name(f".{secrets.token_hex(8)}.draft")
    number = os.open(draft, _NEW, _MODE)
    try:
        with os.fdopen(number, "wb") as file:
            if replaced is not None:
                _keep_owner_and_mode(draft, replaced)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:  # Ctrl-C, too
        draft.unlink(missing_ok=True)
        raise
    _bring_to_disk(path.parent)


def _keep_owner_and_mode(draft: Path, replaced: os.stat_result) -> None:
    """Give the draft the replaced file's owner, group and mode."""
    if hasattr(os, "chown"):
        with suppress(OSError):  # who may not give a file away keeps it
            os.chown(draft, replaced.st_uid, replaced.st_gid)
    draft.chmod(stat.S_IMODE(replaced.st_mode))


def _bring_to_disk(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system has a call for it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # a folder that may be written, but not read
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)

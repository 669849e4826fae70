"""within.py ROOT COMMAND...: makes ROOT, a mount point, the root of this mount namespace, and runs COMMAND in it.

Not chroot: a process in one may not make user namespaces (unshare(2)), which races need.
"""

import ctypes
import os
import sys

PIVOT_ROOT = 155  # x86-64
MNT_DETACH = 2

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


root, *command = sys.argv[1:]
os.chdir(root)
# pivot_root(2): the old root lies over the new one, and is taken off.
check(libc.syscall(PIVOT_ROOT, b".", b"."))
check(libc.umount2(b".", MNT_DETACH))
os.chdir("/")
os.execvp(command[0], command)

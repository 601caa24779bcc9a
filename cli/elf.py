"""Whether the dynamic loader will heed LD_PRELOAD for a program."""

import os
import stat
import struct

PT_INTERP = 3


def interpreter_of_script(head):
    words = head[2:].split(b"\n", 1)[0].split()
    return os.fsdecode(words[0]) if words else None


def has_loader(head, file):
    """For the start of an ELF file: whether it names a loader, as every dynamic program does."""
    wide = head[4] == 2
    order = "<" if head[5] == 1 else ">"
    if wide:
        (table,) = struct.unpack_from(order + "Q", head, 32)
        size, count = struct.unpack_from(order + "HH", head, 54)
    else:
        (table,) = struct.unpack_from(order + "I", head, 28)
        size, count = struct.unpack_from(order + "HH", head, 42)
    file.seek(table)
    headers = file.read(size * count)
    return any(struct.unpack_from(order + "I", headers, at)[0] == PT_INTERP
               for at in range(0, len(headers) - 3, size))


def gains_privileges(path):
    status = os.stat(path)
    if status.st_mode & stat.S_ISUID and status.st_uid != os.getuid():
        return "setuid"
    if status.st_mode & stat.S_ISGID and status.st_mode & stat.S_IXGRP and status.st_gid != os.getgid():
        return "setgid"
    try:
        if os.getuid() != 0 and os.getxattr(path, "security.capability"):
            return "given capabilities"
    except OSError:
        pass
    return None


def why_preload_is_ignored(path, follow=True):
    """-> a reason as the start of a sentence, or None."""
    with open(path, "rb", buffering=0) as file:
        head = file.read(4096)
        if head.startswith(b"#!") and follow:
            interpreter = interpreter_of_script(head)
            return why_preload_is_ignored(interpreter, follow=False) if interpreter else None
        if not head.startswith(b"\x7fELF") or len(head) < 64:
            return None
        if not has_loader(head, file):
            return f"'{path}' is statically linked"
    privilege = gains_privileges(path)
    return f"'{path}' is {privilege}" if privilege else None

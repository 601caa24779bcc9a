"""Two tracers, for x86-64: breakpoints, and the kernel's uprobes. Both give (name, arguments) for each hit."""

import ctypes
import mmap
import os
import signal
import struct
import subprocess
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long
TRACEME, CONT, GETREGS, DETACH = 0, 7, 12, 17
# Where struct user_regs_struct has what notes call so, and which number perf has for it.
REGISTERS = {"%rdx": (12, 3), "%rsi": (13, 4), "%rdi": (14, 5)}
RIP = 16
UPROBE = Path("/sys/bus/event_source/devices/uprobe/type")


def ptrace(request, pid, address=0, data=0):
    if LIBC.ptrace(request, pid, address, data) == -1:
        raise OSError(ctypes.get_errno(), f"ptrace: {os.strerror(ctypes.get_errno())}")


class Traced:
    """A program that runs under ptrace up to its SIGSTOP."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: ptrace(TRACEME, 0))
        self.pid = self.process.pid
        self.go_on()            # from exec
        if self.wait() != signal.SIGSTOP:
            raise RuntimeError(f"{command[0]} did not come to its SIGSTOP")

    def wait(self):
        """-> the signal that stopped it, or None if it has ended"""
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSTOPPED(status):
            return os.WSTOPSIG(status)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return None

    def go_on(self):
        while self.wait() != signal.SIGTRAP:
            pass
        ptrace(CONT, self.pid)

    def output(self):
        with self.process:
            return self.process.stdout.read()


def by_breakpoints(file, command, environment):
    traced = Traced(command, environment)
    moved_by = file.moved_by(traced.pid)
    probes = {probe.address + moved_by: probe for probe in file.probes()}
    with open(f"/proc/{traced.pid}/mem", "r+b", buffering=0) as memory:
        for address in probes:
            memory.seek(address)
            memory.write(b"\xcc")
    hits, registers = [], (ctypes.c_ulonglong * 27)()
    ptrace(CONT, traced.pid)
    while traced.wait() is not None:
        ptrace(GETREGS, traced.pid, 0, ctypes.addressof(registers))
        probe = probes[registers[RIP] - 1]  # the breakpoint is as long as the no-op: the program goes on behind it
        hits.append((probe.name, [registers[REGISTERS[name][0]] for _, name in probe.arguments]))
        ptrace(CONT, traced.pid)
    return hits, traced.process.returncode, traced.output()


class Uprobe:
    """Counts in a ring of records, each with the registers of the notes in the order of perf's numbers."""

    PAGES = 256
    NUMBERS = sorted(number for _, number in REGISTERS.values())

    def __init__(self, file, probe, pid):
        self.probe = probe
        path = ctypes.create_string_buffer(os.fsencode(file.path))
        attributes = bytearray(112)
        # type, size, config, sample_period, sample_type (REGS_USER and TIME), read_format, flags, wakeup, bp_type,
        # config1, config2, branch_sample_type, sample_regs_user
        struct.pack_into("<IIQQQQQIIQQQQ", attributes, 0, int(UPROBE.read_text()), len(attributes), 0, 1,
                         1 << 12 | 1 << 2, 0, 0, 0, 0, ctypes.addressof(path), probe.offset, 0,
                         sum(1 << number for number in self.NUMBERS))
        buffer = (ctypes.c_char * len(attributes)).from_buffer(attributes)
        self.descriptor = LIBC.syscall(298, buffer, pid, -1, -1, 0)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), f"perf_event_open: {os.strerror(ctypes.get_errno())}")
        self.ring = mmap.mmap(self.descriptor, (1 + self.PAGES) * mmap.PAGESIZE)

    def hits(self):
        head, tail = struct.unpack_from("<QQ", self.ring, 1024)
        data = self.ring[mmap.PAGESIZE:]
        while tail < head:
            kind, _, size = struct.unpack_from("<IHH", data, tail)
            if kind != 9 or head > len(data):
                raise RuntimeError(f"perf: a record of kind {kind}, {head} bytes in a ring of {len(data)}")
            time, _, *values = struct.unpack_from(f"<QQ{len(self.NUMBERS)}Q", data, tail + 8)
            registers = dict(zip(self.NUMBERS, values))
            yield time, (self.probe.name, [registers[REGISTERS[name][1]] for _, name in self.probe.arguments])
            tail += size

    def close(self):
        self.ring.close()
        os.close(self.descriptor)


def by_uprobes(file, command, environment):
    """Raises OSError where the kernel has no uprobes, or refuses them."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    uprobes = []
    try:
        os.waitpid(process.pid, os.WUNTRACED)
        uprobes = [Uprobe(file, probe, process.pid) for probe in file.probes()]
        process.send_signal(signal.SIGCONT)
        with process:
            output = process.stdout.read()
        in_order = sorted(hit for uprobe in uprobes for hit in uprobe.hits())
        return [hit for _, hit in in_order], process.returncode, output
    finally:
        process.kill()
        for uprobe in uprobes:
            uprobe.close()

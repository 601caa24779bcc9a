"""Runs a program as a child of this process, which passes signals on and waits for its end."""

import os
import resource
import signal

PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)  # which the program gets, too
NOT_EXECUTABLE, NOT_FOUND = 126, 127             # exit codes of programs that could not be started, as shells have them


def run(become):
    """become(): replaces the process by the program. -> the child's number and exit code, negative for a signal"""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON + FROM_TERMINAL)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        try:
            become()
        except SystemExit as refused:
            os._exit(refused.code)
        finally:
            os._exit(NOT_EXECUTABLE)
    before = {number: signal.signal(number, lambda *_: None) for number in FROM_TERMINAL}
    before |= {number: signal.signal(number, lambda number, _: os.kill(child, number)) for number in PASSED_ON}
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    for number, handler in before.items():  # while the number is the child's still
        signal.signal(number, handler)
    _, status = os.waitpid(child, 0)
    return child, os.waitstatus_to_exitcode(status)


def end_as(code):
    """Ends this process as the child has ended. -> the exit code where a signal does not end it"""
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # the core is the child's
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        return 128 - code
    return code


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"

"""The handler of the tests: does the steps that its arguments name."""

# ruff: noqa: ANN001, ANN201, D103 (every step has the same arguments)

import ctypes
import os
import signal
import subprocess
import sys
import time


def steps(worker, job, cancelled):
    result = None
    for step, *values in job["args"]["steps"]:
        result = globals()["step_" + step](worker, job, cancelled, *values)
    return result


def step_return(worker, job, cancelled, value):
    return value


def step_pid(worker, job, cancelled):
    return os.getpid()


def step_about(worker, job, cancelled):
    names = ("queue", "id", "id_hex", "attempt", "max_attempts", "meta")
    return {name: job[name] for name in names if name in job}


def step_raise(worker, job, cancelled, kind, text):
    raise type(kind, (ValueError,), {})(text)


def step_say(worker, job, cancelled, message):
    worker.send(**{"task": job["task"], **message})


def step_raw(worker, job, cancelled, text):
    worker.socket.sendall(bytes.fromhex(text))


def step_error(worker, job, cancelled, text, times=1):
    for _ in range(times):
        os.write(2, text.encode())


def step_write(worker, job, cancelled, path):
    """Tells the test how far it is."""
    with open(path + ".new", "w") as file:
        file.write(f"{os.getpid()}\n")
    os.rename(path + ".new", path)


def step_hang(worker, job, cancelled):
    time.sleep(600)


def step_until_cancelled(worker, job, cancelled):
    cancelled.event.wait()
    return "cancelled"


def step_block(worker, job, cancelled):
    """In C, with the lock of the interpreter."""
    ctypes.PyDLL(None).sleep(600)


def step_exit(worker, job, cancelled, status):
    os._exit(status)


def step_signal(worker, job, cancelled, number):
    os.kill(os.getpid(), number)
    time.sleep(600)


def step_close(worker, job, cancelled):
    """Every descriptor, the connection included."""
    os.closerange(3, 64)
    time.sleep(600)


def step_grandchild(worker, job, cancelled, path, then=""):
    """Start a process that outlives the job, if nobody ends it, and ignores what it can."""
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({path!r} + '.new', 'w').write(str(os.getpid()))\n"
        f"os.rename({path!r} + '.new', {path!r})\n"
        "time.sleep(600)"
    )
    subprocess.Popen([sys.executable, "-c", code], close_fds=then != "inherit")
    while not os.path.exists(path):
        time.sleep(0.005)


def step_allocate(worker, job, cancelled, mebibytes):
    data = bytearray(mebibytes << 20)
    for i in range(0, len(data), 4096):
        data[i] = 1
    time.sleep(600)


def step_leak(worker, job, cancelled, mebibytes):
    leaked.append(b"x" * (mebibytes << 20))
    return os.getpid()


leaked = []


def step_ignore_term(worker, job, cancelled):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])


def step_flood(worker, job, cancelled):
    """Speak without end."""
    while not cancelled.event.is_set():
        worker.send(type="progress", task=job["task"], progress="x")


def step_hang_in_exit(worker, job, cancelled):
    """Hang after the answer, when a forked process would exit."""
    os._exit = lambda status: time.sleep(600)

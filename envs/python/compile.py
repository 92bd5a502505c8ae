"""Compile the sources of unpacked wheels to bytecode.

Runs as PYTHON -I -S -B compile.py JOB in the apply sandbox; JOB is a file that holds
{"tag": "cpython-311", "wheels": [{"tree": DIRECTORY, "out": DIRECTORY, "data": NAME or null}]}.

For each module below a tree its __pycache__/NAME.TAG.pyc is written below "out", bound to time and size of
the source. A source that does not compile (another language version, a template) is left without, as pip
leaves it. Nothing of a package is executed. One process for each core; when a source takes its process down
with it, the rest is done by another. Prints one line of JSON.
"""

import gc
import importlib.util
import json
import marshal
import mmap
import os
import sys
import warnings

FEW = 24  # starting a second process takes as long as compiling some files
DIED = 200  # as many sources may take their process down


def sources(wheel):
    """(size, path below the tree) of what modules are imported from."""
    tree = wheel["tree"]
    data = wheel["data"]
    for directory, names, files in os.walk(tree):
        inside = os.path.relpath(directory, tree)
        if data and inside == data:
            names[:] = [name for name in names if name in ("purelib", "platlib")]
        for name in files:
            if name.endswith(".py") and name != ".py":
                path = os.path.normpath(os.path.join(inside, name))
                yield os.path.getsize(os.path.join(directory, name)), path


def compile_one(wheel, path, tag):
    """The file name in the bytecode is relative: an importer puts the real one in its place."""
    source = os.path.join(wheel["tree"], path)
    with open(source, "rb") as stream:
        text = stream.read()
        status = os.fstat(stream.fileno())
    try:
        code = compile(text, path, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False
    directory = os.path.join(wheel["out"], os.path.dirname(path), "__pycache__")
    os.makedirs(directory, exist_ok=True)
    out = os.path.join(directory, "%s.%s.pyc" % (os.path.basename(path)[:-3], tag))
    head = importlib.util.MAGIC_NUMBER + b"\0\0\0\0"
    for number in (int(status.st_mtime), status.st_size):
        head += (number & 0xFFFFFFFF).to_bytes(4, "little")
    fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444)
    with os.fdopen(fd, "wb") as stream:
        stream.write(head + marshal.dumps(code))
    return True


def work(todo, tag, at, number):
    """Compile todo from the position that the shared memory holds. Says there where it is."""
    slot = slice(number * 8, number * 8 + 8)
    for i in range(int.from_bytes(at[slot], "little"), len(todo)):
        at[slot] = (i + 1).to_bytes(8, "little")
        compile_one(todo[i][0], todo[i][1], tag)


def start(todo, tag, at, number):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work(todo, tag, at, number)
        status = 0
    except BaseException as error:  # said here, as nobody else will
        sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
        sys.stderr.flush()
    finally:
        os._exit(status)


def run(todo, tag, processes):
    """Number of sources that took their process with them."""
    parts = [todo[i::processes] for i in range(processes)]
    at = mmap.mmap(-1, 8 * processes)
    running = {start(parts[i], tag, at, i): i for i in range(processes)}
    died = 0
    while running:
        pid, status = os.wait()
        if pid not in running:
            continue
        number = running.pop(pid)
        if status == 0:
            continue
        if not os.WIFSIGNALED(status):
            sys.exit("a compiling process failed")
        died += 1
        if died > DIED:
            sys.exit("too many sources make the compiler crash")
        running[start(parts[number], tag, at, number)] = number
    return died


def main(job):
    warnings.simplefilter("ignore")
    gc.disable()
    with open(job, "rb") as stream:
        job = json.load(stream)
    todo = []
    for number, wheel in enumerate(job["wheels"]):
        for size, path in sources(wheel):
            todo.append((-size, number, path))
    # The largest first, dealt out in turn: every process gets about the same.
    todo = [(job["wheels"][number], path) for size, number, path in sorted(todo)]
    processes = len(os.sched_getaffinity(0)) if len(todo) >= FEW else 1
    died = run(todo, job["tag"], processes)
    print(json.dumps({"sources": len(todo), "died": died}))


main(sys.argv[1])

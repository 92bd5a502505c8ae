"""Types a command into the terminal that it runs at."""
import fcntl, pty, termios
main, other = pty.openpty()
pid = os.fork()
if pid == 0:
    try:
        os.setsid()
        fcntl.ioctl(other, termios.TIOCSCTTY, 0)
        fcntl.ioctl(other, termios.TIOCSTI, b"x")
    except OSError as error:
        os._exit(error.errno)
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if code:
    raise OSError(code, os.strerror(code))

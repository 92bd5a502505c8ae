"""Leaves a daemon behind that goes on after the job."""
# where: outlive
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        for i in range(100):
            with open(C["work"] + "/alive", "w") as f:
                f.write(str(i))
            time.sleep(0.05)
    os._exit(0)
time.sleep(0.3)

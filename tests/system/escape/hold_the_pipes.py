"""Keeps the job from ending by holding its pipes open."""
# where: pipes
if os.fork() == 0:
    os.setsid()
    time.sleep(C["hold_s"])
    os._exit(0)

"""Starts processes until nobody else can."""
# where: limits
# limit: processes=40
children = []
for _ in range(C["many"]):
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    children.append(pid)
time.sleep(2 if C["inside"] else 0)
for pid in children:
    os.kill(pid, 9)

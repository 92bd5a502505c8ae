"""Takes all memory, in many processes."""
# where: limits
# limit: memory=134217728
children = []
for _ in range(8):
    pid = os.fork()
    if pid == 0:
        kept = [b"x" * (1 << 20) for _ in range(C["megabytes"] // 8)]
        time.sleep(3)
        os._exit(0)
    children.append(pid)
for pid in children:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        hold("a child ended with %d" % code)

"""Leaves its cgroup."""
for place in ("/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs"):
    if os.path.exists(place):
        os.close(os.open(place, os.O_WRONLY))
        break
else:
    hold("there is no cgroup file system")

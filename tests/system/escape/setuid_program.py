"""Runs a setuid program of the system."""
path = next((p for p in ("/usr/bin/su", "/usr/bin/newgrp", "/usr/bin/passwd", "/usr/bin/chsh") if os.path.exists(p)), None)
expect(path, "there is none")
expect(os.stat(path).st_uid == 0 and not os.statvfs(path).f_flag & os.ST_NOSUID, "the mount ignores the bit")

"""Has its memory written where others read it."""
import resource
resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))

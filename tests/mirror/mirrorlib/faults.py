"""Faults on order: which requests to spoil, and how."""
import dataclasses
import fnmatch
import threading

# kind -> (name of its value or None, what it does)
KINDS = {
    "status": ("CODE", "answer with this status"),
    "truncate": (None, "close half way through the body"),
    "corrupt": (None, "flip bytes in the middle of the body, length unchanged"),
    "stall": (None, "send half, then hang until the client leaves"),
    "drop": (None, "close without an answer"),
    "hang": (None, "accept, read the request, never answer"),
    "nolength": (None, "chunked, no Content-Length"),
    "redirect": ("URL", "302 to this URL; {path} in it becomes the request's path"),
    "auth": ("USER:PASSWORD", "401 unless the client sends these"),
    "grow": ("BYTES", "append so many zero bytes to the body"),
    "delay": ("MS", "wait before the answer, besides --latency-ms"),
    "slow": ("KBPS", "kilobits a second, in place of --rate-kbps"),
}
NUMBERS = ("status", "grow", "delay", "slow")


@dataclasses.dataclass
class Rule:
    """PATTERN[=VALUE][@N]: a glob on the decoded path; @N: the first N matching requests only."""

    kind: str
    pattern: str
    value: str = None
    left: int = None  # None: without end


def parse_rule(kind, text):
    """The Rule of one option; ValueError if it can't be one."""
    left = None
    head, at, count = text.rpartition("@")
    if at and count.isdigit():
        text, left = head, int(count)
    if not KINDS[kind][0]:
        return Rule(kind, text, None, left)
    pattern, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--{kind} needs PATTERN={KINDS[kind][0]}")
    if kind in NUMBERS and not value.isdigit():
        raise ValueError(f"--{kind} needs a number after the =, not '{value}'")
    return Rule(kind, pattern, value, left)


class Faults:
    """All rules of a server. Threads may ask at once; a counted rule counts each request once."""

    def __init__(self, rules):
        self.rules = rules
        self.lock = threading.Lock()

    def hits(self, path):
        """{kind: value} of the rules that act on this request."""
        found = {}
        for rule in self.rules:
            if fnmatch.fnmatchcase(path, rule.pattern) and self._take(rule):
                found[rule.kind] = rule.value
        return found

    def _take(self, rule):
        with self.lock:
            if rule.left == 0:
                return False
            if rule.left:
                rule.left -= 1
            return True

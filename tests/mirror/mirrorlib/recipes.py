"""packages.list: what to take out of the archive, and how."""
import dataclasses
import re

from .common import norm


@dataclasses.dataclass
class Recipe:
    """One line of packages.list."""

    kind: str
    name: str
    tier: str
    where: tuple = ()  # ("own",), ("other",) or empty: both
    merge: list = dataclasses.field(default_factory=list)
    lib: list = dataclasses.field(default_factory=list)
    map: list = dataclasses.field(default_factory=list)  # (from, to)
    sub: list = dataclasses.field(default_factory=list)  # (file, old, new)
    req: list = dataclasses.field(default_factory=list)

    @property
    def names(self):
        """All distribution packages this line takes something from."""
        return [self.name, *self.merge, *self.lib]

    def requirements(self, version, have):
        """The requirements to put back for a version whose metadata has those on `have`."""
        have, result = set(have), []
        for text in self.req:
            prefix, requirement = re.fullmatch(r"(?:\[([\w.]+)\])?(.*)", text).groups()
            if prefix and version != prefix and not version.startswith(prefix + "."):
                continue
            if project_of(requirement) not in have:
                have.add(project_of(requirement))
                result.append(requirement)
        return result


def project_of(requirement):
    """The normalised project name a requirement begins with."""
    return norm(re.match(r"[\w.-]+", requirement)[0])


def _parse(words):
    recipe = Recipe(*words[:3])
    for word in words[3:]:
        if word.startswith("+"):
            recipe.merge.append(word[1:])
            continue
        key, value = word.split("=", 1)
        if key == "suites":
            recipe.where = (value,)
        elif key == "lib":
            recipe.lib = value.split(",")
        elif key == "req":
            recipe.req.append(value)
        elif key == "map":
            recipe.map.append(tuple(value.split(">", 1)))
        elif key == "sub":
            file, change = value.split(":", 1)
            old, new = (x.replace("%20", " ") for x in change.split("=>", 1))
            recipe.sub.append((file, old, new))
        else:
            raise ValueError(f"packages.list: unknown option {word}")
    return recipe


def read_recipes(path, small):
    """The recipes of a packages.list; small: those of tier small only."""
    with open(path, encoding="utf-8") as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    return [_parse(w) for w in rows if not small or w[2] == "small"]

"""What is written down against what is there: man pages, the API's description, README, catalogues, completions."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, PYTHON, ROOT, UnixConnection

jsonschema = pytest.importorskip("jsonschema")

TOP = pathlib.Path(__file__).resolve().parents[2]
MAN = TOP / "docs" / "man"
API = json.loads((TOP / "docs" / "api" / "openapi.json").read_text())
LANGUAGES = ("de", "zh_CN")


def source(path):
    return (TOP / path).read_text()


def tool(name):
    """A program that documentation is checked with; CI has all of them."""
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


# --- commands and options ---


def commands(pkg):
    """Every command's name, as `pkg help` lists them."""
    return re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", pkg.run("help").stdout, re.M)


def options(pkg, command):
    """[(letter or None, name)] of the options that a command takes."""
    text = pkg.run("help", *command.split()).stdout
    return [(letter or None, name) for letter, name in re.findall(r"^  (?:-(.), |    )--([a-z-]+)", text, re.M)]


def man_items(page, section):
    """{what stands first: the item's lines} of the list items of one section of a page."""
    text = (MAN / page).read_text()
    body = re.search(rf"^\.Sh {section}\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S).group(1)
    items = {}
    for item in re.split(r"^\.It ", body, flags=re.M)[1:]:
        head, _, rest = re.split(r"^\.El", item, flags=re.M)[0].partition("\n")
        items[head] = rest
    return items


def man_commands():
    """{command: the options that its item names}."""
    out = {}
    for head, rest in man_items("pkg.1", "COMMANDS").items():
        name = re.match(r"Ic ((?:[a-z]+ ?)+?)(?: (?:Ar|Op)|$)", head).group(1).strip()
        named = re.findall(r"^\.Fl (.*)$", rest.partition("Options:\n")[2], re.M)
        out[name] = {one for line in named for one in re.findall(r"-?[a-z][a-z-]*", line)}
    return out


def test_the_man_page_has_every_command_and_no_other(house):
    assert set(man_commands()) == set(commands(house))


def test_the_man_page_gives_each_command_the_options_that_it_takes(house):
    written = man_commands()
    for command in commands(house):
        taken = {letter or "-" + name for letter, name in options(house, command)} - {"h"}
        assert written[command] == taken, command


def test_the_man_page_explains_every_option_once(house):
    heads = [re.match(r"Fl (?:([a-zA-Z]) , )?-([a-z-]+)", head) for head in man_items("pkg.1", "OPTIONS")]
    written = [(match.group(1), match.group(2)) for match in heads]
    taken = {one for command in commands(house) for one in options(house, command)}
    assert len(written) == len(set(written))
    assert set(written) == taken


def test_a_family_alone_is_its_first_command(house):
    assert house.run("cards", "-q").stdout == house.run("cards", "list", "-q").stdout


# --- error kinds, exit status ---


def error_kinds():
    rows = re.findall(r'X\(\w+, "([a-z-]+)", (\d+), (\d+)\)', source("src/core/error.h"))
    return {name: (int(http_status), int(code)) for name, http_status, code in rows}


def test_the_man_page_has_every_error_kind_with_its_statuses():
    written = {}
    for head, rest in man_items("pkg.1", "DIAGNOSTICS").items():
        name, code, status = re.fullmatch(r"Cm ([a-z-]+) Pq exit (\d+) , HTTP (\d+)", head).groups()
        assert rest.strip(), name
        written[name] = (int(status), int(code))
    assert written == error_kinds()
    assert len(written) > 40


def test_the_man_page_has_every_exit_status():
    written = {int(head) for head in man_items("pkg.1", "EXIT STATUS")}
    assert written == {0} | {code for _, code in error_kinds().values()}


def test_the_api_names_every_error_kind():
    assert set(API["components"]["schemas"]["Error"]["properties"]["kind"]["enum"]) == set(error_kinds())


# --- configuration ---


def schema_keys(schema, prefix=""):
    """{dotted key: its schema}."""
    out = {}
    for name, value in schema["properties"].items():
        if value.get("type") == "object":
            out.update(schema_keys(value, f"{prefix}{name}."))
        else:
            out[prefix + name] = value
    return out


def man_keys():
    """{key: (default, variable)} as pkg.json(5) has them."""
    out = {}
    for head, rest in man_items(r"pkg.json.5", "KEYS").items():
        text = rest.replace("\n.Cm ", " ").replace("\n.Ev ", " ").replace("\n", " ")
        default = re.search(r"Default: (.*?) ?\. Variable:", text).group(1)
        out[head.removeprefix("Cm ")] = (default, re.search(r"Variable: (\S+)", text).group(1))
    return out


def test_every_key_of_the_configuration_is_written_down(house):
    known = set(house.json("config", "show"))
    assert set(man_keys()) == known
    assert set(schema_keys(json.loads(source("share/pkgd.schema.json")))) == known | {"locked"}


def test_the_defaults_that_are_written_down_are_in_force(make_pkg):
    pkg = make_pkg()
    pkg.configure({})
    pkg.start()
    schema = schema_keys(json.loads(source("share/pkgd.schema.json")))
    for key, row in pkg.json("config", "show").items():
        value = row["value"]
        shown = {None: "not set", (): "empty"}.get(tuple(value) if isinstance(value, list) else value)
        written = man_keys()[key][0]
        assert row["origin"] == "default"
        if key.startswith("sandbox.limits."):
            assert value is None and re.fullmatch(r"\d+|unlimited", written), key
            continue
        assert written == (shown or (" ".join(value) if isinstance(value, list) else str(value))), key
        assert schema[key].get("default") == value, key


def test_the_limits_that_are_written_down_are_those_of_the_table():
    rows = re.findall(r'\.name = "(\w+)",(.*?)\} \}', source("src/sandbox/purpose.c"), re.S)
    fields = {"wall_seconds": "wall_ms", "cpu_seconds": "cpu_s", "memory_bytes": "memory", "processes": "processes",
              "file_bytes": "file_size", "open_files": "open_files", "disk_bytes": "disk", "output_bytes": "output"}
    units = {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "SECOND": 1000, "MINUTE": 60000}
    assert len(rows) == 6
    for purpose, body in rows:
        limits = dict(re.findall(r"\.(\w+) = ([^,{}]+)", body.partition(".limits")[2]))
        for key, field in fields.items():
            text = limits[field].strip()
            number = "unlimited" if text == "SANDBOX_UNLIMITED" else eval(text, {}, units)
            if field == "wall_ms" and number != "unlimited":
                number //= 1000
            assert man_keys()[f"sandbox.limits.{purpose}.{key}"][0] == str(number), (purpose, key)


def test_every_key_can_be_set_by_the_variable_that_is_written_down(make_pkg):
    pkg = make_pkg()
    pkg.configure({})
    values = {"python.minimum": "3.9", "network.mode": "deny", "sandbox.mode": "auto", "daemon.log_level": "debug",
              "network.hosts": "example.org 192.0.2.7:8080", "network.include": "science"}
    pkg.start(**{man_keys()[key][1]: value for key, value in values.items()})
    shown = pkg.json("config", "show")
    for key, value in values.items():
        got = shown[key]["value"]
        assert (" ".join(got) if isinstance(got, list) else got, shown[key]["origin"]) == (value, "environment")
    for key, (_, variable) in man_keys().items():
        assert variable == "PKGD_" + key.upper().replace(".", "_")


def example(page):
    """The literal blocks of a page."""
    return re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", (MAN / page).read_text().replace("\\e\n", "\\\n"), re.M | re.S)


def test_the_example_of_the_configuration_is_sound(house, tmp_path):
    file = tmp_path / "pkgd.json"
    file.write_text(next(block for block in example("pkg.json.5") if block.startswith("{")))
    assert house.json("config", "validate", file)["ok"] is True
    text = re.sub(r"^\s*//.*$", "", file.read_text(), flags=re.M)
    jsonschema.validate(json.loads(text), json.loads(source("share/pkgd.schema.json")))


# --- man pages as such ---


@pytest.mark.parametrize("page", sorted(p.name for p in MAN.iterdir()))
def test_a_man_page_is_clean(page):
    done = subprocess.run([tool("mandoc"), "-T", "lint", "-W", "style", MAN / page], capture_output=True, text=True)
    # Whether the others are installed here does not matter.
    bad = [line for line in (done.stdout + done.stderr).splitlines()
           if not re.search(r"referenced manual not found|outdated mandoc\.db", line)]
    assert not bad, "\n".join(bad)


def test_the_daemon_takes_the_options_that_its_man_page_has(house):
    usage = subprocess.run([ROOT / "bin" / "pkgd", "--help"], env=house.env, capture_output=True, text=True)
    assert usage.returncode == 0
    text = (MAN / "pkgd.8").read_text()
    for option in set(re.findall(r'\{ "([a-z-]+)", (?:no|required)_argument', source("src/bin/pkgd.c"))):
        assert re.search(rf"^\.It Fl (?:\w , )?-{option}\b", text, re.M), option
        assert option == "help" or f"--{option}" in usage.stdout, option


def test_every_variable_that_the_programs_read_is_written_down():
    text = (MAN / "pkg.1").read_text() + (MAN / "pkgd.8").read_text() + (MAN / "pkg.json.5").read_text()
    quiet = {"PKGD_FAULT", "PKGD_FAULT_ACTION"}  # in builds for tests only
    for path in TOP.glob("src/**/*.c"):
        for name in re.findall(r'(?:getenv|variable)\("(PKGD_\w+)"\)', path.read_text()):
            assert name in quiet or re.search(rf"^\.It Ev .*\b{name}\b", text, re.M), (path.name, name)


def test_the_examples_of_pkg_run(make_pkg, mirror, tmp_path):
    """Every line of EXAMPLES in pkg(1); none of them may fail, but for the one that says that it waits."""
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    pkg.install("requests<2.32")
    text = re.search(r"^\.Sh EXAMPLES\n(.*?)^\.Sh ", (MAN / "pkg.1").read_text(), re.M | re.S).group(1)
    blocks = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text.replace("\\e\n", "\\\n"), re.M | re.S)
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    assert len(lines) > 8
    for line in lines:
        assert line.startswith("$ pkg ")
        run_line(pkg, line[2:], tmp_path)


# --- lines of a shell, as a reader would type them ---


def pending_cards(pkg):
    return [card["id"] for card in pkg.api("GET", "/v1/cards?state=pending")["cards"]]


def run_line(pkg, line, cwd):
    """Run one line; a card that it opens is approved. The number of a card is whichever is pending."""
    if "cards approve" in line or "cards deny" in line:
        card = pkg.wait_until(lambda: pending_cards(pkg), f"a card for {line}")[0]
        line = re.sub(r"(cards (?:approve|deny)) \d+", rf"\1 {card}", line)
    process = subprocess.Popen(["bash", "-c", line], env=pkg.env, cwd=cwd, text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    waits = "--no-wait" in line
    while True:
        try:
            out, _ = process.communicate(timeout=0.2)
            break
        except subprocess.TimeoutExpired:
            for card in pending_cards(pkg):
                pkg.api("POST", f"/v1/cards/{card}", {"answer": "approve"}, control=True)
    assert process.returncode == (75 if waits and pending_cards(pkg) else 0), f"{line}\n{out}\n{pkg.log()[-3000:]}"
    return out


def readme_block(heading):
    section = source("README.md").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    block = re.search(r"```console\n(.*?)```", section, re.S).group(1)
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def test_the_commands_that_readme_names_are_there(house):
    known = set(commands(house))
    families = {name.split()[0] for name in known}
    named = re.findall(r"\bpkg ((?:[a-z]+)(?: [a-z]+)?)", "\n".join(re.findall(r"```.*?```|`[^`\n]+`", source("README.md"),
                                                                            re.S)))
    assert len(named) > 9
    for name in named:
        assert name in known or name.split()[0] in families, name


def test_dev_has_the_commands_that_readme_names():
    for name in set(re.findall(r"\./dev ([a-z]+)", source("README.md"))):
        assert re.search(rf"^{name}\) ", source("dev"), re.M), name


def test_the_files_that_the_pages_link_to_are_there():
    pages = [TOP / "README.md", *(TOP / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_files_that_architecture_names_are_there():
    text = source("docs/architecture.md")
    named = set(re.findall(r"\b((?:cli|daemon|install|lang|sandbox|egress|fetch|policy|store|core)/\w+\.[ch])\b", text))
    assert len(named) > 15
    for name in named:
        assert (TOP / "src" / name).exists(), name
    programs = set(re.findall(r"^\| `(pkg[a-z-]*)` \|", text, re.M))
    assert programs == {p.name for p in (ROOT / "libexec" / "pkgd").iterdir()} | {p.name for p in (ROOT / "bin").iterdir()}
    modules = set(re.findall(r"PKG_CHECK_MODULES\(\[\w+\], \[([\w-]+)", source("configure.ac"))) - {"cmocka"}
    table = text.partition("\n## Libraries\n")[2].lower()
    for module in modules:
        assert re.search(rf"^\| {re.escape(module)}\b", table, re.M), module


def test_readme_use_it_runs(make_pkg, mirror, tmp_path):
    """Every line of "Use it", in its order. The install waits for its card in the background, as for a reader with two
    terminals."""
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    lines = readme_block("Use it")
    assert len(lines) > 8
    waiting = []
    for line in lines:
        if line.startswith("pkg install"):
            waiting.append(subprocess.Popen(["bash", "-c", line], env=pkg.env, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            pkg.wait_until(lambda: pending_cards(pkg), "the card of the install")
            continue
        run_line(pkg, line, tmp_path)
        if "cards approve" in line:
            out, _ = waiting[-1].communicate(timeout=60)
            assert waiting[-1].returncode == 0, out
    assert all(process.poll() == 0 for process in waiting) and waiting
    assert "requests" in pkg.packages()


# --- the API ---


def code_routes():
    rows = re.findall(r'\{ "([A-Z]+)", "(/v1/[^"]*)", (ASK|CONTROL), (\w+) \}', source("src/daemon/routes.c"))
    return {(method, path): right.lower() for method, path, right, _ in rows}


def test_the_description_has_every_route_and_no_other():
    written = {}
    for path, methods in API["paths"].items():
        for method, operation in methods.items():
            written[method.upper(), re.sub(r"\{\w+\}", "*", path)] = operation["x-pkgd-right"]
            inside = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            assert inside == set(re.findall(r"\{(\w+)\}", path)), path
    assert written == code_routes()
    assert len(written) >= 25


def test_the_description_has_every_key_of_a_request():
    table = source("src/daemon/submit.c").partition("} fields[] = {")[2].partition("};")[0]
    keys = dict(re.findall(r'\{ "(\w+)", json_type_(\w+) \}', table))
    written = API["components"]["schemas"]["JobRequest"]["properties"]
    assert set(written) == set(keys)
    same = {"int": "integer"}
    for key, value in keys.items():
        wanted = same.get(value, value)
        assert written[key]["type"] in (wanted, [wanted, "null"]), key


def test_the_description_has_every_parameter_that_the_handlers_read():
    text = "".join(p.read_text() for p in (TOP / "src" / "daemon").glob("routes_*.c"))
    read = set(re.findall(r'http_query(?:_int)?\(\s*request, "(\w+)"', text))
    read |= set(re.findall(r'http_header\(\s*request, "([\w-]+)"', text + source("src/daemon/submit.c")))
    written = {p["name"] for path in API["paths"].values() for o in path.values() for p in o.get("parameters", [])
               if p["in"] in ("query", "header")}
    assert written == read


def test_the_description_is_sound():
    for name, schema in API["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(API)
    for name in set(re.findall(r'"#/components/schemas/(\w+)"', text)):
        assert name in API["components"]["schemas"], name
    for name in API["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, f"{name} is used nowhere"


class Described:
    """A daemon every answer of which is held against the description."""

    def __init__(self, pkg):
        self.pkg = pkg
        self.seen = set()

    def validate(self, schema, value):
        jsonschema.Draft202012Validator({**schema, "components": API["components"]}).validate(value)

    def call(self, method, path, body=None, control=False, status=200, **parts):
        """path as the description has it; parts fill it. The result."""
        operation = API["paths"][path.partition("?")[0]][method.lower()]
        if body and status < 400:
            self.validate(operation["requestBody"]["content"]["application/json"]["schema"], body)
        got, envelope = self.pkg.request(method, path.format(**parts), body, control)
        assert got == status == envelope["status"], envelope
        responses = operation["responses"]
        response = responses.get(str(status), responses["default"])
        self.validate(response["content"]["application/json"]["schema"], envelope)
        if status < 400:
            self.seen.add((method, path.partition("?")[0]))
        return envelope["result"]

    def text(self, path, kind, **parts):
        connection = UnixConnection(self.pkg.socket())
        try:
            connection.request("GET", path.format(**parts))
            answer = connection.getresponse()
            assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (200, kind)
            assert kind in API["paths"][path]["get"]["responses"]["200"]["content"]
            self.seen.add(("GET", path))
            return answer.read().decode()
        finally:
            connection.close()


ENV = "/v1/environments/{project}/{language}/{name}"


@pytest.fixture(scope="module")
def described(module_pkg):
    """A home in which everything has happened once, and each route was asked."""
    return Described(module_pkg)


def change(api, action, *requirements, answer="approve", status="done", **fields):
    """A job that goes all the way; its number."""
    body = {"action": action, "label": "test", "reason": "to see", **fields}
    body.update({"requirements": list(requirements)} if requirements else {})
    job = api.call("POST", "/v1/jobs", body, status=202)["job"]
    row = api.pkg.wait_state(job, "pending", "done", "failed")
    if row["state"] == "pending":
        card = api.call("GET", "/v1/cards/{id}", id=row["card"])
        assert card["state"] == "pending" and card["text"]
        api.call("POST", "/v1/cards/{id}", {"answer": answer, "plan_hash": card["plan_hash"], "message": "so be it"},
                 control=True, id=row["card"])
        api.pkg.wait_state(job)
    row = api.call("GET", "/v1/jobs/{id}", id=job)
    assert row["state"] == status, row["result"]
    return job


def test_jobs_and_cards_answer_as_described(described):
    api, where = described, {"environment": "described"}
    jobs = [
        change(api, "create", **where),
        change(api, "install", "syn-upgrade==1.0", **where),
        change(api, "install", "syn-sdist-only", source=True, **where),
        change(api, "upgrade", "syn-upgrade", **where),
        change(api, "rollback", **where),
        change(api, "remove", "syn-upgrade", **where),
        change(api, "install", "syn-app", answer="deny", status="denied", **where),
        change(api, "install", "syn-nothing-of-that-name", status="failed", **where),
        change(api, "install", "syn-app", dry_run=True, **where),
        change(api, "repair", **where),
    ]
    cancelled = api.call("POST", "/v1/jobs", {"action": "install", "requirements": ["syn-app"], **where}, status=202)["job"]
    api.pkg.wait_state(cancelled, "pending")
    assert api.call("DELETE", "/v1/jobs/{id}", id=cancelled)["delivered"] is True
    assert api.call("DELETE", "/v1/jobs/{id}", id=cancelled)["delivered"] is False
    assert len(api.call("GET", "/v1/jobs")["jobs"]) >= len(jobs)
    assert api.call("GET", "/v1/jobs?open=1")["jobs"] == []
    states = {card["state"] for card in api.call("GET", "/v1/cards")["cards"]}
    assert {"approved", "denied", "superseded"} <= states
    for job in [*jobs, cancelled]:
        check_stream(api, job)
    assert "resolving" in api.text("/v1/jobs/{id}/log", "text/plain", id=jobs[1])


def check_stream(api, job):
    text = api.text("/v1/jobs/{id}/events", "text/event-stream", id=job)
    schema = API["paths"]["/v1/jobs/{id}/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]
    rows = [json.loads(row) for row in re.findall(r"^data: (.*)$", text, re.M)]
    for row in rows:
        # By its own kind, so that a mistake is told as one and not as "none of eight".
        kinds = [one for one in API["components"]["schemas"]["Event"]["oneOf"]
                 if one.get("properties", {}).get("type", {}).get("const") == row["type"]]
        api.validate(kinds[0] if kinds else {"$ref": "#/components/schemas/Result"}, row)
    api.validate(schema["x-pkgd-event"], rows[-1])
    assert rows[-1]["type"] == "result"


def test_environments_and_kernels_answer_as_described(described):
    api, where = described, {"project": "default", "language": "python", "name": "described"}
    assert any(env["name"] == "described" for env in api.call("GET", "/v1/environments")["environments"])
    kernel = api.call("POST", "/v1/kernels", {"environment": "described", "pid": os.getpid(), "label": "test"})
    assert [k["id"] for k in api.call("GET", "/v1/kernels")["kernels"]] == [kernel["id"]]
    assert len(api.call("GET", ENV, **where)["kernels"]) == 1
    api.call("DELETE", "/v1/kernels/{id}", id=kernel["id"])
    assert api.call("GET", ENV + "/packages", **where)["packages"]
    assert api.call("GET", ENV + "/history", **where)["history"]


def test_the_system_answers_as_described(described):
    api = described
    api.call("GET", "/v1/system")
    api.call("GET", "/v1/config")
    api.call("GET", "/v1/sandbox")
    api.call("POST", "/v1/sandbox/test", {}, control=True)
    assert api.call("GET", "/v1/sandbox")["enforced"] is True
    api.call("GET", "/v1/interpreters?language=python")
    api.call("POST", "/v1/reconcile", {}, control=True)
    assert api.call("GET", "/v1/audit?after=0", control=True)["rows"]
    api.call("GET", "/v1/cache")
    api.call("POST", "/v1/cache/prune", {}, control=True)


def test_errors_answer_as_described(described):
    api, nowhere = described, {"project": "default", "language": "python", "name": "nowhere"}
    assert api.call("POST", "/v1/jobs", {"acton": "install"}, status=400)["cure"] == "did you mean 'action'?"
    api.call("GET", "/v1/jobs/{id}", status=404, id=999999)
    api.call("GET", "/v1/cards/{id}", status=404, id=999999)
    api.call("GET", ENV, status=404, **nowhere)
    api.call("DELETE", "/v1/kernels/{id}", status=404, id=999999)
    answered = api.pkg.api("GET", "/v1/cards?state=approved")["cards"][0]["id"]
    api.call("POST", "/v1/cards/{id}", {"answer": "deny"}, control=True, status=409, id=answered)
    for (method, path), right in code_routes().items():
        if right == "control":
            status, envelope = api.pkg.request(method, path.replace("*", "1"), {} if method == "POST" else None)
            assert (status, envelope["result"]["kind"]) == (403, "forbidden"), path


def test_every_route_was_asked(described, request):
    """Runs after the others of this module: what they did not reach is held against nothing."""
    chosen = {item.name for item in request.session.items}
    others = {name for name in globals() if name.startswith("test_") and name.endswith("_as_described")}
    if not others <= chosen:
        pytest.skip("only some of the tests that ask them were chosen")
    asked = {(method, path) for path, methods in API["paths"].items() for method in map(str.upper, methods)}
    assert described.seen == asked


def test_the_client_of_the_examples_works(make_pkg, mirror):
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()

    def client(*requirements, code):
        done = subprocess.run([PYTHON, TOP / "docs" / "examples" / "client.py", *requirements], env=pkg.env, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    assert "pkg cards approve 1" in client("syn-color", code=75)
    pkg.api("POST", "/v1/cards/1", {"answer": "approve"}, control=True)
    pkg.wait_state(1, "done")
    assert "there already" in client("syn-color", code=0)
    assert "failed there is no package" in client("syn-nothing-of-that-name", code=1)
    assert "invalid-requirement" in client("syn color ==", code=1)


def test_the_lines_for_curl_work(house):
    tool("curl")
    house.install("syn-color", e="for-curl")
    block = re.search(r"## With curl\n\n```sh\n(.*?)```", source("docs/api.md"), re.S).group(1)
    block = block.replace('"six"', '"syn-color"')
    done = subprocess.run(["bash", "-euc", block], env=house.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert '"api":"v1"' in done.stdout and '"status":202' in done.stdout and '"type":"result"' in done.stdout
    assert '"rows":[{' in done.stdout


# --- languages ---


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Every message of the CLI, as `make update-po` finds them."""
    out = tmp_path_factory.mktemp("po") / "pkgd.pot"
    files = sorted(str(p.relative_to(TOP)) for p in (TOP / "src" / "cli").glob("*.[ch]"))
    subprocess.run([tool("xgettext"), "--from-code=UTF-8", "--language=C", "--keyword=_", "--keyword=N_", "-o", out,
                    *files], cwd=TOP, check=True)
    return out


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_has_every_message(template, language):
    catalogue = TOP / "po" / f"{language}.po"
    done = subprocess.run([tool("msgcmp"), catalogue, template], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + "make update-po, and translate"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_is_sound_and_whole(language):
    done = subprocess.run([tool("msgfmt"), "--check", "--statistics", "-o", os.devnull, TOP / "po" / f"{language}.po"],
                          capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+ translated messages\.\n", done.stderr), done.stderr


@pytest.mark.parametrize("language, word", [("de", "Aufruf: pkg BEFEHL"), ("zh_CN", "用法：pkg 命令")])
def test_help_is_in_the_language_that_is_asked_for(house, language, word):
    env = {"LANGUAGE": language, "LC_ALL": "C.UTF-8"}
    english, other = house.run("help").stdout, house.run("help", env=env).stdout
    assert other.startswith(word)
    pattern = r"^  ([a-z ]+[a-z])  +(.*)$"
    summaries = dict(re.findall(pattern, english, re.M))
    translated = dict(re.findall(pattern, other, re.M))
    assert set(summaries) == set(translated)
    assert not {name for name in summaries if summaries[name] == translated[name]}
    # JSON is for programs: one language, whoever asks.
    assert house.run("show", "no-such-thing", "--json", env=env, code=4).stdout == \
        house.run("show", "no-such-thing", "--json", code=4).stdout


# --- completions ---


def complete_bash(pkg, *words):
    """What bash offers for the last of these words."""
    script = f"""
        . {TOP}/share/completions/pkg.bash
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _pkg; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script, "bash", *words], env=pkg.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return {line for line in done.stdout.split("\n") if line}


def test_bash_completes_what_the_tables_have(house):
    names = commands(house)
    assert complete_bash(house, "pkg", "") == {name.split()[0] for name in names}
    for name in names:
        words = name.split()
        wanted = {"--" + option for _, option in options(house, name)}
        assert complete_bash(house, "pkg", *words, "--") == wanted, name
        if len(words) == 2:
            family = {other.split()[1] for other in names if other.startswith(words[0] + " ")}
            assert complete_bash(house, "pkg", words[0], "") == family


def test_bash_completes_what_the_daemon_knows(house):
    house.install("syn-color", e="for-completion")
    assert "for-completion" in complete_bash(house, "pkg", "list", "-e", "")
    assert "for-completion" in complete_bash(house, "pkg", "env", "show", "")
    assert complete_bash(house, "pkg", "list", "-l", "") == {"python", "r"}


@pytest.mark.parametrize("shell, file", [("zsh", "_pkg"), ("fish", "pkg.fish"), ("bash", "pkg.bash")])
def test_a_completion_is_good_shell(shell, file):
    done = subprocess.run([tool(shell), "-n", TOP / "share" / "completions" / file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", ["_pkg", "pkg.bash", "pkg.fish"])
def test_a_completion_knows_no_list_of_its_own(house, file):
    """Commands and options come from the help: only names that stand for something else than themselves may be there."""
    text = source(f"share/completions/{file}")
    for name in re.findall(r"'?((?:cards|jobs|env) [a-z]+)'?", text):
        assert name in commands(house), name
    known = {option for command in commands(house) for _, option in options(house, command)}
    assert set(re.findall(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?= |\)| \|)", text)) <= known


# --- what is installed ---


def test_what_the_build_installs_is_all_there():
    if not (BUILD / "root").is_dir():
        pytest.skip("the build has no installed tree")
    for path in ["share/man/man1/pkg.1", "share/man/man8/pkgd.8", "share/man/man5/pkg.json.5",
                 "share/doc/pkgd/api.md", "share/doc/pkgd/api/openapi.json", "share/doc/pkgd/examples/client.py",
                 "share/locale/de/LC_MESSAGES/pkgd.mo", "share/locale/zh_CN/LC_MESSAGES/pkgd.mo",
                 "share/bash-completion/completions/pkg.bash", "share/zsh/site-functions/_pkg",
                 "share/fish/vendor_completions.d/pkg.fish", "share/pkgd/share/pkgd.schema.json",
                 "lib/systemd/system/pkgd.service", "lib/systemd/system/pkgd.socket",
                 "lib/systemd/system/pkgd-control.socket", "lib/systemd/user/pkgd.service",
                 "lib/systemd/user/pkgd.socket", "lib/systemd/user/pkgd-control.socket"]:
        assert (ROOT / path).is_file(), path
    unit = (ROOT / "lib/systemd/system/pkgd.service").read_text()
    assert "@bindir@" not in unit and "/bin/pkgd --system" in unit

dist_man_MANS += docs/man/pkg.1 docs/man/pkgd.8 docs/man/pkg.json.5
# Beside each other as in the source tree, so that their links hold.
apidir = $(docdir)/api
examplesdir = $(docdir)/examples
dist_doc_DATA = docs/api.md docs/architecture.md docs/benchmarks.md docs/security.md docs/r.md
dist_api_DATA = docs/api/openapi.json
dist_examples_SCRIPTS = docs/examples/client.py

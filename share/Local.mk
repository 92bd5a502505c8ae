# Data: the layout below $(pkgdatadir) is the one of the source tree, so that PKGD_DATADIR may name either.
nobase_dist_pkgdata_DATA += share/hosts/index-files.json share/hosts/python.json share/hosts/r.json \
	share/hosts/science.json share/pkgd.schema.json share/sysreqs.json
systemdsystemunitdir = $(prefix)/lib/systemd/system
systemduserunitdir = $(prefix)/lib/systemd/user
systemdsystemunit_DATA = share/systemd/pkgd.service
dist_systemdsystemunit_DATA = share/systemd/pkgd.socket share/systemd/pkgd-control.socket
systemduserunit_DATA = share/systemd/user/pkgd.service
dist_systemduserunit_DATA = share/systemd/user/pkgd.socket share/systemd/user/pkgd-control.socket
EXTRA_DIST += share/systemd/pkgd.service.in share/systemd/user/pkgd.service.in
CLEANFILES += $(systemdsystemunit_DATA) $(systemduserunit_DATA)

share/systemd/pkgd.service: share/systemd/pkgd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) share/systemd && \
		sed 's,[@]bindir[@],$(bindir),g' $(srcdir)/share/systemd/pkgd.service.in > $@
share/systemd/user/pkgd.service: share/systemd/user/pkgd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) share/systemd/user && \
		sed 's,[@]bindir[@],$(bindir),g' $(srcdir)/share/systemd/user/pkgd.service.in > $@
bashcompdir = $(datadir)/bash-completion/completions
zshcompdir = $(datadir)/zsh/site-functions
fishcompdir = $(datadir)/fish/vendor_completions.d
dist_bashcomp_DATA = share/completions/pkg.bash
dist_zshcomp_DATA = share/completions/_pkg
dist_fishcomp_DATA = share/completions/pkg.fish

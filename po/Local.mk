# Message catalogues, without recursion: make update-po takes new messages from the CLI into po/*.po.
PO_LANGUAGES = de zh_CN
PO_FILES = po/de.po po/zh_CN.po
MO_FILES = po/de.mo po/zh_CN.mo
EXTRA_DIST += $(PO_FILES)
CLEANFILES += $(MO_FILES)
all-local: $(MO_FILES)

po/%.mo: po/%.po
	$(AM_V_GEN)$(MKDIR_P) po && $(MSGFMT) --check-format --check-header -o $@ $<

install-data-hook: $(MO_FILES)
	for language in $(PO_LANGUAGES); do \
		dir=$(DESTDIR)$(localedir)/$$language/LC_MESSAGES; \
		$(MKDIR_P) $$dir && $(INSTALL_DATA) po/$$language.mo $$dir/pkgd.mo || exit 1; \
	done

uninstall-hook:
	for language in $(PO_LANGUAGES); do \
		rm -f $(DESTDIR)$(localedir)/$$language/LC_MESSAGES/pkgd.mo; \
	done

update-po:
	cd $(srcdir) && $(XGETTEXT) --from-code=UTF-8 --language=C --keyword=_ --keyword=N_ \
		--keyword=ngettext:1,2 --add-comments=TRANSLATORS --add-location=file --package-name=pkgd \
		--package-version=$(PACKAGE_VERSION) -o po/pkgd.pot src/cli/*.c src/cli/*.h
	cd $(srcdir) && for language in $(PO_LANGUAGES); do \
		$(MSGMERGE) -q --update --backup=none --add-location=file po/$$language.po po/pkgd.pot || exit 1; \
	done
	rm -f $(srcdir)/po/pkgd.pot
.PHONY: update-po

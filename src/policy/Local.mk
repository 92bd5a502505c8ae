noinst_LIBRARIES += libpkgpolicy.a
libpkgpolicy_a_SOURCES =
# Where a request may go. hostidna.c alone needs libcurl, so that pkg-proxy does not load it.
libpkgpolicy_a_SOURCES += \
	src/policy/address.c src/policy/address.h \
	src/policy/hostidna.c \
	src/policy/hostrule.c src/policy/hostrule.h
# What pkgd.json may hold.
libpkgpolicy_a_SOURCES += \
	src/policy/config.c src/policy/config.h \
	src/policy/config_keys.c src/policy/config_keys.h \
	src/policy/trust.c src/policy/trust.h

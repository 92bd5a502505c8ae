noinst_LIBRARIES += libpkgfetch.a
libpkgfetch_a_SOURCES = \
	src/fetch/cas.c src/fetch/cas.h \
	src/fetch/document.c \
	src/fetch/download.c src/fetch/download.h \
	src/fetch/http.c src/fetch/http.h \
	src/fetch/http_pool.c \
	src/fetch/nfc_table.h \
	src/fetch/query.c src/fetch/query.h \
	src/fetch/remote_zip.c src/fetch/remote_zip.h \
	src/fetch/unpack.c src/fetch/unpack.h \
	src/fetch/zip_bytes.h \
	src/fetch/zip_names.c src/fetch/zip_names.h \
	src/fetch/zip_reader.c \
	src/fetch/zipdir.c src/fetch/zipdir.h

# What this R is, one fact a line: PKGD, a tab, the fact's name, a tab, its value. Started with --vanilla and no
# default packages.
say <- function(name, values) {
	values <- gsub("[\t\r\n]", " ", as.character(values))
	if (length(values))
		cat(paste0("PKGD\t", name, "\t", values, "\n"), sep = "")
}
say("version", paste(R.version$major, R.version$minor, sep = "."))
say("platform", R.version$platform)
say("arch", R.version$arch)
say("os", .Platform$OS.type)
say("status", R.version$status)
say("home", R.home())
say("etc", R.home("etc"))
say("library", .Library)
# Renviron is not read with --vanilla, so what it would say of the site's libraries is read from it.
site <- Sys.getenv("R_LIBS_SITE")
for (file in file.path(R.home("etc"), c("Renviron", "Renviron.site"))) {
	if (!file.exists(file))
		next
	lines <- grep("^R_LIBS_SITE=", readLines(file, warn = FALSE), value = TRUE)
	for (line in lines) {
		value <- gsub("^['\"]|['\"]$", "", sub("^R_LIBS_SITE=", "", line))
		value <- sub("^\\$\\{R_LIBS_SITE[:]?-(.*)\\}$", "\\1", value)
		value <- gsub("^['\"]|['\"]$", "", value)
		value <- gsub("%v", sub("^([0-9]+\\.[0-9]+).*", "\\1", paste(R.version$major, R.version$minor, sep = ".")), value)
		value <- gsub("%V", paste(R.version$major, R.version$minor, sep = "."), gsub("%p", R.version$platform, gsub("%o", R.version$os, gsub("%a", R.version$arch, value))))
		if (!grepl("[$%]", value))
			site <- value
	}
}
if (!nzchar(site))
	site <- file.path(R.home(), "site-library")
site <- unlist(strsplit(site, ":", fixed = TRUE))
say("site", unique(normalizePath(site[dir.exists(site)])))
# The compilers that packages are built with.
makeconf <- file.path(R.home("etc"), "Makeconf")
if (file.exists(makeconf)) {
	lines <- readLines(makeconf, warn = FALSE)
	for (name in c("CC", "CXX", "FC", "MAKE")) {
		line <- grep(paste0("^", name, " *= *"), lines, value = TRUE)
		if (!length(line))
			next
		program <- strsplit(sub("^[A-Z]+ *= *", "", line[[1]]), " ", fixed = TRUE)[[1]][1]
		say(name, if (nzchar(Sys.which(program))) Sys.which(program) else "")
	}
}
for (name in c("jpeg", "png", "cairo", "ICU", "libcurl", "long.double")) {
	has <- suppressWarnings(tryCatch(capabilities(name), error = function(e) FALSE))
	if (isTRUE(unname(has)))
		say("capability", name)
}
# An R whose base packages do not load is none (without EDITOR set or /etc/R there, utils does not).
ok <- suppressWarnings(tryCatch({ loadNamespace("utils"); loadNamespace("stats"); TRUE }, error = function(e) conditionMessage(e)))
say("loads", if (isTRUE(ok)) "yes" else ok)

# What an environment resolves: its library paths and the first of each package along them, a line each. No package
# is loaded.
paths <- .libPaths()
cat(paste0("PKGD\tlibrary\t", paths, "\n"), sep = "")
seen <- character()
for (path in paths) {
	names <- list.files(path)
	for (name in names[!(names %in% seen)]) {
		meta <- file.path(path, name, "Meta", "package.rds")
		if (!file.exists(meta))
			next
		description <- tryCatch(readRDS(meta)$DESCRIPTION, error = function(e) NULL)
		if (is.null(description) || is.na(description["Version"]))
			next
		seen <- c(seen, name)
		cat("PKGD\tpackage\t", description[["Package"]], "\t", description[["Version"]], "\t", file.path(path, name), "\n", sep = "")
	}
}
cat("PKGD\tend\n")

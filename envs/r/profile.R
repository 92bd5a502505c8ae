# Read at the start of every R of an environment, in place of the site's profile, which is read first. Installing is
# not this process's to do: the library is read-only here, and a change has to be planned and approved.
local({
	site <- file.path(R.home("etc"), "Rprofile.site")
	if (file.exists(site))
		sys.source(site, envir = globalenv())
	names_of <- function(arguments) {
		names <- tryCatch(unlist(arguments[vapply(arguments, is.character, NA)][1]), error = function(e) NULL)
		names <- names[grepl("^[A-Za-z][A-Za-z0-9.]*[A-Za-z0-9](@[0-9.-]+)?$", names)]
		if (length(names)) paste(shQuote(names, type = "sh"), collapse = " ") else "PACKAGE..."
	}
	refuse <- function(what) {
		force(what)
		function(...) {
			where <- Sys.getenv("PKGD_ENVIRONMENT", "@ENVIRONMENT@")
			stop(what, "() does not install into an environment of pkgd. Ask for the packages instead:\n  ",
			     "pkg install -l r", where, " ", gsub("'", "", names_of(list(...))), call. = FALSE)
		}
	}
	guard <- function(package, functions) {
		setHook(packageEvent(package, "onLoad"), function(...) {
			space <- asNamespace(package)
			for (name in functions) {
				if (!exists(name, envir = space, inherits = FALSE))
					next
				replacement <- refuse(paste0(package, "::", name))
				unlock <- bindingIsLocked(name, space)
				if (unlock) unlockBinding(name, space)
				assign(name, replacement, envir = space)
				if (unlock) lockBinding(name, space)
			}
		})
	}
	guard("utils", c("install.packages", "update.packages", "remove.packages"))
	guard("remotes", c("install_cran", "install_github", "install_version", "install_url", "install_local", "install_git", "install_bioc", "install_deps"))
	guard("devtools", c("install", "install_cran", "install_github", "install_version", "install_url", "install_local", "install_git", "install_bioc", "install_deps"))
	guard("pak", c("pkg_install", "pak", "pkg_remove", "local_install"))
	guard("renv", c("install", "restore", "update", "remove"))
	guard("BiocManager", "install")
})

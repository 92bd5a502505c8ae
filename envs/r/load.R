# Loads the namespaces that are named, in order, and tells of each how it went.
for (name in commandArgs(trailingOnly = TRUE)) {
	failure <- tryCatch({ suppressMessages(suppressWarnings(loadNamespace(name))); NULL }, error = function(e) conditionMessage(e))
	text <- if (is.null(failure)) "" else gsub("[\t\r\n]+", " ", failure)
	cat("\nPKGD\t", if (is.null(failure)) "loaded" else "failed", "\t", name, "\t", text, "\n", sep = "")
	if (!is.null(failure))
		quit(save = "no", status = 1)
}
cat("\nPKGD\tend\n")

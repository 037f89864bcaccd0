# Describes the globals of an R kernel. It is the code of one request, in which KEY is
# replaced by the name to describe, or "" for all names. Active bindings are not
# inspected, because reading one runs code.
local({
  max_names <- 500L
  max_columns <- 50L
  describe_table <- function(x) {
    described <- head(names(x), max_columns)
    list(
      columns = as.list(described),
      dtypes = stats::setNames(lapply(described, function(name) class(x[[name]])[1L]), described),
      column_preview_truncated = length(x) > max_columns,
      shape = as.list(dim(x))
    )
  }
  shape <- function(x) if (is.null(dim(x))) list(length(x)) else as.list(dim(x))
  short_text <- function(x) {
    lines <- utils::capture.output(utils::str(x, give.attr = FALSE, list.len = 20L, nchar.max = 200L, vec.len = 10))
    substr(trimws(paste(lines, collapse = "\n")), 1L, 1000L)
  }
  describe <- function(x) {
    description <- list(type = class(x)[1L])
    if (is.data.frame(x)) c(description, describe_table(x))
    else if (!is.null(dim(x))) c(description, list(dtype = typeof(x), shape = shape(x)))
    else if (is.atomic(x) && length(x) > 1L) c(description, list(dtype = typeof(x), shape = shape(x), repr = short_text(x)))
    else if (is.list(x)) c(description, list(len = length(x), repr = short_text(x)))
    else c(description, list(repr = short_text(x)))
  }
  inspect <- function(name) {
    if (bindingIsActive(name, globalenv())) return(list(type = "active binding", error = "not inspected"))
    tryCatch(describe(get(name, envir = globalenv())), error = function(e) list(type = "unknown", error = conditionMessage(e)))
  }
  key <- KEY
  names <- ls(globalenv())
  answer <- if (nzchar(key)) {
    if (key %in% names) list(info = inspect(key)) else stats::setNames(list(), character())
  } else {
    shown <- head(names, max_names)
    list(summary = stats::setNames(lapply(shown, inspect), shown), truncated = length(names) > max_names)
  }
  IRdisplay::publish_mimebundle(list("application/json" = answer))
})

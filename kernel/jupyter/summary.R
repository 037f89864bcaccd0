# What an R kernel is asked about its globals: the code of one request. KEY is
# what is asked for, "" for all. A value is a promise or an active binding only
# in odd programs; those are told by their kind, as looking would run them.
local({
  most <- 500L
  columns <- 50L
  table <- function(x) {
    shown <- head(names(x), columns)
    list(
      columns = as.list(shown),
      dtypes = stats::setNames(lapply(shown, function(name) class(x[[name]])[1L]), shown),
      column_preview_truncated = length(x) > columns,
      shape = as.list(dim(x))
    )
  }
  shape <- function(x) if (is.null(dim(x))) list(length(x)) else as.list(dim(x))
  text <- function(x) {
    lines <- utils::capture.output(utils::str(x, give.attr = FALSE, list.len = 20L, nchar.max = 200L, vec.len = 10))
    substr(trimws(paste(lines, collapse = "\n")), 1L, 1000L)
  }
  describe <- function(x) {
    told <- list(type = class(x)[1L])
    if (is.data.frame(x)) c(told, table(x))
    else if (!is.null(dim(x))) c(told, list(dtype = typeof(x), shape = shape(x)))
    else if (is.atomic(x) && length(x) > 1L) c(told, list(dtype = typeof(x), shape = shape(x), repr = text(x)))
    else if (is.list(x)) c(told, list(len = length(x), repr = text(x)))
    else c(told, list(repr = text(x)))
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
    shown <- head(names, most)
    list(summary = stats::setNames(lapply(shown, inspect), shown), truncated = length(names) > most)
  }
  IRdisplay::publish_mimebundle(list("application/json" = answer))
})

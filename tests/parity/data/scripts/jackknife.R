# Rscript scripts/jackknife.R     (run in the directory of the results, data in ../data)
source("scripts/lib.R")
suppressMessages(library(pls))
d <- num(read("gasoline.csv")); d <- data.frame(octane = d[, 1], NIR = I(d[, -1]))
segments <- lapply(1:10, function(i) seq(i, 60, by = 10))
one <- function(method) {
  m <- plsr(octane ~ NIR, ncomp = 4, data = d, method = method, validation = "CV", segments = segments, jackknife = TRUE)
  list(variance = vec(var.jack(m, ncomp = 4)[, 1, 1]))
}
pcr_fit <- pcr(octane ~ NIR, ncomp = 4, data = d, validation = "CV", segments = segments, jackknife = TRUE)
emit("jackknife_gasoline.json", "jackknife variances of the coefficients of four components", "gasoline.csv",
     "var.jack(plsr(..., ncomp = 4, validation = 'CV', segments = interleaved, jackknife = TRUE), ncomp = 4)", "pls",
     list(kernelpls = one("kernelpls"), svdpc = list(variance = vec(var.jack(pcr_fit, ncomp = 4)[, 1, 1]))))

# Rscript scripts/parallel.R     (run in the directory of the results, data in ../data)
source("scripts/lib.R")
suppressMessages(library(psych))
sets <- list(usarrests = num(read("usarrests.csv")), iris = num(read("iris.csv")), swiss = num(read("swiss.csv")),
             crabs = num(read("crabs.csv"))[, -1], metabolite = as.matrix(read("metabolite_complete.csv")))
one <- function(X) {
  set.seed(1)
  p <- fa.parallel(X, fa = "pc", n.iter = 500, plot = FALSE, quant = 0.95, sim = TRUE)
  m <- suppressWarnings(vss(cor(X), n = min(ncol(X) - 1, 8), n.obs = nrow(X), rotate = "none", fm = "pc", plot = FALSE)$map)
  list(eigenvalues = vec(p$pc.values), mean_of_simulated = vec(p$pc.sim), n_components = p$ncomp, map = vec(m))
}
emit("parallel.json", "parallel analysis and Velicer's MAP", paste(names(sets), collapse = ", "),
     "fa.parallel(X, fa = 'pc', n.iter = 500, quant = 0.95); vss(cor(X), fm = 'pc')$map", "psych",
     lapply(sets, one))

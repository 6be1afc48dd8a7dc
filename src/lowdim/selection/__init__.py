"""The choice of the number of components, cross-validation, the bootstrap and permutation tests."""

from .bootstrapping import Bootstrap, bootstrap
from .choose import choose_n_components
from .criteria import Eigenvalues, Unavailable
from .cross_validation import CrossValidation, cross_validate
from .kernel_width import WidthChoice, choose_width
from .permutation import PermutationTest, permutation_test
from .pooling import Pooled, pool
from .rules import ALIASES, FACTOR_RULES, RULES, Choice, Choices, Rule, rule_of
from .suitability import Suitability, factor_suitability

__all__ = [
    "ALIASES",
    "FACTOR_RULES",
    "RULES",
    "Bootstrap",
    "Choice",
    "Choices",
    "CrossValidation",
    "Eigenvalues",
    "PermutationTest",
    "Pooled",
    "Rule",
    "Suitability",
    "Unavailable",
    "WidthChoice",
    "bootstrap",
    "choose_n_components",
    "choose_width",
    "cross_validate",
    "factor_suitability",
    "permutation_test",
    "pool",
    "rule_of",
]

"""The public names of every package, written out: one that comes, goes or is spelt otherwise shows here."""

import importlib
import pkgutil
import re

import pytest

import lowdim
from lowdim import models
from lowdim.densities import DENSITIES
from lowdim.kernels import KERNELS
from lowdim.selection import ALIASES, RULES
from lowdim.solvers import (
    ICA_SOLVERS,
    KERNEL_SOLVERS,
    LATENT_SOLVERS,
    NEURAL_SOLVERS,
    PREIMAGES,
    REDUCTIONS,
    ROTATIONS,
    SOLVERS,
    KrylovKernel,
)
from lowdim.solvers.spectra import SKLEARN_SOLVERS
from lowdim.summaries import SUMMARIES
from public_names import public

#: Sorted as Python sorts text.
PUBLIC = {
    "lowdim": """
        AutoEncoder CCA Checkpoint FactorAnalysis FeatureMapPCA FourthMoments GCCA ICA KernelCCA KernelPCA Moments PCA
        PCR PLSCanonical PLSRegression PLSSVD PPCA Table Triangle Whitening bootstrap choose_n_components
        choose_width cross_validate densities errors factor_suitability features files inspect kernel_plan
        kernels load on_device open_source permutation_test plan pool report save scan selection solvers
        summarize to_onnx
    """,
    "lowdim.densities": """
        CustomDensity DENSITIES Density Flipped GeneralizedGaussian Infomax Sech Student as_density
        parse_density
    """,
    "lowdim.errors": """
        ConvergenceWarning DensityWarning FormulaWarning GaussianWarning HeywoodWarning HoldsRowsWarning
        IndefiniteWarning LowdimWarning MissingValues NeedsRowsInMemory NoComponentWarning NoMaximum NoVariance
        NonFiniteBlock RankWarning ResolutionWarning SlowWarning SmallSampleWarning UndeterminedCovariance
        array_columns_out_of_range array_is_no_table array_without_numbers bad_columns bad_keep bad_min_rows
        bad_ndim bad_number_latent bad_opset bad_weights being_read beyond_float beyond_onnx_arithmetic
        cannot_be_replaced cannot_keep changed_file choice column_exists column_label columns_clash complex_data
        constant_with_holes covariance_not_converged csv_encoding csv_header csv_line_break_in_header
        damaged_checkpoint damaged_file deleted_file density_not_finite different_columns directory_is_missing
        does_not_fit duplicate_columns empty empty_directory executor_memory executors_died exhausted_stream
        fewer_rows_than_allowed file_exceeds_memory fitted_without_summary fold_without_rows foreign_file
        formula_like heywood_columns holes_after_reading in_partition inconsistent_lengths indices_out_of_range
        inexact_integer inside_store is_checkpoint kernel_not_finite list_names list_of_paths many_latent
        missing_chunks missing_columns missing_extra missing_labels mixed_blocks mixed_kinds
        n_components_out_of_range named_response_not_numbers named_twice names_difference names_of_array_columns
        nearly_numbers needs_all_rows needs_axes_in_3d needs_columns needs_memory needs_second_reading
        never_observed newer_file no_array_of_rows no_bootstrap_sample no_checkpoint_elsewhere no_checkpoint_of
        no_checkpoint_with_holes no_columns_left no_device_library no_inner_name no_kept_columns no_lowdim
        no_match no_maximum no_order no_partial_fit no_permission_to_write no_positive_eigenvalue no_row_draws
        no_rows_in_files no_rows_seen no_spark_columns no_splits_without_order no_such_array no_such_device
        no_such_file no_such_table no_variance not_a_device not_a_module not_a_path not_a_stored_class
        not_computed not_finite not_for_csv not_html not_in_onnx not_iterable not_loadable not_local not_numbers
        not_numeric not_one_for_each_row not_permitted not_representable not_so_many_components not_storable
        not_symmetric not_symmetric_kernel not_variational not_written nothing_missing objects_in_npy
        objects_on_device
        older_lowdim one_column_with_holes one_row open_quote other_kept_type other_length other_names
        other_namespace other_partition other_pass other_python other_response other_rows_than_fit
        other_separator other_store_width other_stream other_test other_version other_width output_exists
        output_is_directory output_is_no_path output_is_special over_budget own_module_not_stored ragged_blocks
        ragged_column ragged_line read_once refit_of_weighted_fit remote_rows_on_device rows_already_on_device
        rows_exceed_memory rows_in_another_order rows_needed_for_test rule_needs_complete_rows rule_needs_rows
        saved_object several_devices sklearn_argument sparse_rows_on_device special_file
        squared_error_out_of_range squares_about_zero text_response too_few_rows too_large too_large_for_onnx
        too_small training_diverged undetermined_covariance units_too_far unknown_column unknown_component
        unknown_length unknown_number_of_rows unknown_output unknown_suffix unreadable_file virtual_dataset
        warn_user weights_without_column which_array without_warnings workers_died would_lose_arrays
        write_with_spark wrong_features wrong_image_shape wrong_module_width wrong_number_of_components
        wrong_onnx_inputs
    """,
    "lowdim.features": """
        AffineMap FEATURE_MAPS Fourier KernelColumns Polynomial Same Scaled SomeColumns UnitLength affine
        require_width
    """,
    "lowdim.files": """
        header load save
    """,
    "lowdim.inspect": """
        Diagnostics FitReport ModelTables canonical_tests coefficients column_names communalities
        contributions correlations cos2 determinacy diagnose factor_correlations fit_report hotelling_t2
        importance loadings pair_correlations pattern q_limit q_residuals scores structure t2_limit vip
    """,
    "lowdim.kernels": """
        Cosine Function Gaussian KERNELS Kernel Laplacian Linear Matern Multiple Polynomial Product
        Quadratic Sigmoid Sum ThinPlateSpline as_kernel no_frequencies no_width parameters_of
        refuse_parameters
    """,
    "lowdim.onnx": """
        CONVERTERS register to_onnx
    """,
    "lowdim.plot": """
        ModelPlots PLOTS biplot coefficients contours convergence correlation_circle correlations cumulative
        densities loading_bars loadings missing outliers predictions reconstructions scores scree sources
        structure validation variates vip
    """,
    "lowdim.reporting": """
        Report of_model report
    """,
    "lowdim.selection": """
        ALIASES Bootstrap Choice Choices CrossValidation Eigenvalues FACTOR_RULES PermutationTest Pooled
        RULES Rule Suitability Unavailable WidthChoice bootstrap choose_n_components choose_width
        cross_validate factor_suitability permutation_test pool rule_of
    """,
    "lowdim.sklearn": """
        CCA FactorAnalysis FastICA IncrementalPCA KernelPCA PCA PLSCanonical PLSRegression PLSSVD fastica
    """,
    "lowdim.solvers": """
        Adam AnySolver CanonicalFit Cost Covariance CovarianceReduction DenseKernel EM Equamax Features
        FixedPoint FixedPointICA FourierFeatures Gram GramReduction ICA_SOLVERS IcaSolver Job KERNEL_SOLVERS
        KernelFit KernelSolver Krylov KrylovKernel LATENT_SOLVERS LatentFit LatentSolver
        LinearOptimum Misfit NEURAL_SOLVERS NeuralSolver Newton NewtonCG Nystrom Oblimin PREIMAGES PairFit
        Plan Promax Quartimax QuasiNewtonICA REDUCTIONS ROTATIONS Reduction Request Ridge Rotation RowsLike
        SOLVERS Solver Spectrum Status Tail Triangle
        TriangleReduction Unmixing Varimax
    """,
    "lowdim.summaries": """
        Columns Completed FourthMoments Gram GramRoot Labelled Latent LatentGaussian Moments Observed
        SUMMARIES Sample ScoreMoments Sketch StandardizedGrams Summary Triangle
    """,
}

MODULES = ["lowdim", *(info.name for info in pkgutil.walk_packages(lowdim.__path__, "lowdim."))]
PACKAGES = [name for name in MODULES if hasattr(importlib.import_module(name), "__path__")]
#: The tables of solvers, and the suffix that says in the name of a class which problem it solves.
TABLES = {
    "SOLVERS": (SOLVERS, ""),
    "LATENT_SOLVERS": (LATENT_SOLVERS, ""),
    "KERNEL_SOLVERS": (KERNEL_SOLVERS, "Kernel|Features"),
    "ICA_SOLVERS": (ICA_SOLVERS, "ICA"),
    "NEURAL_SOLVERS": (NEURAL_SOLVERS, "Optimum"),
    "REDUCTIONS": (REDUCTIONS, "Reduction"),
    "PREIMAGES": (PREIMAGES, ""),
    "ROTATIONS": (ROTATIONS, ""),
    "DENSITIES": (DENSITIES, ""),
}


@pytest.mark.parametrize("name", list(PUBLIC))
def test_the_public_names(name):
    module = importlib.import_module(name)
    assert public(module) == PUBLIC[name].split()
    assert len(set(public(module))) == len(public(module))
    for public_name in public(module):
        assert getattr(module, public_name) is not None


def test_a_model_is_named_once():
    assert set(models.__all__) <= set(lowdim.__all__)
    for name in models.__all__:
        assert getattr(lowdim, name) is getattr(models, name)
        assert getattr(models, name).__name__ == name


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_has_the_name_of_a_module_beside_it(package):
    """`lowdim.summarize` was a function and a module once: which of the two one got depended on what was imported."""
    where = importlib.import_module(package)
    for info in pkgutil.iter_modules(where.__path__):
        module = importlib.import_module(f"{package}.{info.name}")
        assert getattr(where, info.name) is module, f"{package}.{info.name} is a module and something else"


def kebab(name):
    """QuasiNewton -> quasi-newton, EM -> em."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


@pytest.mark.parametrize("table", list(TABLES))
def test_a_shorthand_is_the_name_of_its_class(table):
    entries, suffix = TABLES[table]
    for shorthand, entry in entries.items():
        if shorthand == "matrix-free":
            assert entry == KrylovKernel(keep=False)
            continue
        cls = entry if isinstance(entry, type) else type(entry)
        # A class that is called as its problem alone keeps that name: Features.
        short = re.sub(f"(?<=.)({suffix})$", "", cls.__name__) if suffix else cls.__name__
        assert shorthand == kebab(short)
        assert getattr(cls, "name", shorthand) == shorthand


def test_kernels_and_summaries_by_name():
    for shorthand, kernel in KERNELS.items():
        assert shorthand == kernel.name == kebab(kernel.__name__).replace("-", " ")
    for name, summary in SUMMARIES.items():
        assert name == summary.__name__


def test_other_names_lead_to_members_of_the_tables():
    assert set(ALIASES.values()) <= set(RULES)
    assert not set(ALIASES) & set(RULES)
    assert set(SKLEARN_SOLVERS.values()) <= {"auto", *SOLVERS}
    assert all(rule.name == name for name, rule in RULES.items())


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name):
    assert importlib.import_module(name).__doc__

"""Messages about rows that the workers of an engine hold."""

from __future__ import annotations

from collections.abc import Sequence

from .messages import list_names


def no_spark_columns(columns: Sequence[str]) -> ValueError:
    """No columns of a data frame of Spark are rows."""
    return ValueError(
        f"the data frame has the columns {list_names(list(columns))}: rows are all columns of numbers or, if there are "
        "none, the one column of arrays of numbers or of vectors; lowdim.scan(df, columns=...) chooses columns."
    )


def ragged_column(column: str, width: int | None) -> ValueError:
    """Arrays or vectors in a column have different lengths, or one is missing."""
    if width is None:
        return ValueError(
            f"column {column!r} must have an array or a vector in each row, and it is null in the first one; drop such "
            f"rows: df.dropna(subset=[{column!r}])."
        )
    return ValueError(
        f"column {column!r} must have {width} numbers in each row, as it has in the first one; a row has another "
        f"number of them, or is null. Drop such rows, for example with df.dropna(subset=[{column!r}])."
    )


def other_version(here: str, there: str, where: str) -> RuntimeError:
    """A worker has another version of lowdim."""
    return RuntimeError(
        f"{where} has lowdim {there}, and this process has lowdim {here}; install the same version on all machines."
    )


def column_exists(names: Sequence[str]) -> ValueError:
    """Results would have the names of columns that are there."""
    return ValueError(
        f"the data frame already has columns with the names of the results, {list_names(list(names))}; drop or rename "
        "them first."
    )


def write_with_spark() -> TypeError:
    """Results for a data frame of Spark are not written by this process."""
    return TypeError(
        "results for a data frame of Spark are columns of a data frame, which Spark writes: "
        "model.transform(df).write.parquet(path)."
    )


def no_array_of_rows() -> TypeError:
    """An array with a row for each row of a data frame of Spark is needed."""
    return TypeError(
        "this needs an array with a row for each row of the table, and rows of a data frame of Spark have no order: "
        "transform, score_samples, predict, reconstruction_error and impute add their results to the data frame as "
        "columns. For everything else, bring the rows that you want to this process: df.limit(1000).toPandas()."
    )


def no_row_draws() -> ValueError:
    """Single rows of a data frame of Spark would be drawn."""
    return ValueError(
        "kind='row' draws single rows, which are on the executors of Spark; leave it out, so that blocks of rows are "
        "drawn, which are made by a hash of the rows."
    )


def no_order(what: str) -> TypeError:
    """Something needs the order of rows that have none."""
    return TypeError(
        f"{what} go by the order of the rows, and rows of a data frame of Spark have no order; pass the name of a "
        "column of the data frame instead."
    )


def no_lowdim(engine: str, package: str = "lowdim") -> RuntimeError:
    """lowdim, or a package that it needs, is not installed on a worker."""
    return RuntimeError(
        f"the Python of a worker of {engine} has no {package}; install lowdim, in the version of this process, with "
        f"what it needs where the workers run{_which_python(engine)}."
    )


def in_partition(error: TypeError | ValueError, start: int, stop: int, what: str = "rows") -> TypeError | ValueError:
    """An error about a partition, with the rows that it holds."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"in the partition of {what} {start} to {stop - 1}: {error}")


def workers_died(task: str, rows: tuple[int, int] | None) -> RuntimeError:
    """Every worker that was given a task has died. It may have died of another task that it was given too."""
    of = "" if rows is None else f", which rows {rows[0]} to {rows[1] - 1} need,"
    return RuntimeError(
        f"all workers of Dask that were given the task {task!r}{of} died. Most often a worker dies because its memory "
        "does not suffice: a partition must fit into it together with the summary of the model. Use smaller partitions "
        "(X.rechunk or X.repartition), fewer threads in each worker, or workers with more memory; their logs say why "
        "they died."
    )


def not_computed(found: str, column: str | None, partition: int | None) -> ValueError:
    """Spark failed to compute the rows; the column and the partition are named if they were found."""
    of = "the data frame" if column is None else f"column {column!r}"
    where = "" if partition is None else f" in partition {partition}"
    return ValueError(f"Spark could not compute {of}{where}, before lowdim was given the rows: {found}")


def executors_died(task: str, attempts: str) -> RuntimeError:
    """Each executor of Spark that was given a task has died or had not enough memory, or its process of Python."""
    return RuntimeError(
        f"task {task} of a stage of Spark failed {attempts} times, because the executor, or its process of Python, "
        f"died or had not enough memory. {_SPARK_MEMORY} The logs of the executors say why they died."
    )


def executor_memory(found: str) -> MemoryError:
    """There is no memory for a block of rows, or for a summary."""
    return MemoryError(f"Spark had not enough memory ({found or 'no details are known'}). {_SPARK_MEMORY}")


#: What to do if the memory of executors does not suffice.
_SPARK_MEMORY = (
    "The memory of an executor must suffice for a batch of rows and the summary of the model. Give Python more memory "
    "(spark.executor.pyspark.memory, if it is set, and spark.executor.memoryOverhead), or Java "
    "(spark.executor.memory, or spark.driver.memory for your process); or use fewer rows in a batch "
    "(spark.sql.execution.arrow.maxRecordsPerBatch), more partitions, or, for many columns, solver='krylov' where "
    "there is one."
)


def older_lowdim(engine: str, here: str) -> RuntimeError:
    """A worker has a version of lowdim that lacks what this process asks of it."""
    return RuntimeError(
        f"a worker of {engine} has another version of lowdim than this process, which has {here}; install the same "
        f"version on all machines{_which_python(engine)}."
    )


def other_python(engine: str) -> RuntimeError:
    """A worker runs another version of Python."""
    return RuntimeError(
        f"the workers of {engine} run another version of Python than this process; use the same one on all "
        f"machines{_which_python(engine)}."
    )


def missing_labels(label: str) -> ValueError:
    """A column of labels has entries that are missing."""
    return ValueError(f"{label} must have a label in each row, and it has missing values; drop those rows.")


def fold_without_rows(k: int, empty: int) -> ValueError:
    """Rows that were assigned to folds by a hash are in fewer folds than were asked for."""
    return ValueError(
        f"cv={k}: {empty} of the folds have no row. Rows of a data frame of Spark have no order, and each belongs to a "
        "fold by a hash of its entries; use fewer folds, or name a column that holds the fold of each row: cv='fold'."
    )


def no_splits_without_order(cv: object) -> TypeError:
    """A splitter numbers the rows, which have no order."""
    return TypeError(
        f"cv={cv!r} numbers the rows, and rows of a data frame of Spark have no order; pass a number of folds, "
        "KFold(k, shuffle=True, random_state=0), or the name of a column that holds the fold of each row."
    )


def _which_python(engine: str) -> str:
    """How the Python of the workers is chosen, where that is a setting."""
    return ", or set PYSPARK_PYTHON to a Python that has it" if engine == "Spark" else ""

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


def ragged_column(column: str, width: int) -> ValueError:
    """Arrays or vectors in a column have different lengths, or one is missing."""
    return ValueError(f"the rows in column {column!r} must all have {width} numbers, as the first one has.")


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


def no_order(what: str) -> TypeError:
    """Something needs the order of rows that have none."""
    return TypeError(
        f"{what} go by the order of the rows, and rows of a data frame of Spark have no order; pass the name of a "
        "column of the data frame instead."
    )


def no_lowdim(engine: str) -> RuntimeError:
    """lowdim is not installed on a worker."""
    return RuntimeError(
        f"a worker of {engine} has no lowdim; install lowdim, in the version of this process, where the workers run."
    )


def in_partition(error: TypeError | ValueError, start: int, stop: int, what: str = "rows") -> TypeError | ValueError:
    """An error about a partition, with the rows that it holds."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"in the partition of {what} {start} to {stop - 1}: {error}")


def workers_died(task: str, rows: tuple[int, int] | None) -> RuntimeError:
    """Every worker that was given a task has died. It may have died of another task that it was given too."""
    of = "" if rows is None else f", which rows {rows[0]} to {rows[1] - 1} need,"
    return RuntimeError(
        f"all workers of Dask that were given the task {task!r}{of} died. Most often a worker dies because its memory does "
        "not suffice: a partition must fit into it together with the summary of the model. Use smaller partitions "
        "(X.rechunk or X.repartition), fewer threads in each worker, or workers with more memory; their logs say why "
        "they died."
    )

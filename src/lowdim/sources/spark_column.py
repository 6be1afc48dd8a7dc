"""Numbers or labels that go along with rows which have no order: a column of the same data frame of Spark in place of
an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import errors
from .base import DerivedSource, Source, when_called
from .beside import ColumnsSource

# What knows Spark is imported when it is needed.
in_plain_words, quoted = when_called("spark_jobs", "in_plain_words"), when_called("spark_jobs", "quoted")


@dataclass(frozen=True)
class LabelCounts:
    """The labels of a column, in ascending order, and the rows of each."""

    values: list[Any]
    #: The number of rows, and of those of positive weight.
    rows: np.ndarray
    counted: np.ndarray
    #: The sum of their weights.
    weights: np.ndarray


class CarriedColumn:
    """A column of the data frame of Spark that holds the rows, or an expression of its columns, where a table with an
    order would have an array with one entry for each row. Its entries stay where the rows are, and go along with them;
    only counts and sums are computed here.

    Parameters
    ----------
    frame : data frame of Spark
    column : str or Column
        A name, or an expression that is evaluated for each row when the rows are read.
    label : str
        The name in messages.
    """

    def __init__(self, frame: Any, column: Any, label: str) -> None:
        from pyspark.sql import functions

        self.frame, self.label = frame, label
        self.column = functions.col(quoted(column)) if isinstance(column, str) else column

    @cached_property
    def _sums(self) -> Any:
        """What is known of the entries as numbers, from one job."""
        from pyspark.sql import functions

        x = self.column.cast("double")
        finite = functions.when(x.isNotNull() & ~functions.isnan(x), x)
        known = self.frame.select(x.alias("x"), finite.alias("finite")).agg(
            functions.count("*").alias("n"),
            functions.count("finite").alias("present"),
            functions.min("finite").alias("least"),
            functions.max("finite").alias("most"),
            functions.min(functions.when(functions.col("finite") > 0, functions.col("finite"))).alias("smallest"),
            functions.sum("finite").alias("total"),
            functions.count(functions.when(functions.col("finite") > 0, 1)).alias("positive"),
            functions.count(functions.when(functions.col("finite") != functions.rint("finite"), 1)).alias("broken"),
        )
        with in_plain_words():
            return known.first()

    @property
    def shape(self) -> tuple[int]:
        """The number of entries."""
        return (int(self._sums["n"]),)

    @property
    def total(self) -> float:
        """The sum of the entries."""
        return float(self._sums["total"])

    @property
    def n_positive(self) -> int:
        """The number of positive entries."""
        return int(self._sums["positive"])

    @property
    def is_whole(self) -> bool:
        """Whether all entries are whole numbers."""
        return self._sums["broken"] == 0

    def checked(self, source: Source) -> CarriedColumn:
        """The column as weights of the rows of `source`; an error if its entries cannot be weights."""
        self._require_frame(source)
        kind = self.frame.select(self.column.alias("x")).schema["x"].dataType
        from pyspark.sql import types

        if not isinstance(kind, types.NumericType | types.BooleanType):
            raise errors.bad_weights("must hold numbers", f"{self.label}, which holds {kind.simpleString()}")
        found = self._sums
        if found["present"] < found["n"] or not math.isfinite(max(abs(found["least"]), abs(found["most"]))):
            raise errors.bad_weights("must be finite", f"a missing or infinite value in {self.label}")
        if found["least"] < 0:
            raise errors.bad_weights("must not be negative", f"{found['least']:g} in {self.label}")
        if found["positive"] == 0:
            raise errors.bad_weights("must not be all zero", f"{found['n']} zeros in {self.label}")
        if not math.isfinite(found["total"]):
            raise errors.bad_weights("must have a sum that fits into float64", f"values up to {found['most']:g}")
        if source.traits.itemsize < 8:
            with np.errstate(over="ignore", under="ignore"):
                ends = np.array([found["smallest"], found["most"], found["total"]], dtype=np.float32)
            if not np.all(np.isfinite(ends)) or np.any(ends == 0):
                values = f"values from {found['smallest']:g} to {found['most']:g}"
                raise errors.bad_weights("must fit the float32 of the rows", values)
        return self

    def labels(self, weights: CarriedColumn | None) -> LabelCounts:
        """The distinct entries."""
        from pyspark.sql import functions

        counted = functions.lit(1.0) if weights is None else self._other(weights).cast("double")
        known = (
            self.frame.select(self.column.alias("value"), counted.alias("w"))
            .groupBy("value")
            .agg(
                functions.count("*").alias("rows"),
                functions.count(functions.when(functions.col("w") > 0, 1)).alias("counted"),
                functions.sum("w").alias("weight"),
            )
        )
        with in_plain_words():
            each = known.collect()
        if any(row["value"] is None or row["value"] != row["value"] for row in each):
            raise errors.missing_labels(self.label)
        each.sort(key=lambda row: row["value"])
        return LabelCounts(
            [row["value"] for row in each],
            np.array([row["rows"] for row in each]),
            np.array([row["counted"] for row in each]),
            np.array([row["weight"] for row in each], dtype=np.float64),
        )

    def numbered(self, values: Sequence[Any], numbers: Sequence[int]) -> CarriedColumn:
        """A column with a number in place of each of these values."""
        from pyspark.sql import functions

        kind = self.frame.select(self.column.alias("value")).schema["value"].dataType
        known = functions.array(*(functions.lit(value).cast(kind) for value in values))
        codes = functions.array(*(functions.lit(int(number)) for number in numbers))
        code = functions.element_at(codes, functions.array_position(known, self.column).cast("int"))
        return CarriedColumn(self.frame, code, self.label)

    def where(self, numbers: Sequence[int], weights: CarriedColumn | None) -> CarriedColumn:
        """Weights: those of the rows whose entry is one of these numbers, and zero for all others."""
        from pyspark.sql import functions

        kept = functions.lit(1.0) if weights is None else self._other(weights).cast("double")
        some = functions.when(self.column.isin([int(number) for number in numbers]), kept).otherwise(functions.lit(0.0))
        return CarriedColumn(self.frame, some, f"some of {self.label}")

    def beside(self, source: Source) -> list[Source]:
        """The tables of a source and, as the last one, this column; all of them are read together."""
        self._require_frame(source)
        base = base_of(source)
        wider = base.with_column(self)
        p = base.shape[1]
        tables: list[Source] = []
        for member in source.members:
            if isinstance(member, ColumnsSource):
                tables.append(member.of_other(wider))
            else:
                same = ColumnsSource(wider, range(p))
                same.table, same.vector = member.table, member.vector
                tables.append(same)
        column = ColumnsSource(wider, [p])
        column.table = self.label
        return [*tables, column]

    def _other(self, other: Any) -> Any:
        """The expression of another column of the same data frame."""
        if other.frame is not self.frame:
            raise errors.no_order("columns of two data frames")
        return other.column

    def _require_frame(self, source: Source) -> None:
        """Raise an error if the rows are those of another data frame."""
        if base_of(source).frame is not self.frame:
            raise errors.no_order("columns of two data frames")


def base_of(source: Source) -> Any:
    """The source of the data frame that the rows of all tables of a source are read from."""
    found: dict[int, Any] = {}
    base: Any
    for base in source.members:
        while not hasattr(base, "layout"):
            base = base.parent if isinstance(base, DerivedSource) else base.origin
            if base is None:
                raise errors.no_order("tables that are not columns of a data frame of Spark")
        found[id(base)] = base
    if len(found) > 1:
        raise errors.no_order("two tables")
    return next(iter(found.values()))


# Sums of a column of a data frame of Spark.


def weighted_sum(frame: Any, weights: CarriedColumn | None = None) -> tuple[float, float]:
    """The weighted sum of the entries of the last column, and the sum of the weights, by one job."""
    from pyspark.sql import functions

    w = functions.lit(1.0) if weights is None else weights.column.cast("double")
    entry = functions.col(quoted(frame.columns[-1])).cast("double")
    with in_plain_words():
        total, weight = frame.where(w > 0).agg(functions.sum(w * entry), functions.sum(w)).first()
    return float(total), float(weight)

"""The engine of data frames of Spark: what its executors do with the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import errors
from ..._xp import Array, to_numpy
from ..base import Source
from ..carried import CarriedColumn
from ..engines import FAN_IN, Codec, Engine
from ..recipes import made
from .carried import SparkColumn
from .failures import in_plain_words
from .forms import Form
from .jobs import collected
from .names import quoted
from .sending import RESULT, Summing, merging, recipe_of, result_of

#: The column of the results before they are columns of their own, that of weights, and that of partitions.
_RESULTS, _WEIGHTS, _PARTITION = "lowdim results", "lowdim weights", "lowdim partition"


class SparkEngine(Engine):
    """A session of Spark, classic or by Spark Connect."""

    name = "Spark"
    keeping = "df.cache()"
    ordered = False

    def merged(
        self,
        source: Source,
        task: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        *,
        along: Array | CarriedColumn | None = None,
        least: int = 1,
        codec: Codec | None = None,
        told: Callable[[int], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> Any:
        from pyspark.sql import functions

        assert codec is not None, "results travel as bytes"
        recipe, base = recipe_of(source)
        others = []
        if along is not None:
            if not isinstance(along, SparkColumn):
                raise errors.no_order("entries of an array")
            others.append(along.column.cast("float" if base.layout.narrow else "double").alias(_WEIGHTS))
        n = n_tasks = base.n_tasks
        if told is not None:
            told(n)
        joined = n_tasks < base.n_partitions
        if joined:
            others.append(functions.spark_partition_id().alias(_PARTITION))
        rows = base.selected(base.sent, *others)
        if joined:
            rows = rows.coalesce(n_tasks)
        frame = rows.mapInArrow(Summing(base.sent, recipe, task, codec, along is not None, joined), RESULT)
        join = merging(merge, codec)
        while n > 1:
            bucket = functions.floor(functions.col("part") / FAN_IN).cast("int").alias("bucket")
            frame = frame.select("*", bucket).groupBy("bucket").applyInArrow(join, RESULT)
            n = -(-n // FAN_IN)
        with in_plain_words(base):
            found = sorted(collected(frame, n_tasks, tick), key=lambda row: row["part"])
        # A plan that is not the same each time may have more partitions than were counted.
        results = [result_of(row, codec) for row in found]
        return results[0] if len(results) == 1 else merge(results)

    def mapped(
        self,
        source: Source,
        task: Callable[..., Array],
        like: Array,
        names: Callable[[], Sequence[str]] | None,
        *,
        replaces: bool = False,
    ) -> Any:
        """The data frame with the results as further columns."""
        from pyspark.sql import functions

        recipe, base = recipe_of(source)
        columns = ["result"] if names is None else list(names())
        if len(columns) != (1 if like.ndim == 1 else like.shape[1]):
            # The caller would make an array of several results for each row.
            raise errors.no_array_of_rows()
        kept = base.frame.columns
        there = [name for name in columns if name in kept]
        if there and not (replaces and set(there) <= set(base.layout.columns)):
            raise errors.column_exists(there)
        kind = "float" if like.dtype == np.float32 else "double"
        fields = [f"r{i}" for i in range(len(columns))]
        add = functions.arrow_udf(
            _mapping(base.layout, recipe, task, fields), "struct<" + ",".join(f"{name}:{kind}" for name in fields) + ">"
        )
        given = functions.struct(*base.layout.selection())
        # All columns that are there are kept as they are, whatever their types and names.
        found = base.frame.select("*", add(given).alias(_RESULTS))
        results = functions.col(quoted(_RESULTS))
        added = {name: results[field].alias(name) for name, field in zip(columns, fields, strict=True)}
        if there:
            in_place = [added.pop(name) if name in added else functions.col(quoted(name)) for name in kept]
            return found.select(*in_place, *added.values())
        return found.select("*", *added.values()).drop(_RESULTS)

    def hashed(self, source: Source, k: int, seed: int) -> CarriedColumn:
        return SparkColumn.hashed(source, k, seed)

    def in_turn(self, source: Source, task: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
        raise errors.write_with_spark()


SPARK = SparkEngine()


def _mapping(form: Form, recipe: Any, task: Callable[..., Array], names: list[str]) -> Callable[..., Any]:
    """The function of Arrow arrays that gives the results of a task as structs, one for each row."""
    import pyarrow as pa

    def add(arrays: Any) -> Any:
        return map(partial(_results, form, recipe, task, names), arrays)

    # Spark looks at the annotations, which must not be text.
    add.__annotations__ = {"arrays": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return add


def _results(form: Form, recipe: Any, task: Callable[..., Array], names: list[str], rows: Any) -> Any:
    """The results for a batch of rows."""
    import pyarrow as pa

    if len(rows) == 0:
        return pa.StructArray.from_arrays([pa.array([], pa.float64()) for _ in names], names)
    batch = pa.RecordBatch.from_struct_array(rows)
    found = to_numpy(task(made(recipe, [form.open(iter([batch])), None]), 0, None)).reshape(len(rows), len(names))
    return pa.StructArray.from_arrays([pa.array(np.ascontiguousarray(column)) for column in found.T], names)

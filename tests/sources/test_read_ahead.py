"""Items that a thread makes ahead."""

import gc

from lowdim.sources.read_ahead import read_ahead


class Holder:
    """Something that refers to itself."""

    def __init__(self, reader):
        self.me, self.reader = self, reader


def items(closed):
    try:
        yield from range(10)
    finally:
        closed.append(True)


def test_a_reader_that_nobody_closes_ends_when_it_is_collected_as_garbage():
    """As that of a pass whose error is kept with its traceback."""
    closed = []
    holder = Holder(read_ahead(items(closed)))
    assert next(holder.reader) == 0
    del holder
    gc.collect()
    assert closed == [True]


def test_a_reader_that_is_closed_closes_what_it_reads():
    closed = []
    reader = read_ahead(items(closed))
    assert next(reader) == 0
    reader.close()
    assert closed == [True]

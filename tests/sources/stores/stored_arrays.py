"""An array, the ways to write it to files of each kind, and its rows read from them."""

import h5py
import numpy as np
import zarr

from lowdim import scan

RNG = np.random.default_rng(3)
#: No chunk of zeros in any dtype: Zarr would not store it.
X = 5 * RNG.standard_normal((37, 6)) + 30


def write_npy(path, X):
    np.save(path, X)


def write_fortran(path, X):
    np.save(path, np.asfortranarray(X))


def write_zarr(path, X, name=None):
    if name is None:
        array = zarr.create_array(path, shape=X.shape, chunks=(5, 4), dtype=X.dtype)
    else:
        array = zarr.open_group(path, mode="a").create_array(name, shape=X.shape, chunks=(5, 4), dtype=X.dtype)
    array[:] = X


def write_shards(path, X):
    array = zarr.create_array(path, shape=X.shape, chunks=(5, 3), shards=(10, 6), dtype=X.dtype)
    array[:] = X


def write_old_zarr(path, X):
    array = zarr.create_array(path, shape=X.shape, chunks=(8, 6), dtype=X.dtype, zarr_format=2)
    array[:] = X


def write_zip(path, X):
    with zarr.storage.ZipStore(path, mode="w") as store:
        array = zarr.create_array(store, shape=X.shape, chunks=(5, 4), dtype=X.dtype)
        array[:] = X


def write_hdf5(path, X, name="data", **options):
    with h5py.File(path, "a") as file:
        file.create_dataset(name, data=X, **options)


def write_chunked_hdf5(path, X):
    write_hdf5(path, X, chunks=(min(7, len(X)), 4), compression="gzip")


#: How files of each kind are written, and what their names end with.
KINDS = {
    "npy": (write_npy, ".npy"),
    "npy in Fortran order": (write_fortran, ".npy"),
    "zarr": (write_zarr, ".zarr"),
    "zarr with shards": (write_shards, ".zarr"),
    "zarr, format 2": (write_old_zarr, ".zarr"),
    "zarr in a zip file": (write_zip, ".zarr.zip"),
    "hdf5": (write_hdf5, ".h5"),
    "hdf5 in chunks": (write_chunked_hdf5, ".hdf5"),
}


def opened(*paths, **choice):
    return scan(list(paths), **choice).open()


def rows_of(source, rows=1000):
    return np.concatenate(list(source.blocks(rows)))

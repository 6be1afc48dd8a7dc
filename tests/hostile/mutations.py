"""Ways to damage or to forge a file.

A mutation takes a random generator and the contents of two files, and returns the content of another file. `DAMAGE`
changes bytes as accidents do, or replaces the file. `FORGERY` changes what the file says and makes the checksum right
again, so that only the checks behind it are left.
"""

import copy
import io
import os
import pickle
import struct
import tempfile
from pathlib import Path

import numpy as np

from hostile.forge import BEGIN, DIGITS, dumped, forged, parsed, signed, split

# ---- Damage


def bits_flipped(random, content, other):
    wrong = bytearray(content)
    for bit in random.integers(0, 8 * len(content), random.integers(1, 9)):
        wrong[bit // 8] ^= 1 << bit % 8
    return bytes(wrong)


def bytes_overwritten(random, content, other):
    start, length = int(random.integers(0, len(content))), int(random.integers(1, 64))
    noise = random.bytes(length) if random.random() < 0.5 else bytes(length)
    return (content[:start] + noise + content[start + length :])[: len(content)]


def cut_off(random, content, other):
    return content[: int(random.integers(0, len(content)))]


def bytes_added(random, content, other):
    start, length = int(random.integers(0, len(content) + 1)), int(random.integers(1, 200))
    return content[:start] + random.bytes(length) + content[start:]


def bytes_removed(random, content, other):
    start, length = int(random.integers(0, len(content))), int(random.integers(1, 64))
    return content[:start] + content[start + length :]


def pieces_exchanged(random, content, other):
    i, j = sorted(int(i) for i in random.integers(0, len(content), 2))
    return content[j:] + content[i:j] + content[:i]


def the_end_of_another(random, content, other):
    # Behind the checksum: otherwise all of it could be the other file, which is whole.
    i = int(random.integers(8 + DIGITS.stop, len(content)))
    return content[:i] + other[i:]


def another_length_of_the_header(random, content, other):
    length = struct.unpack("<Q", content[:8])[0]
    small = length + int(random.integers(-20, 20))
    lengths = [0, 1, small, len(content) - 8, len(content), 10**8, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1]
    return struct.pack("<Q", lengths[random.integers(len(lengths))]) + content[8:]


class Trap:
    """When it is unpickled, it makes a directory."""

    def __reduce__(self):
        return os.mkdir, (str(sprung()),)


def sprung():
    """The directory that is made when a pickle is opened."""
    return Path(tempfile.gettempdir()) / f"a-pickle-was-opened-{os.getpid()}"


def a_pickle(random, content, other):
    stream = io.BytesIO()
    kind = random.integers(4)
    if kind == 0:
        return pickle.dumps(Trap(), protocol=int(random.integers(0, 6)))
    if kind == 1:
        np.savez(stream, state=np.array([Trap()], dtype=object))
        return stream.getvalue()
    if kind == 2:
        np.save(stream, np.array([Trap()], dtype=object), allow_pickle=True)
        return stream.getvalue()
    return content[:8] + pickle.dumps(Trap()) + content[8:]


def text_or_nothing(random, content, other):
    return [b"", b"\n", b"{}", b"[" * 100_000, b"a,b\n1,2\n" * 50, bytes(5000), struct.pack("<Q", 2) + b"{}"][
        random.integers(7)
    ]


# ---- Forgery


def data_changed(random, content, other):
    text, data = split(content)
    return signed(text, bits_flipped(random, data, other) if data else data)


def data_of_extreme_numbers(random, content, other):
    text, data = split(content)
    numbers = np.frombuffer(data[: len(data) // 8 * 8], dtype="<f8").copy()
    if numbers.size:
        extremes = [np.nan, np.inf, -np.inf, -0.0, 5e-324, 1e308, -1e308, 1e-300, -1.0]
        numbers[random.integers(0, numbers.size, 3)] = extremes[random.integers(len(extremes))]
    return signed(text, numbers.tobytes() + data[numbers.nbytes :])


def text_of_the_header_changed(random, content, other):
    text, data = split(content)
    kinds = (bits_flipped, bytes_overwritten, bytes_added, bytes_removed)
    rest = kinds[random.integers(len(kinds))](random, text[len(BEGIN) + 64 :], other)
    return signed(text[: len(BEGIN) + 64] + rest, data)


def one_array(random, header):
    """The name of an array in a header, or None if there is none."""
    names = [name for name in header if name != "__metadata__"]
    return names[random.integers(len(names))] if names else None


def shapes_lied_about(random, content, other):
    header, document, data = parsed(content)
    name = one_array(random, header)
    if name is not None:
        entry = header[name]
        shape, size = entry["shape"], int(np.prod(entry["shape"], dtype=int))
        shapes = [shape[::-1], [size], [1, *shape], [*shape, 1], [size + 1], [2**40, 2**40], [-1, -size], [2**63], [0]]
        shapes += [
            [1] * 70,
            [1] * 33,
            [size, 0],
            shape[:-1],
            ["3"],
            [3.0],
            [None],
            3,
            [shape],
            [2**31, 2**33],
            [[]] * 3,
        ]
        entry["shape"] = shapes[random.integers(len(shapes))]
        if random.random() < 0.5 and all(type(n) is int for n in np.atleast_1d(entry["shape"]).tolist()):
            # The place in the file follows the lie.
            begin = entry["data_offsets"][0]
            entry["data_offsets"] = [begin, begin + 8 * int(np.prod(np.array(entry["shape"], dtype=object)))]
    return forged(header, document, data)


def dtypes_lied_about(random, content, other):
    header, document, data = parsed(content)
    name = one_array(random, header)
    if name is not None:
        dtypes = [
            "F64",
            "I64",
            "U64",
            "F32",
            "I32",
            "BOOL",
            "U8",
            "F16",
            "BF16",
            "O",
            "F8_E4M3",
            "",
            None,
            8,
            ["F64"],
            {},
        ]
        header[name]["dtype"] = dtypes[random.integers(len(dtypes))]
    return forged(header, document, data)


def places_lied_about(random, content, other):
    header, document, data = parsed(content)
    name = one_array(random, header)
    if name is not None:
        begin, end = header[name]["data_offsets"]
        places = [
            [begin + 8, end + 8],
            [end, begin],
            [0, end],
            [begin, 2**62],
            [-8, end - begin - 8],
            [begin],
            [],
            None,
        ]
        places += [[begin, end, end], [float(begin), float(end)], [str(begin), str(end)], [begin, 2**64], [True, end]]
        header[name]["data_offsets"] = places[random.integers(len(places))]
    return forged(header, document, data)


def arrays_renamed(random, content, other):
    header, document, data = parsed(content)
    first, second = one_array(random, header), one_array(random, header)
    if first is not None:
        kind = random.integers(4)
        if kind == 0:
            header[first], header[second] = header[second], header[first]
        elif kind == 1:
            del header[first]
        elif kind == 2:
            header = {"new" if name == first else name: entry for name, entry in header.items()}
        else:
            header["copy"] = header[first]
    return forged(header, document, data)


def keys_twice(random, content, other):
    header, document, data = parsed(content)
    text = dumped(document)
    places = [i for i, character in enumerate(text) if character == "{"]
    if random.random() < 0.3:
        whole = dumped(header | {"__metadata__": header["__metadata__"] | {"document": text}})
        name = one_array(random, header) or "__metadata__"
        return signed(f'{whole[:-1]},"{name}":{dumped(header[name])}}}'.encode(), data)
    i = places[random.integers(len(places))] + 1
    key = text[i:].split('"')[1] if text[i] == '"' else "a"
    return forged(header, f'{text[:i]}"{key}":1,{text[i:]}' if text[i] != "}" else text, data)


def deep_or_wide_values(random, content, other):
    header, document, data = parsed(content)
    n = int(10 ** random.uniform(1, 5))
    texts = ["[" * n + "]" * n, '{"a":' * n + "1" + "}" * n, "[" + "[]," * n + "0]", "[" + "{}," * n + "0]", "9" * n]
    texts += ["[" * n, '"' + "x" * n + '"', "1e" + "9" * n, "-" * n, '{"$tuple":[' * n + "]}" * n, "NaN", "Infinity"]
    value, text = texts[random.integers(len(texts))], dumped(document)
    if random.random() < 0.3:
        whole = dumped(header | {"__metadata__": header["__metadata__"] | {"document": text}})
        return signed(f'{whole[:-1]},"more":{value}}}'.encode(), data)
    place = text.index(":") + 1
    end = text.index(",", place)
    return forged(header, text[:place] + value + text[end:], data)


def values():
    """What a value of a document can be replaced by."""
    numbers = [0, 1, -1, 2, 7, 10**6, 2**31, 2**53 + 1, 2**63, 10**18, 10**30, -(10**18), 0.5, 1e308, -1e-300, 4.0, 1e6]
    special = [{"$float": "nan"}, {"$float": "inf"}, {"$float": "x"}, {"$array": "state.mean"}, {"$array": "x"}]
    special += [{"$scalar": "state.mean"}, {"$tuple": [1, 2]}, {"$tuple": [10**12]}, {"$csr": [], "shape": [10**12, 2]}]
    special += [
        {"$text": ["a"], "shape": [1], "dtype": "U100000000"},
        {"$dict": [["$a", 1]]},
        {"$x": 1},
        {"class": "PCA"},
    ]
    special += [{"class": "Moments", "state": {}}, {"$text": [], "shape": [0, 2**62], "dtype": "O"}]
    text = ["", "x", "Moments", "PCA", "student", "Student(nu=-1)", "__class__", "os.system", "ä\ud800", "x" * 1000]
    return [None, True, False, [], {}, [[]], [1, 2], [None], *numbers, *special, *text]


def places_of_values(node, place=()):
    """The places of all values below a node, the node itself excluded."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        yield (*place, key)
        yield from places_of_values(item, (*place, key))


def values_replaced(random, content, other):
    header, document, data = parsed(content)
    for _ in range(random.integers(1, 4)):
        places = list(places_of_values(document))
        *way, last = places[random.integers(len(places))]
        node = document
        for key in way:
            node = node[key]
        kind = random.random()
        if kind < 0.6:
            node[last] = copy.deepcopy(values()[random.integers(len(values()))])
        elif kind < 0.7:
            node[last] = {["$array", "$scalar"][random.integers(2)]: one_array(random, header)}
        elif kind < 0.8:
            del node[last]
        elif isinstance(node, list):
            node.append(copy.deepcopy(node[last]))
        elif kind < 0.9:
            node[f"{last}_"] = node.pop(last)
        else:
            node["another"] = copy.deepcopy(node[last])
    return forged(header, document, data)


def another_class(random, content, other):
    """The name of the class of another file, or its whole document, with these arrays."""
    header, document, data = parsed(content)
    _, theirs, _ = parsed(other)
    kind = random.integers(3)
    if kind == 0:
        document["class"] = theirs["class"]
    elif kind == 1:
        document = theirs
    else:
        document |= {"class": theirs["class"], "holds": theirs["holds"]}
        document |= {key: value for key, value in theirs.items() if random.random() < 0.5}
    return forged(header, document, data)


def versions(random, content, other):
    header, document, data = parsed(content)
    texts = ["2.0", "1.1", "1.999999", "0.1", "99999999.0", "1", "", "1.0\n", None, 1, [1, 0], "-1.0", "\u0661.\u0660"]
    document[["version", "format", "lowdim"][random.integers(3)]] = texts[random.integers(len(texts))]
    return forged(header, document, data)


def halves_of_two_files(random, content, other):
    _, document, data = parsed(content)
    other_header, _, other_data = parsed(other)
    return forged(other_header, document, other_data if random.random() < 0.8 else data)


DAMAGE = {
    function.__name__: function
    for function in (
        bits_flipped,
        bytes_overwritten,
        cut_off,
        bytes_added,
        bytes_removed,
        pieces_exchanged,
        the_end_of_another,
        another_length_of_the_header,
        a_pickle,
        text_or_nothing,
    )
}
FORGERY = {
    function.__name__: function
    for function in (
        data_changed,
        data_of_extreme_numbers,
        text_of_the_header_changed,
        shapes_lied_about,
        dtypes_lied_about,
        places_lied_about,
        arrays_renamed,
        keys_twice,
        deep_or_wide_values,
        values_replaced,
        another_class,
        versions,
        halves_of_two_files,
    )
}

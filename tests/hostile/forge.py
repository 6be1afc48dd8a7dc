"""The parts of a file in lowdim's container, and files put together from such parts with the right checksum.

This follows docs/file_format.md and not the code of lowdim, so that it is a second account of the format.
"""

import hashlib
import json
import struct

BEGIN = b'{"__metadata__":{"sha256":"'
DIGITS = slice(len(BEGIN), len(BEGIN) + 64)


def split(content):
    """The text of the header of a file, and the bytes behind it."""
    length = struct.unpack("<Q", content[:8])[0]
    return content[8 : 8 + length], content[8 + length :]


def parsed(content):
    """The header of a file as a dict, the document in it, and the bytes behind the header."""
    text, data = split(content)
    header = json.loads(text)
    return header, json.loads(header["__metadata__"]["document"]), data


def signed(text, data):
    """A file of this header, which begins as all do, with the length and the checksum that belong to it."""
    text = text[: DIGITS.start] + b"0" * 64 + text[DIGITS.stop :]
    length = struct.pack("<Q", len(text))
    checksum = hashlib.sha256(length + text + data).hexdigest().encode()
    return length + text[: DIGITS.start] + checksum + text[DIGITS.stop :] + data


def forged(header, document, data):
    """A file of this header and document, given as dicts, or the document as a text."""
    text = document if isinstance(document, str) else dumped(document)
    header = header | {"__metadata__": header["__metadata__"] | {"document": text}}
    return signed(dumped(header).encode(), data)


def dumped(value):
    return json.dumps(value, separators=(",", ":"))

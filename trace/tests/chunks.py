"""Reads the chunks of a trace as docs/trace-format.md describes them, independently of acre-trace."""

import ctypes
import struct
import zlib

HEADER = struct.Struct("<8sII16sQII12sI")
CHUNK = struct.Struct("<IHHIIIIIIQQQII")
FIELDS = ("magic", "type", "flags", "stored_bytes", "raw_bytes", "payload_crc32", "process", "lane", "block",
          "first_ticks", "last_ticks", "seen", "events", "crc32")
EVENTS, PROCESS_START, THREAD, PROCESS_END, CLOCK, MEMORY, MAPPINGS, INDEX, STACKS = range(1, 10)
TRAILER = struct.Struct("<QIIQ")
NONE = 0xffffffff


def decompress(data, size):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    to = ctypes.create_string_buffer(max(size, 1))
    got = zstd.ZSTD_decompress(to, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    if got != size:
        raise ValueError("a frame of zstd cannot be decompressed")
    return to.raw[:size]


def chunks(path):
    """Each as a dictionary of its header, with its payload. May raise ValueError."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, header_bytes, *_, crc = HEADER.unpack_from(data)
    if magic != b"\x89ACRE\r\n\x1a" or version not in (1, 2, 3) or zlib.crc32(data[:60]) != crc:
        raise ValueError("the file's header is wrong")
    at, found = header_bytes, []
    while at + CHUNK.size <= len(data):
        chunk = dict(zip(FIELDS, CHUNK.unpack_from(data, at)))
        if chunk["magic"] != 0x4b484341 or zlib.crc32(data[at:at + 60]) != chunk["crc32"]:
            raise ValueError(f"the chunk at {at} has a wrong header")
        stored = data[at + CHUNK.size:at + CHUNK.size + chunk["stored_bytes"]]
        if zlib.crc32(stored) != chunk["payload_crc32"]:
            raise ValueError(f"the chunk at {at} has a wrong payload")
        chunk["payload"] = decompress(stored, chunk["raw_bytes"]) if chunk["flags"] & 1 else stored
        chunk["offset"] = at
        found.append(chunk)
        at += CHUNK.size + len(stored)
    if found and found[-1]["type"] == INDEX:
        offset, _, crc, magic = TRAILER.unpack_from(data, at)
        if offset != found[-1]["offset"] or magic != 0x31444e4545524341 or zlib.crc32(data[at:at + 12]) != crc:
            raise ValueError("the trailer is wrong")
        entries = [found[-1]["payload"][i:i + 72] for i in range(0, found[-1]["raw_bytes"], 72)]
        if [struct.unpack_from("<Q", entry)[0] for entry in entries] != [chunk["offset"] for chunk in found[:-1]]:
            raise ValueError("the index is wrong")
        at += TRAILER.size
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes at the end belong to no chunk")
    return found

"""What a shared object needs."""
import re
import struct

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NULL, DT_NEEDED, DT_STRTAB, DT_SONAME = 0, 1, 5, 14
OLDEST_GLIBC = 17  # of manylinux
# Libraries that every host of a manylinux wheel has.
SYSTEM = re.compile(
    r"(libc|libm|libmvec|libpthread|libdl|librt|libutil|libresolv|libgcc_s|libstdc\+\+|libz"
    r"|libexpat|libX11|libGL)\.so|ld-linux"
)


def read_elf(path):
    """(soname, [needed], highest glibc minor) of a 64-bit little-endian shared object, or None."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:6] != b"\x7fELF\x02\x01":
        return None
    (table,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQQQ", data, table + i * size) for i in range(count)]
    dynamic = next((s for s in segments if s[0] == PT_DYNAMIC), None)
    if not dynamic:
        return None
    tags, offset = [], dynamic[2]
    while True:
        tag, value = struct.unpack_from("<qQ", data, offset)
        if tag == DT_NULL:
            break
        tags.append((tag, value))
        offset += 16
    address = next(v for t, v in tags if t == DT_STRTAB)
    strings = next(
        s[2] + address - s[3] for s in segments if s[0] == PT_LOAD and s[3] <= address < s[3] + s[6]
    )

    def text(value):
        return data[strings + value : data.index(b"\0", strings + value)].decode()

    glibc = [int(x) for x in re.findall(rb"GLIBC_2\.(\d+)", data)]
    soname = next((text(v) for t, v in tags if t == DT_SONAME), None)
    return soname, [text(v) for t, v in tags if t == DT_NEEDED], max(glibc, default=OLDEST_GLIBC)

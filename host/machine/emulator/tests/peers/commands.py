# Run by nbdsh: every command and every flag of the protocol that libnbd knows, and what must come of it.
import errno

h.set_export_name("data")
h.add_meta_context("base:allocation")
h.set_strict_mode(0)
# A URI may name the file of keys.
h.set_uri_allow_local_file(True)
h.connect_uri(uri)

assert h.get_protocol() == "newstyle-fixed" and h.get_structured_replies_negotiated()
assert h.get_size() == 128 << 20
assert not h.is_read_only() and not h.is_rotational()
assert h.can_flush() and h.can_fua() and h.can_trim() and h.can_zero() and h.can_fast_zero()
assert h.can_df() and h.can_cache() and h.can_multi_conn() and h.can_meta_context("base:allocation")
assert [h.get_block_size(n) for n in (nbd.SIZE_MINIMUM, nbd.SIZE_PREFERRED, nbd.SIZE_MAXIMUM)] == [512, 4096, 1 << 25]


def fails(number, call, *arguments):
    try:
        call(*arguments)
    except nbd.Error as error:
        assert error.errnum == number, error
        return
    assert False, "it did not fail"


def extents(offset, length, flags=0):
    found = []

    def keep(context, at, entries, error):
        assert context == "base:allocation" and at == offset
        found.extend(zip(entries[::2], entries[1::2]))

    h.block_status(length, offset, keep, flags)
    return found


data = bytearray(range(256)) * 16
h.pwrite(data, 4096)
assert h.pread(4096, 4096) == data
h.pwrite(data, 65536 - 512, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 65536 - 512) == data
assert h.pread(4096, 4096, nbd.CMD_FLAG_DF) == data

chunks = []
h.pread_structured(8192, 0, lambda part, offset, status, error: chunks.append((offset, len(part), status)))
assert chunks == [(0, 8192, nbd.READ_DATA)], chunks

h.flush()
h.cache(1 << 20, 0)
assert extents(0, 1 << 20)[:3] == [(4096, 3), (4096, 0), (65536 - 12288, 3)]
assert extents(0, 1 << 20, nbd.CMD_FLAG_REQ_ONE) == [(4096, 3)]

h.zero(4096, 4096)
assert h.pread(4096, 4096) == bytearray(4096)
assert extents(0, 65536 - 4096) == [(65536 - 4096, 3)]
h.zero(4096, 4096, nbd.CMD_FLAG_NO_HOLE)
assert extents(4096, 4096) == [(4096, 0)] and h.pread(4096, 4096) == bytearray(4096)
h.zero(4096, 4096, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_FUA)
assert extents(4096, 4096) == [(4096, 3)]
fails(errno.ENOTSUP, h.zero, 4096, 4096, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)

h.trim(1 << 20, 0)
h.trim(4096, 65536, nbd.CMD_FLAG_FUA)
assert h.pread(4096, 65536) == bytearray(4096)

fails(errno.EINVAL, h.pread, 512, 128 << 20)
fails(errno.ENOSPC, h.pwrite, bytearray(512), 128 << 20)
fails(errno.ENOSPC, h.zero, 512, 128 << 20)
fails(errno.EINVAL, h.trim, 512, 128 << 20)
fails(errno.EINVAL, h.pread, 512, 100)
fails(errno.EINVAL, h.pread, 100, 0)
fails(errno.EINVAL, h.pwrite, bytearray(512), 0, nbd.CMD_FLAG_NO_HOLE)
fails(errno.EINVAL, h.cache, 512, 0, nbd.CMD_FLAG_DF)

cookies = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray([n]) * 4096), n * 4096) for n in range(64)]
for cookie in cookies:
    while not h.aio_command_completed(cookie):
        h.poll(-1)
for n in range(64):
    assert h.pread(4096, n * 4096) == bytearray([n]) * 4096

# A flush on one connection covers what others wrote, and all see the same.
other = nbd.NBD()
other.set_uri_allow_local_file(True)
other.connect_uri(uri)
h.pwrite(data, 1 << 20)
other.flush()
assert other.pread(4096, 1 << 20) == data
other.shutdown()
h.shutdown()
print("every command and flag")

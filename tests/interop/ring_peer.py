"""A rank of a mixed ring, in MLX: the work of ring_peer.cpp, in the same order."""

import sys
from pathlib import Path

import mlx.core as mx
import numpy as np

DTYPES = {
    "float32": mx.float32,
    "float16": mx.float16,
    "bfloat16": mx.bfloat16,
    "int32": mx.int32,
    "uint8": mx.uint8,
    "bool": mx.bool_,
    "complex64": mx.complex64,
}


def values(name, rank, count):
    whole = (np.arange(count, dtype=np.int64) * 7 + rank * 13 + 3) % 251
    part = (whole / 8).astype(np.float32)
    if name in ("float32", "float16", "bfloat16"):
        return mx.array(part).astype(DTYPES[name])
    if name == "complex64":
        return mx.array((part + 1j * (whole % 5)).astype(np.complex64))
    if name == "bool":
        return mx.array(whole % 2 == 1)
    return mx.array(whole.astype(name))


def main():
    folder = Path(sys.argv[1])
    counts = [int(each) for each in sys.argv[2:]]
    group = mx.distributed.init(strict=True, backend="ring")
    rank, size = group.rank(), group.size()

    def keep(name, array):
        mx.eval(array)
        # Views go by bytes: NumPy has no bfloat16.
        (folder / name).write_bytes(np.array(array.view(mx.uint8)).tobytes() if array.size else b"")

    for dtype in DTYPES:
        for count in counts:
            name = f"{dtype}-{count}-"
            mine = values(dtype, rank, count)
            mx.eval(mine)
            keep(name + "sum", mx.distributed.all_sum(mine, group=group))
            keep(name + "max", mx.distributed.all_max(mine, group=group))
            keep(name + "min", mx.distributed.all_min(mine, group=group))
            keep(name + "gather", mx.distributed.all_gather(mine, group=group))
            if rank % 2 == 0:
                mx.eval(mx.distributed.send(mine, (rank + 1) % size, group=group))
            keep(name + "recv", mx.distributed.recv_like(mine, (rank - 1) % size, group=group))
            if rank % 2 == 1:
                mx.eval(mx.distributed.send(mine, (rank + 1) % size, group=group))


main()

"""MLX's ring, measured as `rondo bench` measures. MLX_RANK and MLX_HOSTFILE tell the rank its place."""

import mlx.core as mx

import sampling


def main():
    effort = sampling.options()
    group = mx.distributed.init(strict=True, backend="ring")
    rank, ranks = group.rank(), group.size()

    def slowest(times):
        # Microseconds in float32 keep seven digits.
        return [
            time / 1e6
            for time in mx.distributed.all_max(mx.array([time * 1e6 for time in times]), group=group).tolist()
        ]

    def values(of_rank, count):
        return (of_rank * 4096 + mx.arange(count) % 4093).astype(mx.float32)

    def all_reduce(size):
        count = sampling.count_of(size, 1)
        expected = sum(values(each, count) for each in range(ranks))
        return mx.distributed.all_sum, count, count * 4, expected

    def all_gather(size):
        count = sampling.count_of(size, ranks)
        expected = mx.concatenate([values(each, count) for each in range(ranks)])
        return mx.distributed.all_gather, count, count * ranks * 4, expected

    tests = {"all_reduce": all_reduce, "all_gather": all_gather}
    for test in effort.tests:
        for size in effort.sizes:
            verb, count, moved, expected = tests[test](size)
            mine = values(rank, count)
            mx.eval(mine, expected)
            timing = sampling.measure(lambda: mx.eval(verb(mine, group=group)), slowest, effort)
            wrong = mx.distributed.all_sum((verb(mine, group=group) != expected).sum(), group=group).item()
            if rank == 0:
                sampling.print_row(test, moved, timing, wrong)


if __name__ == "__main__":
    main()

"""np.add of two vectors into a third, in one process: what adding alone costs."""

import numpy as np

import sampling


def main():
    effort = sampling.options()
    for size in effort.sizes:
        count = sampling.count_of(size, 1)
        left = (np.arange(count) % 4093).astype(np.float32)
        right = left + np.float32(4096)
        out = np.zeros(count, np.float32)
        timing = sampling.measure(lambda: np.add(left, right, out=out), lambda times: times, effort)
        out.fill(-1)
        np.add(left, right, out=out)
        expected = 2 * (np.arange(count) % 4093) + 4096
        sampling.print_row("all_reduce", count * 4, timing, int((out != expected).sum()))


if __name__ == "__main__":
    main()

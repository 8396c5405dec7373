"""tables_test.py: what scripts/compare-peers makes of its rounds, and its options. No peer is needed."""

import contextlib
import io
import sys
import unittest

import compare
import contestants
import tables

NAMES = ["rondo", "openmpi", "mpich", "numpy"]


def row(size, median_us, test="all_reduce", wrong=0, note=""):
    return {
        "test": test,
        "size": size,
        "min_us": median_us / 2,
        "median_us": median_us,
        "p99_us": median_us * 3,
        "samples": 7,
        "batch": 2,
        "wrong": wrong,
        "note": note,
    }


def a_round(turns, trips=(55.0, 60.0), transport="shm", ranks=2):
    return {"ranks": ranks, "transport": transport, "trips_ns": list(trips), "turns": turns}


def only_line(rounds):
    [table] = tables.tables_of(rounds, NAMES)
    [line] = table["lines"]
    return line


class Medians(unittest.TestCase):
    def test_a_figure_is_the_median_of_the_rounds(self):
        line = only_line(
            [a_round({"rondo": [row(4, us)], "openmpi": [row(4, 2 * us + 1)]}) for us in (9.0, 1.0, 3.0)]
        )
        self.assertEqual(line["figures"]["rondo"]["median_us"], 3.0)
        self.assertEqual(line["figures"]["rondo"]["min_us"], 1.5)
        self.assertEqual(line["figures"]["rondo"]["p99_us"], 9.0)
        self.assertEqual(line["figures"]["openmpi"]["median_us"], 7.0)
        self.assertEqual(line["ratio"], 3.0 / 7.0)

    def test_an_even_number_of_rounds_takes_the_middle(self):
        line = only_line([a_round({"rondo": [row(4, us)]}) for us in (8.0, 1.0, 2.0, 4.0)])
        self.assertEqual(line["figures"]["rondo"]["median_us"], 3.0)

    def test_bus_bandwidth(self):
        for test, ranks, expected in (
            ("all_reduce", 2, 1.0),
            ("all_reduce", 4, 1.5),
            ("all_gather", 4, 0.75),
            ("all_to_all", 2, 0.5),
            ("reduce_scatter", 4, 0.75),
            ("broadcast", 4, 1.0),
            ("sendrecv", 4, 1.0),
        ):
            line = only_line([a_round({"rondo": [row(5_000_000, 5000.0, test)]}, ranks=ranks)])
            self.assertAlmostEqual(line["figures"]["rondo"]["busbw_GBps"], expected, msg=(test, ranks))


class Ratios(unittest.TestCase):
    def test_the_best_peer_counts(self):
        line = only_line([a_round({"rondo": [row(4, 3.0)], "openmpi": [row(4, 6.0)], "mpich": [row(4, 4.0)]})])
        self.assertEqual((line["best"], line["ratio"]), ("mpich", 0.75))

    def test_a_reference_is_no_peer(self):
        line = only_line([a_round({"rondo": [row(4, 3.0)], "openmpi": [row(4, 6.0)], "numpy": [row(4, 0.5)]})])
        self.assertEqual((line["best"], line["ratio"]), ("openmpi", 0.5))

    def test_wrong_results_win_nothing(self):
        line = only_line(
            [a_round({"rondo": [row(4, 3.0)], "openmpi": [row(4, 6.0)], "mpich": [row(4, 1.0, wrong=2)]})]
        )
        self.assertEqual((line["best"], line["ratio"]), ("openmpi", 0.5))
        line = only_line([a_round({"rondo": [row(4, 3.0, wrong=1)], "openmpi": [row(4, 6.0)]})])
        self.assertIs(line["met"], False)


class Missing(unittest.TestCase):
    def test_a_contestant_that_never_came(self):
        [table] = tables.tables_of([a_round({"rondo": [row(4, 3.0)], "openmpi": [row(4, 6.0)]})], NAMES)
        self.assertEqual(table["contestants"], ["rondo", "openmpi"])

    def test_no_peer_at_all(self):
        line = only_line([a_round({"rondo": [row(4, 3.0)]})])
        self.assertEqual((line["best"], line["ratio"], line["met"], line["target"]), (None, None, None, 0.75))

    def test_no_rondo(self):
        line = only_line([a_round({"openmpi": [row(4, 3.0)]})])
        self.assertEqual((line["best"], line["ratio"], line["met"]), ("openmpi", None, None))

    def test_a_row_that_is_missing_is_a_gap(self):
        rounds = [a_round({"rondo": [row(4, 3.0), row(16, 5.0)], "openmpi": [row(4, 6.0)]})]
        [table] = tables.tables_of(rounds, NAMES)
        self.assertEqual([line["ratio"] for line in table["lines"]], [0.5, None])
        self.assertEqual(
            tables.text_of(table)[3].split(), ["16", "5.000", "0.00", "-", "-", "-", "-", "<=", "0.75", "-"]
        )

    def test_missed_rounds_are_told(self):
        rounds = [a_round({"rondo": [row(4, 3.0)], "openmpi": [row(4, 6.0)]}), a_round({"rondo": [row(4, 4.0)]})]
        [table] = tables.tables_of(rounds, NAMES)
        self.assertEqual(tables.notes_of(table), ["openmpi: fewer than 2 rounds at 4 (1)"])

    def test_nothing_at_all(self):
        self.assertEqual(tables.tables_of([], NAMES), [])
        self.assertEqual(tables.tables_of([a_round({})], NAMES), [])


class Targets(unittest.TestCase):
    def judged(self, ours, best, size, trips=(55.0, 60.0), **where):
        test = where.pop("test", "all_reduce")
        line = only_line(
            [a_round({"rondo": [row(size, ours, test)], "openmpi": [row(size, best, test)]}, trips, **where)]
        )
        return line["met"]

    def test_at_the_target_is_met_and_above_is_missed(self):
        self.assertIs(self.judged(0.75, 1.0, 4), True)
        self.assertIs(self.judged(0.76, 1.0, 4), False)
        self.assertIs(self.judged(1.0, 2.5, 1 << 20), True)
        self.assertIs(self.judged(1.01, 2.5, 1 << 20), False)

    def test_far_cores_need_be_level(self):
        self.assertIs(self.judged(0.99, 1.0, 4, trips=(55.0, 180.0)), True)
        self.assertIs(self.judged(1.01, 1.0, 4, trips=(55.0, 180.0)), False)

    def test_an_unknown_distance_is_held_to_the_target(self):
        self.assertIs(self.judged(0.99, 1.0, 4, trips=(None, None)), False)

    def test_a_round_that_was_interrupted_has_one_trip(self):
        self.assertIs(self.judged(0.76, 1.0, 4, trips=(55.0, None)), False)
        self.assertIs(self.judged(0.76, 1.0, 4, trips=(155.0, None)), True)

    def test_ahead_is_not_level(self):
        self.assertIs(self.judged(1.0, 1.0, 64, test="sendrecv"), False)
        self.assertIs(self.judged(0.99, 1.0, 64, test="sendrecv"), True)

    def test_ranks_and_transport_have_their_own(self):
        self.assertIs(self.judged(0.99, 1.0, 4, ranks=4), True)
        self.assertIs(self.judged(0.79, 1.0, 4, transport="tcp"), True)
        self.assertIs(self.judged(0.81, 1.0, 4, transport="tcp"), False)
        self.assertIsNone(self.judged(0.1, 1.0, 4, test="broadcast"))
        self.assertIsNone(self.judged(0.1, 1.0, 65536))

    def test_targets_do_not_overlap(self):
        for index, (transport, ranks, tests, least, most, _) in enumerate(tables.TARGETS):
            self.assertLessEqual(least, most)
            for other in tables.TARGETS[:index]:
                if other[:2] == (transport, ranks) and set(other[2]) & set(tests):
                    self.assertTrue(other[4] < least or most < other[3], (other, least, most))


class Text(unittest.TestCase):
    def test_near_and_far_rounds_are_tables_of_their_own(self):
        rounds = [
            a_round({"rondo": [row(4, us)], "openmpi": [row(4, 4.0)]}, trips)
            for us, trips in ((1.0, (50.0, 60.0)), (8.0, (50.0, 230.0)), (3.0, (70.0, 80.0)))
        ]
        near, far = tables.tables_of(rounds, NAMES)
        self.assertEqual(tables.text_of(near)[0], "all_reduce, shm, 2 ranks, 2 rounds, cores near (trip 50 to 80 ns)")
        self.assertEqual(tables.text_of(far)[0], "all_reduce, shm, 2 ranks, 1 rounds, cores far (trip 50 to 230 ns)")
        self.assertEqual(near["lines"][0]["figures"]["rondo"]["median_us"], 2.0)
        self.assertEqual(far["lines"][0]["figures"]["rondo"]["median_us"], 8.0)

    def test_a_line(self):
        turns = {
            "rondo": [row(16 << 10, 12.3456)],
            "openmpi": [row(16 << 10, 24.6912, note="ring")],
            "numpy": [row(16 << 10, 0.5)],
        }
        [table] = tables.tables_of([a_round(turns)], NAMES)
        heads, line = tables.text_of(table)[1:]
        self.assertEqual(
            line.split(),
            ["16K", "12.35", "1.33", "24.69", "0.66", "0.500", "openmpi", "0.50", "<=", "0.40", "missed"],
        )
        self.assertEqual(len(heads.split("  ")[0]), 4)
        self.assertEqual(tables.notes_of(table), ["openmpi: 16K ring"])

    def test_wrong_results_are_shouted(self):
        [table] = tables.tables_of([a_round({"rondo": [row(4, 3.0, wrong=5)]})], NAMES)
        self.assertEqual(tables.notes_of(table), ["rondo: WRONG RESULTS at 4 (5 elements)"])
        self.assertIn("3.000!", tables.text_of(table)[2])


class Sweeps(unittest.TestCase):
    def test_sizes_become_sweeps_of_whole_factors(self):
        self.assertEqual(contestants.segments((4, 16, 64)), [(4, 64, 4)])
        self.assertEqual(contestants.segments((4, 1024, 16384, 262144)), [(4, 1024, 256), (16384, 262144, 16)])
        self.assertEqual(
            contestants.segments((12, 16, 8192, 16384, 1 << 30)),
            [(12, 12, 2), (16, 8192, 512), (16384, 16384, 2), (1 << 30, 1 << 30, 2)],
        )

    def test_every_size_is_in_one_sweep(self):
        for sizes in (
            (4,),
            (4, 8, 12, 16, 24, 48, 1 << 20),
            tuple(4 << step for step in range(20)),
            (20, 60, 180, 200),
        ):
            swept = []
            for first, last, factor in contestants.segments(sizes):
                while first <= last:
                    swept.append(first)
                    first *= factor
            self.assertEqual(tuple(swept), sizes)


class Options(unittest.TestCase):
    def refused(self, *words):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            compare.parse_options(list(words))
        self.assertEqual(ended.exception.code, 2)
        return said.getvalue()

    def test_lists_and_names(self):
        options = compare.parse_options(
            [
                "--sizes",
                "16M,4,1k",
                "--tests",
                "all_sum,sum_scatter,all_reduce",
                "--ranks",
                "4,2",
                "--transport",
                "tcp",
            ]
        )
        self.assertEqual(options.sizes, (4, 1024, 16 << 20))
        self.assertEqual(options.tests, ("all_reduce", "reduce_scatter"))
        self.assertEqual((options.ranks, options.transport), ((4, 2), ("tcp",)))

    def test_what_is_refused_is_named(self):
        for words, said in (
            (("--sizes", "4,6"), '"6": expected bytes'),
            (("--sizes", "2G"), '"2G"'),
            (("--tests", "gather"), '"gather": expected one of'),
            (("--transport", "shm,udp"), '"udp": expected one of shm, tcp'),
            (("--ranks", "1"), '"1": expected a number from 2 to 64'),
            (("--peers", "nccl"), '"nccl"'),
            (("--rounds", "x"), '"x": expected a number'),
            (("--seconds", "nan"), '"nan"'),
        ):
            self.assertIn(said, self.refused(*words), words)


class Starting(unittest.TestCase):
    def test_the_output_of_the_first_counts(self):
        commands = [([sys.executable, "-c", f"print({value})"], {}) for value in (3, 4)]
        self.assertEqual(contestants.run_together(commands, 60), "3\n")

    def test_one_that_fails_ends_all_and_is_quoted(self):
        waits = [sys.executable, "-c", "import signal; signal.pause()"]
        fails = [sys.executable, "-c", "import sys; sys.exit('no such device')"]
        with self.assertRaisesRegex(contestants.TurnFailed, "status 1: no such device"):
            contestants.run_together([(waits, {}), (fails, {})], 60)

    def test_one_that_hangs_is_ended(self):
        with self.assertRaisesRegex(contestants.TurnFailed, "did not end within 1 s"):
            contestants.run_together([([sys.executable, "-c", "import signal; signal.pause()"], {})], 1)


if __name__ == "__main__":
    unittest.main()

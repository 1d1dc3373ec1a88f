"""Tests of the tables' arithmetic. Run by ctest."""
import json
import unittest

import figures
from figures import Goal

LAB = """\
bench jit 1
cost wakes before 1 1 1 1 1
bench round 0
cost wakes absent 100000 100000 1000 0 0
cost wakes loaded 110000 110000 1000 0 1250
cost wakes loaded 110000 110000 1000 0 1250
cost wakes full 160000 130000 1000 0 1250
cost run absent 1000 0
cost run full 1030 40
cost run once 1 1
some tool's own words
bench round 1
cost wakes absent 102000 102000 1000 0 0
cost wakes loaded 112000 112000 1000 0 1250
cost wakes full 152000 132000 1000 0 1250
cost wakes once 1 1 1 1 1
cost run absent 1100 0
cost run full 1111 40
bench calls some_function 2000 1000
bench failed bpftrace it doesn't record
"""


class LabFigures(unittest.TestCase):
    def setUp(self):
        self.lab = figures.parse_lab(LAB)

    def test_what_comes_before_the_first_round_is_no_figure(self):
        self.assertEqual(len(self.lab.rounds), 2)
        self.assertTrue(all("before" not in r.blocks for r in self.lab.rounds))

    def test_cost_is_per_decision_and_against_the_same_rounds_baseline(self):
        cost = figures.cost(self.lab, "full")
        # (160 - 100) / 1.25 and (152 - 102) / 1.25
        self.assertAlmostEqual(cost.total.low, 40)
        self.assertAlmostEqual(cost.total.high, 48)
        self.assertAlmostEqual(cost.total.mid, 44)
        self.assertAlmostEqual(cost.path, 24)
        self.assertAlmostEqual(cost.others, 20)
        self.assertEqual(cost.decisions, 2500)

    def test_decisions_that_nobody_counted_are_estimated(self):
        self.assertEqual(figures.cost(self.lab, "absent").decisions, 2500)

    def test_a_variant_that_misses_a_round_has_no_figure(self):
        self.assertIsNone(figures.cost(self.lab, "once"))
        self.assertIsNone(figures.slowdown(self.lab, "once"))
        self.assertEqual(self.lab.failed, {"bpftrace": "it doesn't record"})

    def test_a_variant_that_failed_once_has_no_figure(self):
        self.lab.failed["full"] = "it has not recorded every wakeup"
        self.assertIsNone(figures.cost(self.lab, "full"))
        self.assertIsNone(figures.slowdown(self.lab, "full"))

    def test_slowdown_is_against_the_same_rounds_baseline(self):
        slow = figures.slowdown(self.lab, "full")
        self.assertAlmostEqual(slow.low, 0.01)
        self.assertAlmostEqual(slow.high, 0.03)
        self.assertAlmostEqual(figures.run_spread(self.lab), 100 / 1050)

    def test_the_rest(self):
        self.assertEqual(self.lab.calls, {"some_function": 2.0})
        self.assertEqual(figures.baseline(self.lab).high, 102)
        self.assertEqual(self.lab.jit, "1")


class Goals(unittest.TestCase):
    def test_met(self):
        self.assertTrue(Goal("x", 3, 3, True).met)
        self.assertTrue(Goal("x", 5, 5, False).met)
        self.assertTrue(Goal("x", 5, 5, False).line().endswith("met"))

    def test_missed_says_by_how_much(self):
        self.assertIn("MISSED by a factor of 1.50", Goal("x", 0.3, 0.2, True).line())
        self.assertIn("MISSED by a factor of 2.00", Goal("x", 25, 50, False).line())

    def test_a_goal_of_none_is_missed_by_any(self):
        self.assertTrue(Goal("lost", 0, 0, True).met)
        self.assertIn("MISSED", Goal("lost", 3, 0, True).line())


class NativeFigures(unittest.TestCase):
    def test_decode(self):
        text = json.dumps({"benchmarks": [
            {"name": "overlay/brief/bytes:65536", "items_per_second": 5e7}]})
        self.assertEqual(figures.parse_decode(text), {("overlay", "brief", 65536): 5e7})

    def test_a_failed_benchmark_is_no_figure(self):
        text = json.dumps({"benchmarks": [
            {"name": "overlay/brief/bytes:65536", "error_occurred": True, "error_message": "bad"}]})
        with self.assertRaisesRegex(ValueError, "bad"):
            figures.parse_decode(text)

    def test_disk_commands_packs(self):
        rows = figures.parse_disk("disk flood brief 10 2.0 3.0 1.0 6 4 4 600\nother\n")
        self.assertEqual(rows["flood", "brief"]["lost"], 4)
        command = figures.parse_commands("report 2.5 2.0 2048 7\n")["report"]
        self.assertEqual((command.seconds, command.peak_kib, command.lines), (2.5, 2048, 7))
        self.assertEqual(figures.parse_packs("brief pack 10 720 90 0.5\n")["brief"],
                         (10, 720, 90, 0.5))


if __name__ == "__main__":
    unittest.main()

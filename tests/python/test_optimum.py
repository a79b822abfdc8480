"""The optimum and its rounding, against a solver that tries every partition in rationals."""

import itertools
from fractions import Fraction

import oracle
from support import VerifyTest, main

from expunge_verify.exact import to_double
from expunge_verify.kernel import Kernel
from expunge_verify.optimum import Problem, box_bound

BOXES = [
    box_bound(1, 0),
    box_bound(2, 0),
    box_bound(3, 0),
    box_bound(50, 0),
    box_bound(0, 1.0),
    box_bound(0, 7.5),
    box_bound(0, 0.5),
    box_bound(0, 0.25),
    box_bound(0, 0.2),
    box_bound(0, 0.3),
    box_bound(0, 1 / 3),
    box_bound(0, 0.1),
]
RIDGES = [1e-8, 1e-6, 1e-3, 1.0]


class OptimumTest(VerifyTest):
    def check(self, keys, gamma, box, ridge):
        """Compares with the oracle; returns both."""
        solution, _ = oracle.solve(keys, gamma, box, ridge)
        problem = Problem(Kernel(gamma, keys), len(keys), box, ridge)
        optimum = problem.optimum(solution.classes)
        self.assertEqual([a.hex() for a in optimum.weights], [a.hex() for a in solution.weights])
        self.assertEqual(optimum.rho.hex(), solution.rho.hex())
        if not problem.warm_up:
            zeros = sum(g == 0 for g, c in zip(solution.gradients, solution.classes) if c != "S")
            self.assertEqual(optimum.strict, zeros == 0)
            self.check_margin(optimum, [abs(g) for g, c in zip(solution.gradients, solution.classes) if c != "S"])
        for exact, sign in zip(solution.exact_weights, optimum.exact_weight):
            self.assertEqual(sign(exact), 0)
            self.assertEqual(sign(exact + Fraction(1, 1 << 3000)), -1)
        return optimum, problem, solution

    def check_margin(self, optimum, margins):
        """The smallest margin is a bound, exactly: no larger number is."""
        if margins:
            self.assertTrue(optimum.margin(min(margins)))
            self.assertFalse(optimum.margin(min(margins) + Fraction(1, 1 << 2000)))

    def keys(self, count, dimension):
        kind = self.random.choice(("gauss", "lattice", "duplicates", "far", "line"))
        gauss = lambda scale=1.0: [self.random.gauss(0, scale) for _ in range(dimension)]
        if kind == "lattice":
            return [[float(self.random.randrange(-1, 2)) for _ in range(dimension)] for _ in range(count)]
        if kind == "duplicates":
            base = [gauss() for _ in range(2)]
            return [list(self.random.choice(base)) for _ in range(count)]
        if kind == "far":
            return [gauss(self.random.choice((1.0, 20.0))) for _ in range(count)]
        if kind == "line":
            return [[float(i)] + [0.0] * (dimension - 1) for i in range(count)]
        return [gauss() for _ in range(count)]

    def test_random_memories_equal_the_solver_of_all_partitions(self):
        for _ in range(120):
            count = self.random.choice((1, 2, 3, 4, 4, 5))
            with self.subTest(count=count):
                self.check(
                    self.keys(count, self.random.choice((1, 2, 3))),
                    self.random.choice((0.1, 0.5, 2.0)),
                    self.random.choice(BOXES),
                    self.random.choice(RIDGES),
                )

    def test_six_tokens(self):
        for box in (box_bound(2, 0), box_bound(3, 0), box_bound(0, 0.25)):
            self.check(self.keys(6, 2), 0.5, box, 1e-6)

    def test_no_other_partition_passes(self):
        for keys, box in (
            (self.keys(4, 2), box_bound(2, 0)),
            ([[0.0], [1.0], [2.0], [3.0]], box_bound(0, 0.5)),
            ([[0.0], [0.0], [1.0], [1.0]], box_bound(0, 0.5)),
        ):
            solution, _ = oracle.solve(keys, 0.5, box, 1e-6)
            problem = Problem(Kernel(0.5, keys), len(keys), box, 1e-6)
            for classes in itertools.product("SER", repeat=len(keys)):
                if "".join(classes) != solution.classes:
                    with self.subTest(classes=classes):
                        self.assertRefused("NOT_OPTIMAL", problem.optimum, classes)

    def test_a_symmetric_pair_ties_at_the_rounding(self):
        # The pair's weights are (1 - C)/2 exactly: midway between two doubles where C has an odd last bit.
        ties = 0
        for k in range(1, 40):
            box = Fraction(0.4 + k * 2.0**-54)
            optimum, _, _ = self.check([[-0.3], [0.3], [30.0]], 1.0, box, 1e-6)
            ties += optimum.ties
        self.assertGreater(ties, 0)

    def test_symmetric_sets_and_duplicates(self):
        square = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
        for keys in (
            square,
            square + [[0.0, 0.0]],
            [[0.0]] * 4,
            [[0.0], [0.0], [1.0], [1.0], [2.0]],
            [[-1.0], [0.0], [1.0]],
        ):
            for box in BOXES:
                self.check(keys, 0.5, box, 1e-6)

    def test_a_weight_of_exactly_the_bound_is_class_e_and_a_tie(self):
        # Three equal keys and one far away, ridge 1: 4a = 2b and 3a + b = 1, so b = 2/5, which is C.
        optimum, _, solution = self.check([[0.0], [0.0], [0.0], [100.0]], 1.0, box_bound(3, 0), 1.0)
        self.assertEqual(solution.classes, "SSSE")
        self.assertEqual((optimum.ties, optimum.strict), (1, False))

    def test_a_bound_one_unit_above_the_weights_leaves_them_in_class_s(self):
        # Each corner of a square has 1/4; with C one unit above it, they stay in class S.
        square = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
        _, _, solution = self.check(square + [[0.0, 0.0]], 0.5, box_bound(0, 0.25 + 2.0**-54), 1e-6)
        self.assertEqual(solution.classes, "SSSSR")

    def test_one_token(self):
        for box in BOXES:
            optimum, _, _ = self.check([[3.0, 4.0]], 0.5, box, 1e-6)
            self.assertEqual(optimum.weights, [1.0])

    def test_warm_up_has_equal_weights_of_class_e(self):
        optimum, problem, solution = self.check([[float(i)] for i in range(5)], 0.5, box_bound(50, 0), 1e-6)
        self.assertTrue(problem.warm_up)
        self.assertEqual(solution.classes, "EEEEE")
        self.assertEqual(optimum.weights, [0.2] * 5)
        self.assertIsNone(optimum.margin)

    def test_kernel_values_below_the_normal_range(self):
        # exp(-708.5), exp(-720), exp(-744), and one that rounds to 0.
        for distance in (708.5, 720.0, 744.0, 745.2, 800.0):
            optimum, problem, _ = self.check([[0.0], [distance**0.5], [1.0], [2.0]], 1.0, box_bound(0, 0.4), 1e-6)
            self.assertLess(problem.row(0)[1], 2.0**-1022)

    def test_numbers_of_very_different_size(self):
        self.check([[1e-300], [0.0], [1.0], [1e5]], 1.0, box_bound(2, 0), 1e-6)
        self.check([[1e-170], [0.0], [1e-160], [1e-150]], 1e300, box_bound(2, 0), 1e-6)
        self.check([[1e150], [0.0], [1e149], [-1e150]], 1e-300, box_bound(2, 0), 1e-6)

    def test_nearly_equal_keys(self):
        self.check([[1.0], [1.0 + 2.0**-52], [1.0 + 2.0**-51], [2.0]], 1.0, box_bound(2, 0), 1e-8)

    def test_a_ridge_that_is_too_small_is_refused(self):
        self.assertRefused("BUNDLE_CONFIGURATION", Problem, None, 4, Fraction(1), 1e-9)
        self.assertRefused("BUNDLE_CONFIGURATION", Problem, None, 1 << 30, Fraction(1), 1e-8)


class LargeTest(VerifyTest):
    def test_a_wrong_class_among_many_is_refused(self):
        keys = [[self.random.gauss(0, 1) for _ in range(3)] for _ in range(40)]
        problem = Problem(Kernel(0.5, keys), 40, box_bound(5, 0), 1e-6)
        self.assertRefused("NOT_OPTIMAL", problem.optimum, ["S"] * 40)
        self.assertRefused("NOT_OPTIMAL", problem.optimum, ["S"] * 5 + ["R"] * 35)

    def test_division_of_integers_rounds_once_to_nearest_even(self):
        for _ in range(20000):
            bits, scale = self.random.randrange(1, 200), self.random.choice((0, 60, 1000, 1074, 1100, 1250))
            x = Fraction(self.random.getrandbits(bits), 1 << scale) + (
                Fraction(1, 3) if self.random.random() < 0.3 else 0
            )
            x = self.random.choice(
                (x, Fraction(2 * self.random.getrandbits(53) + 1, 2) / (1 << self.random.choice((0, 60, 1074))))
            )
            self.assertEqual(to_double(x.numerator, x.denominator).hex(), (oracle.nearest_double(x) + 0.0).hex())
            self.assertEqual(to_double(-x.numerator, x.denominator), -oracle.nearest_double(x))


if __name__ == "__main__":
    main()

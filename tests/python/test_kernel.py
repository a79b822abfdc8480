"""Kernel values are correctly rounded: against mpmath at 3000 bits, and the enclosure against mpmath's intervals."""

from fractions import Fraction

import mpmath
import oracle
from support import VerifyTest, main

from expunge_verify.exact import as_dyadic
from expunge_verify.kernel import Kernel, exp_enclosure, exp_of_negative


class KernelTest(VerifyTest):
    def arguments(self):
        """Small, ordinary, large and subnormal results; next to nothing; and near the ends of the range."""
        draw = self.random.random
        return self.random.choice(
            (
                draw,
                lambda: 20 * draw(),
                lambda: 708 + 2 * draw(),
                lambda: 708.4 + 37 * draw(),
                lambda: 745.1 + 0.1 * draw(),
                lambda: 2.0 ** -self.random.randrange(1, 1074),
                lambda: 2.0**-54 * (1 + draw()),
                lambda: 746 * draw(),
            )
        )()

    def test_values_equal_those_of_3000_bits(self):
        subnormal = 0
        for _ in range(3000):
            t = self.arguments()
            expected = oracle.kernel(t, [1.0], [0.0])
            self.assertEqual(exp_of_negative(*as_dyadic(t)).hex(), expected.hex(), t.hex())
            subnormal += 0 < expected < 2.0**-1022
        self.assertGreater(subnormal, 300)

    def test_the_enclosure_holds_the_value(self):
        with mpmath.workprec(1000):
            for _ in range(500):
                t = self.arguments()
                T, e = as_dyadic(t)
                for p in (64, 128, 256):
                    m, d, k = exp_enclosure(T, e, p)
                    exact = oracle.exact(mpmath.exp(-mpmath.mpf(t))) * 2 ** (p + k)
                    self.assertLess(abs(exact - m), d)
                    self.assertLess(d, 1 << 15)

    def test_the_smallest_double_and_zero(self):
        # The middle between 0 and the smallest double is 2^-1075 = exp(-745.1332...).
        self.assertEqual(exp_of_negative(*as_dyadic(745.1)), 5e-324)
        self.assertEqual(exp_of_negative(*as_dyadic(745.14)), 0.0)
        self.assertEqual(exp_of_negative(10**400, 0), 0.0)

    def test_keys_of_every_size(self):
        for _ in range(60):
            keys = [
                [self.random.gauss(0, 1) * 2.0 ** self.random.choice((-1000, -500, 0, 0, 0, 400)) for _ in range(3)]
                for _ in range(3)
            ]
            gamma = 2.0 ** self.random.choice((-900, -1, 0, 900)) * (1 + self.random.random())
            kernel = Kernel(gamma, keys)
            for i in range(3):
                for j in range(3):
                    self.assertEqual(kernel.value(i, j), 1.0 if i == j else oracle.kernel(gamma, keys[i], keys[j]))

    def test_a_difference_that_doubles_lose_counts(self):
        # 1 - (-2^-60) is no double: what is rounded is the exponential alone.
        kernel = Kernel(1.0, [[1.0], [-(2.0**-60)]])
        self.assertEqual(
            kernel.value(0, 1),
            oracle.nearest_double(oracle.exact(self.exp_of(Fraction(1 + Fraction(1, 1 << 60)) ** 2))),
        )

    @staticmethod
    def exp_of(t):
        with mpmath.workprec(3000):
            return mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator)


if __name__ == "__main__":
    main()

"""Numbers, axes and bars of the page."""

from dln.report._effects import _step, around
from dln.report._geometry import alike, bar, percent, plain, points, scale, signed, ticks, unbroken


def test_numbers_have_the_digits_that_matter():
    """Weights have all digits of their grid, shares are exact where they are rare, values are printed as in rules."""
    assert [points(16780.0, 0), points(-0.5, 2), points(1200.0, -2)] == ["16,780", "−0.50", "1,200"]
    assert [signed(16780.0, 0), signed(-0.5, 2)] == ["+16,780", "−0.50"]
    shares = [percent(share) for share in (0.354, 0.0042, 0.0, 1.0, 0.9996)]
    assert shares == [f"{number}\u00a0%" for number in ("35", "0.4", "0", "100", "99.9")]
    assert [plain(number) for number in (1919.0, 12345.678, 0.30000001)] == ["1919", "12346", "0.3"]
    assert [alike(-23.334, 2669.0), alike(0.5, 3.2)] == ["−23", "0.50"]


def test_axes_have_round_numbers():
    """Ticks are round, bars start at zero, ends have a margin, and sliders move in steps no finer than the cut-offs."""
    assert bar(-5.0, (-10.0, 10.0)) == (25.0, 25.0, 50.0)
    assert scale(0.0, 10.0, 100.0, 200.0)(2.5) == 125.0
    assert ticks(0.0, 10.0) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert ticks(1122, 63770, 4) == [20000.0, 40000.0, 60000.0]
    assert ticks(0.71, 0.93, 4) == [0.75, 0.8, 0.85, 0.9]
    assert [around(cutoffs) for cutoffs in ((10.0, 20.0), (4.0,), ())] == [(9.0, 21.0), (2.0, 6.0), (0.0, 1.0)]
    assert [_step(18, 64, (47.5,)), _step(0, 3_400_000, (1e6,)), _step(15.96, 53.13, (30.025, 22.8))] == [0.1, 1e4, 0.1]


def test_a_number_stays_with_its_sign():
    """A rule goes to a new line before a sign of comparison, and not after it."""
    assert unbroken("16 < ") == "16 <\u00a0"
    assert unbroken(" ≤ 18 and ") == " ≤\u00a018 and "

"""Statistics of the benchmarks: medians, ratios, bootstrap intervals, and the honest verdict.

A variant is compared with a base in interleaved rounds; the control is the base measured once more in
every round, as if it were a variant. What the control cannot tell apart is 'not resolvable'.
"""
import dataclasses
import random
import statistics

MINIMUM_ROUNDS = 30


def bootstrap(values, statistic=statistics.median, resamples=2000, confidence=0.95, seed=1):
    """The interval of `statistic` over resampled `values`; the same for the same values."""
    chance = random.Random(seed)
    found = sorted(statistic(chance.choices(values, k=len(values))) for _ in range(resamples))
    cut = (1 - confidence) / 2
    return found[int(cut * resamples)], found[min(resamples - 1, int((1 - cut) * resamples))]


@dataclasses.dataclass
class Comparison:
    name: str
    base: float        # median of the base
    value: float       # median of the variant
    ratio: float       # median of the ratios within rounds
    low: float         # interval of the ratio
    high: float
    added: float       # median of the differences within rounds
    added_low: float
    added_high: float

    def overlaps(self, other):
        return self.low <= other.high and other.low <= self.high

    def text(self, unit, control=None):
        line = (f"{self.name:34} {self.value:11.2f} {unit:12} ratio {self.ratio:.4f} "
                f"[{self.low:.4f}, {self.high:.4f}]  added {self.added:+.2f} "
                f"[{self.added_low:+.2f}, {self.added_high:+.2f}]")
        if control is not None:
            line += "  not resolvable" if self.overlaps(control) else "  resolved"
        return line


def compare(name, base, variant):
    """Paired by round: slow drifts of the machine cancel out."""
    ratios = [v / b for b, v in zip(base, variant, strict=True)]
    differences = [v - b for b, v in zip(base, variant, strict=True)]
    return Comparison(name, statistics.median(base), statistics.median(variant),
                      statistics.median(ratios), *bootstrap(ratios),
                      statistics.median(differences), *bootstrap(differences))


def interleaved(variants, rounds, measure):
    """Runs every variant once a round; the order turns from round to round, and is reversed in every
    second one. `variants`: names; `measure(name)`: a number. Returns {name: [numbers]}."""
    results = {name: [] for name in variants}
    for number in range(rounds):
        order = list(variants)
        turn = number // 2 % len(order)
        order = order[turn:] + order[:turn]
        if number % 2:
            order.reverse()
        for name in order:
            results[name].append(measure(name))
    return results

"""Search something simulated, in ten lines: a device that forwards 1 Mpps and no more."""

import brimful


def measure(load: float, duration: float) -> tuple[int, int]:
    """Offer a load for a time; give what was sent and what was lost."""
    sent = round(load * duration)
    return sent, max(0, sent - round(1_000_000 * duration))


goals = [brimful.SearchGoal(loss_ratio=0), brimful.SearchGoal(loss_ratio=0.005)]
result = brimful.search(measure, goals=goals, min_load=10_000, max_load=14_880_000)
for goal in result.goal_results:
    print(f"{goal.goal}: {goal.conditional_throughput:,.0f} frames/s after {len(result.trials)} trials")  # noqa: T201

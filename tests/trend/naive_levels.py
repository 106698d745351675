"""The twin of `fit_levels`: every line of the grid from the least value to the greatest, every path kept."""

import math

import numpy as np

INTERVAL = 0.95


def fit(values, errors, penalty, cap):
    """Deviation, correlation, levels as (start, end, mean, kept, squares), and jumps as (at, earliest, latest)."""
    y = np.array(values)
    deviation, correlation = noise(y)
    inflation = (1 + correlation) / (1 - correlation)
    each = np.maximum(deviation, np.array(errors))
    lines = y.min() + deviation / 4 * np.arange(math.ceil((y.max() - y.min()) / (deviation / 4)) + 2)
    loss = np.minimum(((y[:, None] - lines) / each[:, None]) ** 2, cap * inflation)
    cost, came_from = loss[0].copy(), []
    for row in loss[1:]:
        best = int(cost.argmin())
        jumps = cost > cost[best] + penalty * inflation
        came_from.append(np.where(jumps, best, np.arange(len(lines))))
        cost = np.where(jumps, cost[best] + penalty * inflation, cost) + row
    path = [int(cost.argmin())]
    for previous in reversed(came_from):
        path.append(int(previous[path[-1]]))
    path.reverse()
    starts = [0, *(index for index in range(1, len(y)) if path[index] != path[index - 1])]
    ends = [*starts[1:], len(y)]
    levels = [level(y, loss, path, start, end, cap * inflation) for start, end in zip(starts, ends, strict=True)]
    jumps = [jump(loss, path, *place, inflation) for place in zip(starts, starts[1:], ends[1:], strict=False)]
    return deviation, correlation, levels, jumps


def noise(y):
    near, far = y[1:] - y[:-1], y[2:] - y[:-2]
    spread = 1.4826 * np.median(np.abs(near)) if len(near) else 0.0
    v1, v2 = mean_square(near), mean_square(far)
    correlation = min(max(v2 / v1 - 1, 0.0), 0.8) if v1 > 0 and len(far) else 0.0
    sizes = np.abs(near)[np.abs(near) > 1e-6]
    resolution = sizes.min() if len(sizes) else 0.0
    return max(spread / math.sqrt(2 * (1 - correlation)), resolution / math.sqrt(12), 1e-6), correlation


def mean_square(differences):
    if not len(differences):
        return 0.0
    limit = 3 * 1.4826 * np.median(np.abs(differences))
    return float(np.mean(np.clip(differences, -limit, limit) ** 2))


def level(y, loss, path, start, end, cap):
    near = [y[index] for index in range(start, end) if loss[index, path[start]] < cap]
    mean = float(np.mean(near))
    return start, end, mean, len(near), float(np.sum((np.array(near) - mean) ** 2))


def jump(loss, path, start, at, end, inflation):
    before, after = loss[:, path[start]], loss[:, path[at]]
    costs = {place: before[start:place].sum() + after[place:end].sum() for place in range(start + 1, end)}
    least = min(costs.values())
    likelihoods = {place: math.exp(-(cost - least) / 2 / inflation) for place, cost in costs.items()}
    held, places = 0.0, [at]
    for place in sorted(likelihoods, key=lambda place: (-likelihoods[place], place)):
        if held >= INTERVAL * sum(likelihoods.values()):
            break
        held += likelihoods[place]
        places.append(place)
    return at, min(places), max(places)

"""CPU time of rivals, measured in turns so that a busy machine slows all of them alike."""

import statistics
import time


def cpu_seconds(contestants, repetitions):
    """Return the median CPU seconds of each contestant, a mapping of names to functions."""
    times = {name: [] for name in contestants}
    for _ in range(repetitions):
        for name, run in contestants.items():
            started = time.process_time()
            run()
            times[name].append(time.process_time() - started)
    return {name: statistics.median(values) for name, values in times.items()}

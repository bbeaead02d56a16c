"""The benchmarks run and their contestants agree; no time is asserted."""

from tests.benchmarks import bench_allocation, bench_experiments, bench_network


def test_allocation_benchmark_runs(capsys):
    bench_allocation.main(sizes=(50, 200), scan_up_to=200, repetitions=1)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_experiment_benchmark_runs(capsys):
    bench_experiments.main(ours=2, theirs=1, repetitions=1)
    assert capsys.readouterr().out.count("ratio") == 2


def test_network_benchmark_runs(capsys):
    bench_network.main(epochs=2, models=1, torch_epochs=1, sklearn_epochs=1, repetitions=1)
    assert len(capsys.readouterr().out.splitlines()) == 4

"""Runs on a cluster, or on any pool of processes: all that is asked of it is a `submit` that returns futures.

Here the pool is of two processes of this machine. On a cluster only the executor is another one:

    dask.distributed.Client("scheduler:8786").get_executor()
    mpi4py.futures.MPIPoolExecutor()

Only this process writes to the store, so the store lies on a disk of this machine: SQLite does not share a database
between machines over a network. Workers need keyhole installed, and nothing else.

Run with: python examples/cluster.py
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import keyhole

if __name__ == "__main__":  # workers import this file
    spawned = get_context("spawn")
    with tempfile.TemporaryDirectory() as store, ProcessPoolExecutor(2, mp_context=spawned) as executor:
        answer = keyhole.learn(
            "and:3",
            [10, 20],
            "elimination",
            schedule=keyhole.Schedule(samples=[20, 40, 80], seeds=4),
            execution=keyhole.Execution(store, executor=executor),
        )
        print(answer)
        table = keyhole.runs(store=store).table()  # pandas.DataFrame(table) has a column for every setting
        print(f"{len(table)} runs, columns: {', '.join(table[0])}")

"""What leaseq is measured beside: one module for each, named like its requirements beside it.

A module has

- `PACKAGE`, whose version is reported;
- `ADDING` and `WORKING`, how many calls or handlers there are at once;
- `HOW`, what its documentation recommends for throughput and is done here;
- `measure(items)`, which adds that many items, has them all handled, and answers with the rates.

Each has an environment of its own, and runs in a process of its own: `python -m peers NAME ITEMS`,
on the server that `BENCH_URL` names. Those that need worker programs start them with
`program.process`; the handler is the one in `tally.py`, which counts.
"""

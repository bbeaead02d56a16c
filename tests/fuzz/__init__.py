"""Generated inputs, hostile ones among them: each is used rightly or refused in plain words.

`make test` tries a few of every kind, the same ones each time. `make fuzz` tries new ones for an
hour (`make fuzz MINUTES=5`); it prints the command that brings a failure back.

Share of lines and branches that one bounded run reaches, by coverage.py:

=============================================  ====
core: problem, checks, greedy, rules            97 %
core: optimum, choice_search                    83 %
core: from_cardinalities, exporters             90 %
core: from_model, memory                        72 %
audit                                           93 %
command_line                                    82 %
data/table.py, input_file.py                    87 %
study/settings                                  95 %
study/heart/patients.py                         82 %
=============================================  ====

Never reached, and tested by hand elsewhere: `budgets`, `response` and most of `spectra` (they take
functions and arrays of the caller's), figures of `plan`, shell completion, the bar on a terminal,
named pipes, full disks and closed pipes, Excel files, spectra weighted by frequencies, tables of
the workflow's own (`study/workflow/tables.py` is reached by foreign ones only), and pieces of the
search that only larger problems need.
"""

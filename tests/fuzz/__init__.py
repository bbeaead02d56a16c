"""Generated inputs, hostile ones among them: each is used rightly or refused in plain words.

`make test` tries a few of every kind, the same ones each time. `make fuzz` tries new ones for an
hour (`make fuzz MINUTES=5`); it prints the command that brings a failure back.

Share of lines and branches that one bounded run reaches, by coverage.py, from the module that is
reached least to the one that is reached most:

===========================================================  ==============
core: problem, checks, greedy, rules, optimum, proportional  94 to 100 %
core: from_cardinalities, exporters, choice_search           79 to 93 %
core: from_model, memory, result                             70 to 76 %
audit                                                        89 to 99 %
command_line: plan                                           62 %
command_line: the others                                     76 to 100 %
data: table, roles, delimited, unpacking, numerals           82 to 90 %
data: reading, dates, input_file                             70 to 76 %
study/settings                                               83 to 100 %
study/heart/patients.py                                      82 %
===========================================================  ==============

Never reached, and tested by hand elsewhere: `budgets`, `response` and most of `spectra` (they take
functions and arrays of the caller's), the rules that train networks (`screened`, `pilots`,
`spectral`) with `codes` and `references`, figures of `plan`, shell completion, the bar on a
terminal, named pipes, full disks and closed pipes, Excel files, spectra weighted by frequencies,
the strict reading of configuration files, tables of the workflow's own, and pieces of the search
that only larger problems need.
"""

"""Documents are data until they are written as Markdown."""

from embedalloc.study.workflow.document import markdown_table


def test_markdown_tables_keep_empty_cells_and_their_own_rulers():
    assert markdown_table(["a", "b"], [["1", ""]]) == "| a | b |\n|---|---|\n| 1 |  |"
    spaced = markdown_table(["a", ""], [], align=[" --- ", " ---: "])
    assert spaced == "| a |  |\n| --- | ---: |"

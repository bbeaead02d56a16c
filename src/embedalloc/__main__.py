"""`python -m embedalloc`: the command line without the installed command."""

from embedalloc.command_line import main

if __name__ == "__main__":
    main(prog_name="embedalloc")

"""Commands of the program, a module each."""

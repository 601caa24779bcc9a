// A library for unit/library.cc, linked with the lists of the System V ABI alone (DT_HASH).
int first_function(void) { return 1; }
int second_function(void) { return 2; }

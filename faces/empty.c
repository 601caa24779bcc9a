/* A library with another allocator's name, and nothing in it: all names are in the library that it is a filter for. */

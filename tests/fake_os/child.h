// Runs a piece of a test in a process of its own, where acre has not allocated yet.
#pragma once

#include <functional>
#include <string>

namespace acre::fake_os {

// Empty if the child ended with 0; otherwise how it ended and what it said. answer: a number that the child
// hands over by answer_with.
std::string in_child(const std::function<void()>& body, long* answer = nullptr);
void answer_with(long number);

// The same in a new image of this program, whose start-up runs with these variables in its environment. The
// body is named, since only its name gets there. One that succeeds answers with its requests, start-up's among them.
std::string in_new_image(const char* body, const std::string& argument, const std::string& refuse,
                         const std::string& conf, long* requests = nullptr);

// For refuse_requests.
inline constexpr long kFromThereOn = 1000000000;

// Refuses all memory from now on, and takes what is left for acre's own structures, to the last line.
void use_up_metadata();

// What the child does about a script, when refusals are in force already: runs it, looks whether everything
// is in order, and whether it all works again once memory is back.
void survive(const struct Script& script);

// Runs it, frees what is left, and looks whether nothing is in use then.
void run_to_the_end(const struct Script& script, bool must_succeed);

// Of arenas and of acre's own structures.
size_t mapped_bytes();

// Of the page map and acre's other structures, with their guard pages.
size_t bytes_of_own_structures();

// A body of an image (whole_core.cc).
[[noreturn]] void run_whole_core(const std::string& argument);

// For main: if this process is such an image, runs its body and exits.
void run_body_if_image();

}  // namespace acre::fake_os

// A server: requests whose arrays are lost now and then, and sessions whose buffers are written only in part. Without
// the option leaks, what an earlier block left in such a buffer hides leaks. With an argument it waits for its input's
// end before it exits, and says after each line how many arrays it has lost so far.
// leaks normal: 2000 handle
#include "support.h"

#include <atomic>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kLostByThread = 500;
constexpr int kRequestsForLoss = 20;
constexpr int kSessions = 64;

struct Session {
  char* buffer = nullptr;
};

// The pointers to a request's arrays lie in a block that is freed, and whose memory a session's buffer gets.
NOINLINE void handle(bool loses) {
  const int kArrays = 40;
  char** arrays = new char*[kArrays];
  for (int i = 0; i < kArrays; ++i) arrays[i] = new char[333]();
  for (int i = loses ? 1 : 0; i < kArrays; ++i) delete[] arrays[(i * 7 + 3) % kArrays];
  delete[] arrays;
}

NOINLINE void refresh(Session& session, unsigned number) {
  delete[] session.buffer;
  session.buffer = new char[320];
  snprintf(session.buffer, 320, "session %u", number);  // the rest stays as it is
}

NOINLINE void serve(std::vector<Session>& sessions) {
  unsigned number = 0;
  for (int lost = 0; lost < kLostByThread; ++lost) {
    for (int i = 0; i < kRequestsForLoss; ++i) {
      handle(i == 0);
      refresh(sessions[number % kSessions], number);
      ++number;
    }
  }
  wipe();
}

std::vector<Session> g_sessions[kThreads];

}  // namespace

int main(int argc, char**) {
  for (auto& sessions : g_sessions) sessions.resize(kSessions);
  char line[64];
  int lost = 0;
  do {
    std::vector<std::thread> threads;
    for (auto& sessions : g_sessions) threads.emplace_back([&sessions] { serve(sessions); });
    for (auto& thread : threads) thread.join();
    printf("%d\n", lost += kThreads * kLostByThread);
    fflush(stdout);
  } while (argc > 1 && fgets(line, sizeof line, stdin) != nullptr);
  wipe();
}

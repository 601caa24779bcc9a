// A library that allocates when it is loaded, for each thread, and when it is unloaded.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {
struct Everything {
    std::vector<std::string> texts;
    Everything() {
        for (int i = 0; i < 60; ++i) texts.emplace_back(static_cast<size_t>(i * i), 'a');
    }
    ~Everything() {
        for (size_t i = 0; i < texts.size(); ++i) {
            if (texts[i] != std::string(i * i, 'a')) abort();
        }
        free(malloc(777));
    }
};
Everything g_everything;
thread_local Everything t_everything;
thread_local char t_room[5000];
}  // namespace

extern "C" size_t use(void) {
    memset(t_room, 1, sizeof t_room);
    return t_everything.texts.size() + g_everything.texts.size();
}

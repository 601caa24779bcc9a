// acre-test: libs=pthread
// The standard library at work: containers, strings, shared pointers, exceptions, threads, streams.
#include <algorithm>
#include <atomic>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "check.h"

namespace {

struct alignas(128) Wide {
    double values[20];
};

std::map<std::string, std::vector<std::string>> build(int seed) {
    std::map<std::string, std::vector<std::string>> index;
    for (int i = 0; i < 3000; i++) {
        const std::string key = "key " + std::to_string((i * 7919 + seed) % 500);
        index[key].push_back(std::string(static_cast<std::size_t>(i % 120), 'x') + std::to_string(i));
    }
    return index;
}

void check_index(const std::map<std::string, std::vector<std::string>> &index) {
    std::size_t total = 0;
    for (const auto &[key, values] : index) {
        CHECK(key.compare(0, 4, "key ") == 0);
        for (const auto &value : values) CHECK(value.find_first_not_of('x') != std::string::npos);
        total += values.size();
    }
    CHECK_EQ(total, 3000);
}

int throwing(int depth) {
    const std::string local(static_cast<std::size_t>(depth) + 20, 'y');
    if (depth == 0) throw std::runtime_error(std::string("thrown from the depth: ") + local);
    return throwing(depth - 1) + static_cast<int>(local.size());
}

}  // namespace

int main() {
    check_index(build(1));

    // Containers made in one thread, destroyed in another.
    std::vector<std::thread> threads;
    std::vector<std::map<std::string, std::vector<std::string>>> results(8);
    for (std::size_t t = 0; t < results.size(); t++) {
        threads.emplace_back([t, &results] { results[t] = build(static_cast<int>(t)); });
    }
    for (auto &thread : threads) thread.join();
    for (const auto &result : results) check_index(result);
    auto moved = std::async(std::launch::async, [r = std::move(results)]() mutable {
        std::size_t total = 0;
        for (const auto &result : r) total += result.size();
        r.clear();
        return total;
    });
    CHECK_EQ(moved.get(), 8 * 500);

    std::vector<Wide> wides;
    for (int i = 0; i < 1000; i++) {
        wides.emplace_back().values[19] = i;
        CHECK(is_aligned(wides.data(), 128));
    }
    for (std::size_t i = 0; i < 1000; i++) CHECK(wides[i].values[19] == static_cast<double>(i));

    std::list<std::shared_ptr<std::string>> strings;
    std::unordered_map<int, std::shared_ptr<std::string>> by_number;
    for (int i = 0; i < 20000; i++) {
        strings.push_back(std::make_shared<std::string>(std::to_string(i) + " is a number"));
        by_number[i] = strings.back();
        if (i % 3 == 0) strings.pop_front();
    }
    for (const auto &[number, text] : by_number) {
        CHECK(*text == std::to_string(number) + " is a number");
    }

    for (int i = 0; i < 300; i++) {
        try {
            throwing(i % 60);
            CHECK(false);
        } catch (const std::runtime_error &error) {
            CHECK(std::string(error.what()).find("depth") != std::string::npos);
        }
    }
    std::ostringstream stream;
    for (int i = 0; i < 20000; i++) stream << i << ' ';
    CHECK_EQ(stream.str().size(), 108890);
    return 0;
}

// acre-test: not-preload
// Accounting by tag in C++: scopes, containers, bad_alloc at the limit.
#include <acre/tags.hpp>

#include <map>
#include <new>
#include <string>
#include <vector>

#include "check.h"

int main() {
    const acre::tag tag("a map");
    {
        std::map<int, std::string> map;
        {
            acre::tag_scope scope(tag);
            for (int i = 0; i < 1000; i++) map[i] = std::string(100, 'x');
            acre::tag_scope none(nullptr);
            std::string elsewhere(1000, 'x');
            CHECK(acre_tag_of(elsewhere.data()) == nullptr);
        }
        CHECK(acre_tag_in_force() == nullptr);
        CHECK_GE(tag.live(), 1000 * (100 + sizeof(std::string)));
        map[1] = std::string(10000, 'y');
        CHECK_EQ(tag.live(), tag.allocated() - 112);
    }
    CHECK_EQ(tag.live(), 0);
    CHECK_GE(tag.peak(), 100000);

    tag.limit(MIB);
    bool thrown = false;
    try {
        acre::tag_scope scope("a map");
        std::vector<char> much(2 * MIB);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
    CHECK(acre_tag_in_force() == nullptr);
    CHECK_EQ(tag.info().refused, 1);
    thrown = false;
    try {
        acre::tag none("");
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
    tag.drop();
    return 0;
}

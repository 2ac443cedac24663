// A queue of events, which the stand-ins of other simulators share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

struct Queue {
    std::multimap<std::uint64_t, std::function<void()>> events;
    std::uint64_t now = 0;

    void run()
    {
        while (!events.empty()) {
            auto first = *events.begin();
            events.erase(events.begin());
            now = first.first;
            first.second();
        }
    }
};

inline Queue &queue()
{
    static Queue one;
    return one;
}

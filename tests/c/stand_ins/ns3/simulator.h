// The part of ns-3's simulator that the documentation's store uses.
#pragma once

#include "../queue.hh"
#include "nstime.h"

namespace ns3 {
struct Simulator {
    static Time Now() { return NanoSeconds(queue().now); }

    template <typename T> static void Schedule(Time delay, void (T::*act)(), T *whose)
    {
        queue().events.insert({queue().now + static_cast<std::uint64_t>(delay.ns), [whose, act] { (whose->*act)(); }});
    }
};
} // namespace ns3

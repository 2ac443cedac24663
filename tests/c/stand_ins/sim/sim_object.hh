// The part of gem5's objects that the documentation's device uses.
#pragma once

#include <cstdlib>

#include "eventq.hh"

namespace gem5 {
struct SimObjectParams {
    std::string name;
};

class SimObject
{
  public:
    SimObject(const SimObjectParams &) {}
    virtual ~SimObject() {}

    void reschedule(EventFunctionWrapper &event, Tick when, bool always)
    {
        if (!always || when < curTick())
            std::abort();
        event.due = when;
        queue().events.insert({when, [&event, when] {
                                   if (event.due == when)
                                       event.act();
                               }});
    }
};
} // namespace gem5

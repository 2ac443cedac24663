// The part of gem5's event queue that the documentation's device uses.
#pragma once

#include <string>

#include "../base/types.hh"

namespace gem5 {
class EventFunctionWrapper
{
  public:
    EventFunctionWrapper(const std::function<void(void)> &act, const std::string &) : act(act) {}

    const std::function<void(void)> act;
    Tick due = 0;
};
} // namespace gem5

// The part of SST's components that the documentation's component uses.
#pragma once

#include "link.h"

namespace SST {
typedef std::uint64_t ComponentId_t;

struct Params {
    std::string scenario;
    template <typename T> T find(const std::string &) const { return scenario; }
};

class Component
{
  public:
    explicit Component(ComponentId_t) {}
    virtual ~Component() {}

    Link *configureSelfLink(const std::string &, const std::string &base, Event::HandlerBase *handler)
    {
        return base == "1ns" ? new Link{handler} : nullptr;
    }

    std::uint64_t getCurrentSimTimeNano() const { return queue().now; }
};
} // namespace SST

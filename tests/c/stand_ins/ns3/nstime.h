// The part of ns-3's times that the documentation's store uses.
#pragma once

#include <cstdint>

namespace ns3 {
struct Time {
    std::int64_t ns;
    std::int64_t GetNanoSeconds() const { return ns; }
};

inline Time NanoSeconds(std::uint64_t ns) { return Time{static_cast<std::int64_t>(ns)}; }
} // namespace ns3

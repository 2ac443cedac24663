// The part of gem5's types that the documentation's device uses.
#pragma once

#include "../queue.hh"

namespace gem5 {
typedef std::uint64_t Tick;
inline Tick curTick() { return queue().now; }
} // namespace gem5

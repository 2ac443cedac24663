// A simulator with an event queue of its own, and a mirror of two disks as its storage: sixteen users read, think, read again.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "sledsim_disk.hpp"

// The other simulator: things to do, each at its time, those of one time in the order in which they were asked for.
class Simulator {
  public:
    void at(std::uint64_t at_ns, std::function<void()> act) { queue_.push({at_ns, order_++, std::move(act)}); }

    void run(std::uint64_t until_ns)
    {
        while (!queue_.empty() && queue_.top().at_ns <= until_ns) {
            const Event next = queue_.top();
            queue_.pop();
            now_ns = next.at_ns;
            next.act();
        }
    }

    std::uint64_t now_ns = 0;

  private:
    struct Event {
        std::uint64_t at_ns, order;
        std::function<void()> act;
        bool operator<(const Event &other) const
        {
            return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
        }
    };
    std::priority_queue<Event> queue_;
    std::uint64_t order_ = 0;
};

int main()
{
    const char scenario[] = "[system]\n"
                            "kind = \"mirror\"\n"
                            "members = [{ count = 2, system = { device = \"atlas10k\", scheduler = \"sptf\" } }]\n";
    Simulator simulator;
    std::map<std::uint64_t, int> user_of;
    std::uint64_t served = 0, waited_ns = 0, state = 1;
    std::unique_ptr<sledsim::Disk> disk;
    auto ask = [&](int user) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        user_of[disk->submit((state >> 33) % 2000000 * 8, 8, SLEDSIM_READ, simulator.now_ns)] = user;
    };
    auto done = [&](const sledsim_completion_t &back) {
        const int user = user_of[back.id];
        user_of.erase(back.id);
        served++;
        waited_ns += back.end_ns - back.arrival_ns;
        simulator.at(simulator.now_ns + 5000000, [&ask, user] { ask(user); });
    };
    auto wake = [&](std::uint64_t at_ns) { simulator.at(at_ns, [&] { disk->wake(simulator.now_ns); }); };
    disk.reset(new sledsim::Disk(scenario, wake, done));
    for (int user = 0; user < 16; user++)
        simulator.at(0, [&ask, user] { ask(user); });
    simulator.run(UINT64_C(10000000000));
    std::printf("%llu reads in 10 s, %.3f ms each\n", (unsigned long long)served,
                static_cast<double>(waited_ns) / 1e6 / static_cast<double>(served));
}

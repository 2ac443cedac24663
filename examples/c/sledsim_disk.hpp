// A system of storage behind the event queue of another simulator.
//
// The other simulator owns the clock. It is asked to call `wake` at a time, and calls it then, or earlier: that does no harm.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include <sledsim.h>

namespace sledsim {

class Disk {
  public:
    // Asks the other simulator for a call of `wake` at a time, ns.
    using Schedule = std::function<void(std::uint64_t at_ns)>;
    // Tells it of a request that has come back.
    using Done = std::function<void(const sledsim_completion_t &)>;

    Disk(const std::string &scenario, Schedule schedule, Done done)
        : schedule_(std::move(schedule)), done_(std::move(done))
    {
        check(sledsim_open(scenario.c_str(), "toml", nullptr, nullptr, 0, &session_));
    }

    ~Disk() { sledsim_close(session_); }

    Disk(const Disk &) = delete;
    Disk &operator=(const Disk &) = delete;

    // Hands in a request that arrives at the other simulator's time; gives its number.
    std::uint64_t submit(std::uint64_t lbn, std::uint32_t blocks, int op, std::uint64_t now_ns)
    {
        std::uint64_t id = 0;
        check(sledsim_submit(session_, lbn, blocks, op, now_ns, &id));
        ask();
        return id;
    }

    // Lets time pass to the other simulator's, and tells of what came back.
    void wake(std::uint64_t now_ns)
    {
        if (now_ns >= asked_ns_)
            asked_ns_ = NEVER;
        check(sledsim_advance(session_, now_ns));
        sledsim_completion_t back;
        while (sledsim_completion(session_, &back) == SLEDSIM_OK)
            done_(back);
        ask();
    }

  private:
    static constexpr std::uint64_t NEVER = UINT64_MAX;

    // Asks for a call at the next event, unless one is to come that is early enough.
    void ask()
    {
        std::uint64_t next_ns = NEVER;
        if (check(sledsim_next_event(session_, &next_ns)) == SLEDSIM_OK && next_ns < asked_ns_) {
            asked_ns_ = next_ns;
            schedule_(next_ns);
        }
    }

    static int check(int code)
    {
        if (code < 0)
            throw std::runtime_error(std::string(sledsim_code_name(code)) + ": " + sledsim_message());
        return code;
    }

    sledsim_session session_ = 0;
    Schedule schedule_;
    Done done_;
    std::uint64_t asked_ns_ = NEVER;
};

} // namespace sledsim

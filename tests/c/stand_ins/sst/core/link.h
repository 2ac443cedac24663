// The part of SST's links and events that the documentation's component uses.
#pragma once

#include <string>

#include "../../queue.hh"

namespace SST {
struct Event {
    struct HandlerBase {
        virtual ~HandlerBase() {}
        virtual void operator()(Event *event) = 0;
    };

    template <typename T> struct Handler : HandlerBase {
        Handler(T *whose, void (T::*act)(Event *)) : whose(whose), act(act) {}
        void operator()(Event *event) override { (whose->*act)(event); }

        T *whose;
        void (T::*act)(Event *);
    };
};

struct Link {
    Event::HandlerBase *handler;

    void send(std::uint64_t delay, Event *event)
    {
        queue().events.insert({queue().now + delay, [this, event] { (*handler)(event); }});
    }
};
} // namespace SST

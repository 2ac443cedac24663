//! Event queue, components, random streams, run loop.

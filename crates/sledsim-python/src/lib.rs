//! Python bindings: converts and forwards, no logic.

// Computes curves beside the page: carries out commands one after the other.
import { Core } from "./core";

let core: Core;

self.onmessage = (event: MessageEvent) => {
  const { module, task, command } = event.data;
  if (module) {
    core = new Core(module);
    return;
  }
  try {
    self.postMessage({ task, answer: core.command(command) });
  } catch (error) {
    self.postMessage({ task, fault: error instanceof Error ? error.message : String(error) });
  }
};

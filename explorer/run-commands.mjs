// Carries out commands with the page's core, one per line of standard input, and prints each answer on a line.
//
// node run-commands.mjs CORE.wasm < commands.jsonl
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const core = instance.exports;
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const text = new TextEncoder().encode(line);
  const address = core.sledsim_allocate(text.length);
  new Uint8Array(core.memory.buffer, address, text.length).set(text);
  const bytes = core.sledsim_command();
  const answer = new Uint8Array(core.memory.buffer, core.sledsim_answer(), Math.abs(bytes));
  console.log(bytes < 0 ? JSON.stringify({ fault: new TextDecoder().decode(answer) }) : new TextDecoder().decode(answer));
}

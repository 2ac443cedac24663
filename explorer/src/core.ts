// The simulator, compiled to WebAssembly: commands as JSON, states as arrays of numbers.

interface Exports {
  memory: WebAssembly.Memory;
  sledsim_allocate(bytes: number): number;
  sledsim_command(): number;
  sledsim_answer(): number;
  sledsim_state(playback: number, atNs: number): number;
  sledsim_pending(playback: number, atNs: number): number;
  sledsim_numbers(): number;
}

/** A message of the simulator about a scenario. */
export class CoreFault extends Error {}

export class Core {
  private readonly exports: Exports;

  constructor(readonly module: WebAssembly.Module) {
    this.exports = new WebAssembly.Instance(module, {}).exports as unknown as Exports;
  }

  /** Carries out a command and returns its answer. Throws a CoreFault with the simulator's message. */
  command(command: object): any {
    const text = new TextEncoder().encode(JSON.stringify(command));
    const address = this.exports.sledsim_allocate(text.length);
    new Uint8Array(this.exports.memory.buffer, address, text.length).set(text);
    const bytes = this.exports.sledsim_command();
    const answer = new Uint8Array(this.exports.memory.buffer, this.exports.sledsim_answer(), Math.abs(bytes));
    const shown = new TextDecoder().decode(answer);
    if (bytes < 0) throw new CoreFault(shown);
    return JSON.parse(shown);
  }

  /** Returns the state of a playback at an instant. */
  state(playback: number, atMs: number): Float64Array {
    return this.numbers(this.exports.sledsim_state(playback, atMs * 1e6));
  }

  /** Returns the pending requests of a playback at an instant. */
  pending(playback: number, atMs: number): Float64Array {
    return this.numbers(this.exports.sledsim_pending(playback, atMs * 1e6));
  }

  private numbers(count: number): Float64Array {
    return new Float64Array(this.exports.memory.buffer, this.exports.sledsim_numbers(), count).slice();
  }
}

/** Returns the simulator that the page holds, compressed and in base64. */
export async function compileCore(base64: string): Promise<WebAssembly.Module> {
  const characters = atob(base64.trim());
  const compressed = new Uint8Array(characters.length);
  // A loop takes 20 ms for the core, and Uint8Array.from with a function 400 ms.
  for (let index = 0; index < characters.length; index++) compressed[index] = characters.charCodeAt(index);
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

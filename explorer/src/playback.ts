// A run that is played: its facts, and its state at any instant from the simulator.
import type { Core } from "./core";
import type { Scenario } from "./scenario";

/** Most requests that are drawn. */
export const MOST_REQUESTS = 5000;

export interface MemsShape {
  mechanism: "mems";
  x_range_m: number;
  y_range_m: number;
  tips: number;
  active_tips: number;
  acceleration_x_m_s2: number;
  acceleration_y_m_s2: number;
  spring_factor: number;
  cylinders: number;
  rows: [number, number][];
}

export interface DiskShape {
  mechanism: "disk";
  cylinders: number;
  surfaces: number;
  actuators: number;
  revolution_ms: number;
  zones: { first_cylinder: number; sectors: number }[];
}

/** A system whose motion is not drawn. */
export interface SystemShape {
  mechanism: "system";
  reason: string;
}

export type Shape = MemsShape | DiskShape | SystemShape;

/** The device at an instant. */
export interface Instant {
  atMs: number;
  x: number;
  y: number;
  speedX: number;
  speedY: number;
  forceX: number;
  forceY: number;
  turn: number;
  /** Index of the request in service, or -1. */
  request: number;
  activity: number;
  pending: number;
  completed: number;
  /** Place of the request in service. */
  target: { x: number; y: number; turn: number };
}

/** A pending request. */
export interface Pending {
  request: number;
  x: number;
  y: number;
  turn: number;
  isWrite: boolean;
  waitedMs: number;
  positioningMs: number;
  lbn: number;
  startsMs: number;
}

/** A request of the log. */
export interface Served {
  arrivalMs: number;
  startMs: number;
  endMs: number;
  lbn: number;
  blocks: number;
  isWrite: boolean;
}

export class Playback {
  readonly report: any;
  readonly endMs: number;
  readonly shape: Shape;
  readonly activities: string[];
  readonly requests: Served[];
  /** Rows of measures over time, by name. */
  readonly series: { names: string[]; rows: (number | null)[][] };
  private readonly number: number | undefined;
  /** Arrivals and ends of the requests, each in the order of time. */
  private readonly arrivals: number[];
  private readonly ends: number[];

  constructor(
    private readonly core: Core,
    readonly scenario: Scenario,
  ) {
    const opened = core.command({ command: "open", scenario, most_requests: MOST_REQUESTS });
    this.number = opened.playback;
    this.report = opened.report;
    this.endMs = opened.end_ms;
    this.shape = opened.device;
    this.activities = opened.activities ?? [];
    this.series = opened.series;
    this.requests = opened.requests.map(([arrivalMs, startMs, endMs, lbn, blocks, isWrite]: number[]) => ({
      arrivalMs,
      startMs,
      endMs,
      lbn,
      blocks,
      isWrite: isWrite === 1,
    }));
    this.arrivals = this.requests.map(({ arrivalMs }) => arrivalMs).sort((a, b) => a - b);
    this.ends = this.requests.map(({ endMs }) => endMs).sort((a, b) => a - b);
  }

  close(): void {
    if (this.number !== undefined) this.core.command({ command: "close", playback: this.number });
  }

  /** Returns the numbers of the simulator at an instant, in the order of `state` of its description. */
  numbers(atMs: number): Float64Array {
    if (this.number !== undefined) return this.core.state(this.number, atMs);
    // Of a system whose motion is not drawn, only the numbers of requests are known.
    const numbers = new Float64Array(14);
    const [arrived, completed] = [before(this.arrivals, atMs), before(this.ends, atMs)];
    numbers.set([-1, 0, arrived - completed, completed], 7);
    return numbers;
  }

  /** Returns up to `most` requests that are in the system at an instant. */
  within(atMs: number, most: number): Served[] {
    const found: Served[] = [];
    for (const request of this.requests) {
      if (request.arrivalMs <= atMs && atMs < request.endMs && found.push(request) === most) break;
    }
    return found;
  }

  at(atMs: number): Instant {
    const [x, y, speedX, speedY, forceX, forceY, turn, request, activity, pending, completed, targetX, targetY, targetTurn] = [
      ...this.numbers(atMs),
    ] as [number, number, number, number, number, number, number, number, number, number, number, number, number, number];
    const target = { x: targetX, y: targetY, turn: targetTurn };
    return { atMs, x, y, speedX, speedY, forceX, forceY, turn, request, activity, pending, completed, target };
  }

  pending(atMs: number): Pending[] {
    if (this.number === undefined) return [];
    const numbers = this.core.pending(this.number, atMs);
    const found: Pending[] = [];
    for (let at = 0; at < numbers.length; at += 9) {
      const [request, x, y, turn, isWrite, waitedMs, positioningMs, lbn, startsMs] = numbers.subarray(at, at + 9) as unknown as [
        number, number, number, number, number, number, number, number, number,
      ];
      found.push({ request, x, y, turn, isWrite: isWrite === 1, waitedMs, positioningMs, lbn, startsMs });
    }
    return found;
  }

  /** Returns the measures at an instant: the latest row before it. */
  measures(atMs: number): Record<string, number | null> {
    const { names, rows } = this.series;
    // If every request failed, the run has no length.
    const index = Math.min(Math.floor((atMs / (this.endMs || 1)) * (rows.length - 1)), rows.length - 1);
    return Object.fromEntries(names.map((name, column) => [name, rows[index]![column]!]));
  }

  /** Returns the points of a measure over time. */
  points(name: string): [number, number][] {
    const { names, rows } = this.series;
    const [time, column] = [names.indexOf("time_ms"), names.indexOf(name)];
    return rows.filter((row) => row[column] !== null).map((row) => [row[time]!, row[column]!]);
  }
}

/** Returns the number of sorted times up to an instant. */
function before(times: number[], atMs: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the pending request that is dispatched next. */
export function nextOf(pending: Pending[]): Pending | undefined {
  return pending.reduce<Pending | undefined>((best, each) => (best && best.startsMs <= each.startsMs ? best : each), undefined);
}

// Curves over a key of the scenario, computed in a worker and abandoned when the scenario changes.
import { columnLine, drawMap, type Line, LineChart } from "./chart";
import type { Playback } from "./playback";
import { type Column, columnScenario, get, type Scenario, withValue } from "./scenario";
import { shown, type Theme } from "./theme";

const LOADS = 20;
const TIMEOUTS = 12;
/** Text in place of energies of a device with unknown powers. */
export const NO_ENERGY = "The powers of the device are not known.";
/** Requests of each point. */
const REQUESTS = 5000;

interface Task {
  command: object;
  use: (answer: any) => void;
}

export class Curves {
  private readonly worker: Worker;
  private tasks: Task[] = [];
  private current: Task | null = null;
  private number = 0;
  private begun = 0;
  private lines: { load: Line[]; timeout: Line[] } = { load: [], timeout: [] };
  private seeks: any = null;
  private readonly load = new LineChart(document.getElementById("curve-load")!, "requests/s", "ms", false, 12);
  private readonly timeout = new LineChart(document.getElementById("curve-timeout")!, "timeout (ms)", "mJ", true, Infinity, NO_ENERGY);
  private readonly seek = new LineChart(document.getElementById("curve-seek")!, "cylinder", "ms", false, Infinity, "A single drive has seek times.");
  private theme: Theme | null = null;
  /** Time of the latest computation of all curves, ms; for measurements. */
  tookMs = NaN;
  /** Time until the first curve of response against load was complete, ms. */
  loadMs = NaN;

  constructor(module: WebAssembly.Module) {
    const source = new Blob([document.getElementById("worker")!.textContent ?? ""], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(source));
    this.worker.postMessage({ module });
    this.worker.onmessage = ({ data }) => this.receive(data);
  }

  /** Gives the worker the trace that scenarios replay. */
  setTrace(trace: object): void {
    this.worker.postMessage({ task: -1, command: { command: "trace", ...trace } });
  }

  /** Computes all curves of a scenario. `names` are those of the scenario and the columns beside it. */
  compute(scenario: Scenario, playback: Playback, others: Column[], names: string[], theme: Theme): void {
    this.theme = theme;
    this.lines = { load: [], timeout: [] };
    this.seeks = null;
    this.tookMs = this.loadMs = NaN;
    this.begun = performance.now();
    const isDrive = playback.report.scenario.system.kind === "drive";
    const tasks: Task[] = isDrive ? [{ command: { command: "seeks", scenario }, use: (answer) => (this.seeks = answer) }] : [];
    const small = withValue(scenario, "run", { requests: REQUESTS });
    const rate = get(playback.report.scenario, "workload.arrival.rate_per_s");
    names.forEach((name, index) => {
      const own = index === 0 ? small : columnScenario(small, others[index - 1]!);
      if (typeof rate === "number") tasks.push(...this.loadTasks(own, rate, columnLine(theme, index, name, [])));
      if (index === 0 && isDrive && playback.report.energy) tasks.push(...this.timeoutTasks(own, columnLine(theme, index, name, [])));
    });
    this.tasks = tasks;
    this.number++;
    if (!this.current) this.next();
    this.draw(theme);
  }

  private loadTasks(scenario: Scenario, rate: number, line: Line): Task[] {
    this.lines.load.push(line);
    // Loads up to half more than the present one.
    return Array.from({ length: LOADS }, (_, index) => {
      const load = (1.5 * rate * (index + 1)) / LOADS;
      const use = (report: any) => {
        if (index === LOADS - 1 && Number.isNaN(this.loadMs)) this.loadMs = performance.now() - this.begun;
        // Above the capacity the mean grows with the length of the run.
        if (report.response && !report.overload) line.points.push([load, report.response.mean_ms]);
      };
      return { command: { command: "run", scenario: withValue(scenario, "workload.arrival.rate_per_s", load) }, use };
    });
  }

  private timeoutTasks(scenario: Scenario, line: Line): Task[] {
    this.lines.timeout.push(line);
    return Array.from({ length: TIMEOUTS }, (_, index) => {
      const timeout = 0.1 * 10 ** ((5 * index) / (TIMEOUTS - 1));
      const spinDown = { name: "timeout", after_ms: timeout };
      const use = (report: any) => line.points.push([timeout, (report.energy.total_j / report.requests.measured) * 1e3]);
      return { command: { command: "run", scenario: withValue(scenario, "system.spin_down", spinDown) }, use };
    });
  }

  private next(): void {
    this.current = this.tasks.shift() ?? null;
    if (this.current) this.worker.postMessage({ task: this.number, command: this.current.command });
    else {
      this.tookMs = performance.now() - this.begun;
      if (this.theme) this.draw(this.theme);
    }
  }

  private receive({ task, answer, fault }: { task: number; answer?: any; fault?: string }): void {
    if (task < 0) return;
    // An answer for an earlier scenario is dropped.
    if (task === this.number && this.current) {
      if (fault === undefined) this.current.use(answer);
      const status = document.getElementById("curve-status")!;
      status.textContent = fault ?? (this.tasks.length > 0 ? `${this.tasks.length} points to compute` : "");
    }
    this.next();
    if (this.theme && this.tasks.length % 4 === 0) this.draw(this.theme);
  }

  draw(theme: Theme): void {
    this.theme = theme;
    for (const lines of Object.values(this.lines)) lines.forEach((line, index) => (line.colour = theme.columns[index]!));
    this.load.draw(this.lines.load, theme);
    this.timeout.draw(this.lines.timeout, theme);
    this.drawSeeks(theme);
  }

  private drawSeeks(theme: Theme): void {
    const map = document.getElementById("map-seek") as HTMLCanvasElement;
    const legend = document.getElementById("map-legend")!;
    const rows: number[][] = this.seeks?.positioning_ms ?? [];
    const isMap = this.seeks?.mechanism === "mems";
    map.hidden = legend.hidden = !isMap;
    document.getElementById("curve-seek")!.hidden = isMap;
    if (isMap) {
      drawMap(map, rows);
      const values = rows.flat();
      const ends = `dark ${shown(Math.min(...values))} ms, light ${shown(Math.max(...values))} ms`;
      legend.textContent = `Cylinders across, rows upwards; ${ends}.`;
      map.setAttribute("aria-label", `Positioning times over the medium: ${ends}`);
      return;
    }
    // The shortest time of each cylinder over the sectors of its track.
    const cylinders: number[] = this.seeks?.cylinders ?? [];
    const shortest = cylinders.map((cylinder, index) => [cylinder, Math.min(...rows.map((row) => row[index]!))] as [number, number]);
    this.seek.draw([columnLine(theme, 0, "seek", shortest)], theme);
  }
}

// The page: its state, and the views of one instant of the simulation.
import { columnLine, LineChart, lineSample } from "./chart";
import { type About, showControls } from "./controls";
import { compileCore, Core } from "./core";
import { Curves, NO_ENERGY } from "./curves";
import { drawDevice, drawQueue, drawTraces } from "./draw";
import { type Lesson, LessonView, lessonsOf, type Stage } from "./lesson";
import { type Instant, MOST_REQUESTS, nextOf, type Pending, Playback } from "./playback";
import {
  type Column, columnScenario, fromLink, get, type Json, type Link, MOST_COLUMNS, type Scenario, toCommand, toLink, toPython, toToml, withValue,
} from "./scenario";
import { describeSystem, systemName } from "./system";
import { readTheme, shown } from "./theme";

const DEFAULT: Scenario = {
  workload: { arrival: { kind: "poisson", rate_per_s: 1200 }, size_bytes: { kind: "fixed", value: 4096 }, read_fraction: 0.67 },
  system: { device: { name: "g2" }, scheduler: { name: "sptf" } },
  run: { requests: 2000 },
};

/** Bytes of a trace that are read: more than the drawn requests of any text format take. */
const TRACE_BYTES = 4_000_000;
/** Begin compressed files: gzip, Zstandard, bzip2, xz and zip; in hexadecimal. */
const COMPRESSED = ["1f8b", "28b52ffd", "425a68", "fd377a58", "504b0304"];
/** Rows of the table of pending requests. */
const MOST_ROWS = 40;
/** Time between two updates of texts while the simulation plays, ms. */
const TEXT_INTERVAL_MS = 120;

function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

class Explorer {
  private scenario: Scenario;
  private others: Column[];
  private playbacks: Playback[] = [];
  private atMs = 0;
  private isPlaying = false;
  private theme = readTheme();
  private lastFrame = 0;
  private lastText = 0;
  private link = "";
  private entries = new Map<string, any>();
  private readonly charts: { chart: LineChart; measure: string }[];
  private readonly curves: Curves;
  private readonly lessons: LessonView;
  /** The instant that the views show. */
  shownInstant: Instant | null = null;
  /** Times of the latest drawings, ms; for measurements. */
  readonly drawingMs: number[] = [];
  /** Time from the opening of the page to its first picture, ms. */
  firstPictureMs = NaN;

  constructor(
    private readonly core: Core,
    private readonly about: About,
    start: { scenario: Scenario; others: Column[]; atMs: number },
    lessons: Lesson[],
  ) {
    this.scenario = start.scenario;
    this.others = start.others;
    this.atMs = start.atMs;
    const chart = (id: string, measure: string, label: string) => ({
      chart: new LineChart(byId(id), "time (ms)", label, false, Infinity, NO_ENERGY),
      measure,
    });
    this.charts = [
      chart("chart-response", "mean_response_ms", "ms"),
      chart("chart-queue", "in_system", "requests"),
      chart("chart-energy", "energy_mj", "mJ"),
    ];
    this.curves = new Curves(core.module);
    this.lessons = new LessonView(lessons, this.stage(), byId("lesson-view"), byId("lesson"));
    this.listen();
  }

  /** Returns what the page does for lessons. */
  private stage(): Stage {
    return {
      show: ({ scenario, others, atMs, speed }) => {
        if (this.isPlaying) this.play(false);
        Object.assign(this, { scenario, others, atMs });
        this.run();
        if (speed !== null) byId<HTMLInputElement>("speed").value = String(Math.log10(speed));
        this.showSpeed();
      },
      place: (view) => this.placeViews(view),
      present: () => this.main.report.scenario,
      complete: (scenario) => this.core.command({ command: "run", scenario }).scenario,
      numbers: (scenario) => this.core.command({ command: "numbers", scenario }),
    };
  }

  /** Puts a view after the lesson, and the others in their order below. */
  private placeViews(current: string): void {
    const main = document.querySelector("main")!;
    main.classList.toggle("in-lesson", current !== "");
    const views = ["device", "queue", "compare", "controls", "curves"];
    for (const view of [...views.filter((view) => view === current), ...views.filter((view) => view !== current)]) {
      const section = byId(`${view}-view`);
      section.classList.toggle("current", view === current);
      main.append(section);
    }
    // The width of a moved view changes.
    if (this.playbacks.length > 0) this.redraw();
  }

  /** Opens a lesson. */
  startLesson(index: number): void {
    this.lessons.start(index);
  }

  /** Opens the step of a lesson that a link names. */
  restoreLesson(place: { lesson: number; step: number }): void {
    this.lessons.restore(place);
  }

  /** Runs the scenario and shows it. A fault leaves the last run as it is. */
  run(): void {
    let opened: Playback[] = [];
    try {
      opened.push(new Playback(this.core, this.scenario));
      for (const column of this.others) opened.push(new Playback(this.core, columnScenario(this.scenario, column)));
    } catch (error) {
      opened.forEach((playback) => playback.close());
      this.showFault(error);
      // The controls keep what was set, so that it can be corrected.
      if (this.playbacks.length > 0) this.showControls();
      else if (this.scenario !== DEFAULT) this.showDefault();
      return;
    }
    byId("fault").hidden = true;
    this.playbacks.forEach((playback) => playback.close());
    this.playbacks = opened;
    this.atMs = Math.min(this.atMs, this.main.endMs);
    const scrub = byId<HTMLInputElement>("scrub");
    scrub.max = String(this.main.endMs);
    this.showControls();
    this.showColumns();
    this.drawCharts();
    const names = this.playbacks.map((_, index) => this.columnName(index));
    this.curves.compute(this.scenario, this.main, this.others, names, this.theme);
    this.saveLink();
    this.draw(true);
    // A page around this one, such as a notebook, gets the results.
    if (window.parent !== window) {
      window.parent.postMessage({ from: "sledsim", scenario: this.scenario, report: this.main.report }, "*");
    }
  }

  /** Shows the default scenario beside a fault of the scenario of a link or a file. */
  private showDefault(): void {
    const fault = byId("fault").textContent;
    // What was set is kept, to be corrected elsewhere.
    byId<HTMLTextAreaElement>("copy-text").value = toToml(this.scenario);
    byId("copy-text-label").hidden = false;
    this.scenario = DEFAULT;
    this.others = [{ device: "g2", scheduler: "fcfs" }];
    this.run();
    byId("fault").textContent = `${fault}\nThe page shows its own example instead. The scenario of the link or file is below the controls, as text.`;
    byId("fault").hidden = false;
  }

  private get main(): Playback {
    return this.playbacks[0]!;
  }

  showFault(error: unknown): void {
    const box = byId("fault");
    box.textContent = error instanceof Error ? error.message : String(error);
    box.hidden = false;
  }

  /** Sets a key of the scenario and runs it. */
  private change(path: string, value: Json | undefined): void {
    this.scenario = withValue(this.scenario, path, value);
    if (path === "system") this.others = [];
    if (path === "system.device.name") {
      // Values of another kind of device do not apply to this one.
      const kept = this.about.devices.find(({ name }) => name === value)?.mechanism === this.mechanism;
      if (!kept) this.scenario = withValue(this.scenario, "system.device", { name: value as string });
      this.run();
      // A revolution of a disk takes ten times as long as a seek of a sled.
      if (!kept) byId<HTMLInputElement>("speed").value = this.mechanism === "mems" ? "0.3" : "1.3";
      this.showSpeed();
      return;
    }
    this.run();
  }

  private get mechanism(): string {
    return this.main.report.scenario.system.device?.mechanism ?? "";
  }

  private showControls(): void {
    const complete = this.main.report.scenario as Scenario;
    const name = String(get(complete, "system.device.name") ?? "");
    if (!this.entries.has(name)) {
      let entry: unknown;
      try {
        entry = this.core.command({ command: "device", name });
      } catch {
        entry = {};
      }
      this.entries.set(name, entry);
    }
    // Keys that are set show their own values, even if the run with them failed.
    const merged = merge(complete, this.scenario);
    showControls(byId("controls"), {
      about: this.about,
      scenario: this.scenario,
      complete: merged,
      mechanism: this.mechanism,
      entry: this.entries.get(name),
      change: (path, value) => this.change(path, value),
    });
  }

  private columnName(index: number): string {
    const { scenario } = this.main.report;
    const column = index === 0 ? null : this.others[index - 1]!;
    if (column) return `${column.device}, ${column.scheduler}`;
    return this.isDrive ? `${scenario.system.device.name}, ${scenario.system.scheduler.name}` : systemName(this.main);
  }

  /** True if the system is a drive alone. */
  private get isDrive(): boolean {
    return this.main.report.scenario.system.kind === "drive";
  }

  private showColumns(): void {
    const box = byId("columns");
    box.replaceChildren(...this.playbacks.map((_, index) => this.column(index)));
    byId("add-column").hidden = this.others.length >= MOST_COLUMNS - 1;
    const legend = byId("legend");
    const { mechanism } = this.main.shape;
    const isSled = mechanism === "mems";
    byId("queue-view").hidden = byId("traces").hidden = mechanism === "system";
    byId("device-title").textContent = mechanism === "system" && !this.isDrive ? "The system" : "The device";
    const reason = this.main.shape.mechanism === "system" && this.isDrive ? this.main.shape.reason : "";
    byId("drawing-note").textContent = mechanism === "system" ? `The numbers in the boxes are of the whole run. ${reason}` : "";
    const marks: [string, string, string][] = [
      ["●", "read", "read"],
      ["■", "write", "write"],
      ...(mechanism === "system" ? [] : ([["✕", "text", "in service"], ["◯", "next", "next choice"]] as [string, string, string][])),
      ...(isSled ? ([["→", "speed", "speed"], ["→", "force", "force of the actuator"], ["◆", "text", "tip (fixed)"]] as [string, string, string][]) : []),
    ];
    legend.replaceChildren(...marks.map(([mark, colour, text]) => legendMark(mark, `var(--${colour})`, text)));
    if (this.main.shape.mechanism === "mems") {
      const { tips, x_range_m } = this.main.shape;
      legend.append(made("span", `9 of ${shown(tips)} tips; each region is ${shown(Math.round(x_range_m * 1e6))} µm wide`));
    }
    const { capacity_gb } = this.main.report.device;
    const name = this.isDrive ? this.main.report.device.name : systemName(this.main);
    const under = this.isDrive ? `, under ${this.main.report.scheduler}` : "";
    byId("summary").textContent = `${name}, ${shown(capacity_gb)} GB${under}`;
  }

  private column(index: number): HTMLElement {
    const box = document.createElement("div");
    box.className = "column";
    box.style.setProperty("--column", this.theme.columns[index]!);
    const heading = document.createElement("h3");
    heading.append(lineSample(this.theme, index), this.columnName(index));
    box.append(heading, this.choices(index));
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Device of ${this.columnName(index)}`);
    const list = document.createElement("dl");
    box.append(canvas, list);
    return box;
  }

  private choices(index: number): HTMLElement {
    const row = document.createElement("div");
    row.className = "choices";
    const column = this.others[index - 1];
    if (!column) {
      row.textContent = "set by the controls";
      return row;
    }
    const select = (label: string, options: string[], value: string, set: (value: string) => Column) => {
      const made = document.createElement("select");
      made.setAttribute("aria-label", `${label} of column ${index + 1}`);
      for (const option of options) made.add(new Option(option, option));
      made.value = value;
      made.onchange = () => {
        this.others = this.others.map((other, place) => (place === index - 1 ? set(made.value) : other));
        this.run();
      };
      return made;
    };
    const devices = this.about.devices.map(({ name }) => name);
    const schedulers = this.about.schedulers.map(({ name }) => name);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.textContent = "✕";
    remove.setAttribute("aria-label", `Remove column ${index + 1}`);
    remove.onclick = () => {
      this.others = this.others.filter((_, place) => place !== index - 1);
      this.run();
    };
    row.append(
      select("Device", devices, column.device, (device) => ({ ...column, device })),
      select("Scheduler", schedulers, column.scheduler, (scheduler) => ({ ...column, scheduler })),
      remove,
    );
    return row;
  }

  private drawCharts(): void {
    for (const { chart, measure } of this.charts) {
      chart.draw(
        this.playbacks.map((playback, index) => columnLine(this.theme, index, this.columnName(index), playback.points(measure))),
        this.theme,
      );
      chart.reveal(this.atMs);
    }
  }

  /** Shows the instant: canvases each time, texts less often while the simulation plays. */
  draw(withTexts: boolean): void {
    const begin = performance.now();
    const instant = this.main.at(this.atMs);
    this.shownInstant = instant;
    const pending = this.main.pending(this.atMs);
    drawDevice(byId("device"), this.main, instant, pending, this.theme);
    if (this.main.shape.mechanism !== "system") {
      drawTraces(byId("traces"), this.main, instant, this.main.shape.mechanism === "mems" ? 4 : 40, this.theme);
      drawQueue(byId("queue"), this.main, instant, pending, this.theme);
    }
    const columns = [...byId("columns").children];
    this.playbacks.forEach((playback, index) => {
      const canvas = columns[index]?.querySelector("canvas");
      const isMain = index === 0;
      if (canvas) {
        const at = isMain ? instant : playback.at(this.atMs);
        drawDevice(canvas, playback, at, isMain ? pending : playback.pending(this.atMs), this.theme);
      }
    });
    byId<HTMLInputElement>("scrub").value = String(this.atMs);
    byId("clock").textContent = `${this.atMs.toFixed(3)} ms`;
    if (withTexts) this.drawTexts(pending);
    this.drawingMs.push(performance.now() - begin);
    if (Number.isNaN(this.firstPictureMs)) this.firstPictureMs = performance.now();
    if (this.drawingMs.length > 600) this.drawingMs.shift();
  }

  private drawTexts(pending: Pending[]): void {
    this.lastText = performance.now();
    const instant = this.main.at(this.atMs);
    const { requests, activities } = this.main;
    const request = requests[instant.request];
    const doing = activities[instant.activity] ?? "";
    const isSystem = this.main.shape.mechanism === "system";
    byId("status").textContent = isSystem
      ? `${describeSystem(this.main)}. Now ${instant.pending} in the system, ${instant.completed} completed.`
      : request
      ? `${doing}: ${request.isWrite ? "write" : "read"} of ${request.blocks} blocks at LBN ${request.lbn.toLocaleString("en-US")}; ${instant.pending} pending, ${instant.completed} completed.`
      : `${doing}; ${instant.pending} pending, ${instant.completed} completed.`;
    byId("device").setAttribute("aria-label", `The device at ${this.atMs.toFixed(3)} ms: ${byId("status").textContent}`);
    if (!isSystem) this.drawReason(pending, request ? request.lbn + request.blocks : (requests[instant.completed - 1]?.lbn ?? 0));
    this.playbacks.forEach((playback, index) => {
      const list = byId("columns").children[index]?.querySelector("dl");
      if (!list) return;
      const at = playback.measures(this.atMs);
      const { completed, pending, request } = playback.at(this.atMs);
      const rows: [string, number | null | undefined, string][] = [
        ["completed", completed, ""],
        ["mean response", completed > 0 ? at["mean_response_ms"] : null, " ms"],
        ["95th percentile", at["p95_response_ms"], " ms"],
        ["99th percentile", at["p99_response_ms"], " ms"],
        ["in the system", pending + (request < 0 ? 0 : 1), ""],
        ["utilisation", at["utilisation"] == null ? null : at["utilisation"] * 100, " %"],
        ["energy", at["energy_mj"], " mJ"],
      ];
      list.replaceChildren(
        ...rows.flatMap(([name, value, unit]) => [made("dt", name), made("dd", value == null ? "–" : `${shown(value)}${unit}`)]),
      );
    });
    for (const { chart } of this.charts) chart.reveal(this.atMs);
  }

  /** Explains the next choice: the rule of the scheduler, and the cost of each pending request. */
  private drawReason(pending: Pending[], fromLbn: number): void {
    const next = nextOf(pending);
    const name = this.main.report.scenario.system.scheduler.name;
    const rule = this.about.schedulers.find((scheduler) => scheduler.name === name);
    const byCost = [...pending].sort((a, b) => a.positioningMs - b.positioningMs);
    const text = byId("reason");
    const count = pending.length;
    if (!next) text.textContent = `${rule?.description ?? name} No request is pending.`;
    else {
      const cost = byCost.indexOf(next) + 1;
      const age = [...pending].sort((a, b) => b.waitedMs - a.waitedMs).indexOf(next) + 1;
      text.textContent =
        `${rule?.description ?? name} Next is request ${next.request}: of ${count} pending, it has the ${ranked(cost, "shortest")} positioning ` +
        `time and the ${ranked(age, "longest")} wait. Times are from the end of the present service.`;
    }
    const rows = byCost.slice(0, MOST_ROWS);
    if (next && !rows.includes(next)) rows.push(next);
    byId("candidates").replaceChildren(
      ...rows.map((each) => {
        const row = document.createElement("tr");
        if (each === next) row.className = "next";
        const cells = [
          `${each === next ? "▶ " : ""}${each.request}`,
          each.positioningMs.toFixed(3),
          each.waitedMs.toFixed(2),
          Math.abs(each.lbn - fromLbn).toLocaleString("en-US"),
        ];
        row.append(...cells.map((cell) => made("td", cell)));
        return row;
      }),
    );
  }

  /** Simulated ms in a second of playing. */
  private get speed(): number {
    return 10 ** Number(byId<HTMLInputElement>("speed").value);
  }

  private showSpeed(): void {
    byId("speed-text").textContent = `1 s shows ${shown(this.speed)} ms`;
  }

  play(isPlaying: boolean): void {
    if (isPlaying && this.atMs >= this.main.endMs) this.atMs = 0;
    this.isPlaying = isPlaying;
    byId("play").textContent = isPlaying ? "Pause" : "Play";
    byId("status").setAttribute("aria-live", isPlaying ? "off" : "polite");
    this.lastFrame = performance.now();
    if (isPlaying) requestAnimationFrame((now) => this.frame(now));
    else this.seek(this.atMs);
  }

  private frame(now: number): void {
    if (!this.isPlaying) return;
    this.atMs += (Math.max(0, now - this.lastFrame) / 1000) * this.speed;
    this.lastFrame = now;
    if (this.atMs >= this.main.endMs) {
      this.atMs = this.main.endMs;
      this.play(false);
      return;
    }
    this.draw(now - this.lastText > TEXT_INTERVAL_MS);
    requestAnimationFrame((later) => this.frame(later));
  }

  /** Goes to an instant. */
  seek(atMs: number): void {
    this.atMs = Math.min(Math.max(atMs, 0), this.main.endMs);
    this.draw(true);
    this.saveLink();
  }

  /** Goes to the start of the next or the previous request. */
  step(direction: 1 | -1): void {
    if (this.isPlaying) this.play(false);
    const starts = this.main.requests.map(({ startMs }) => startMs);
    const target = direction > 0 ? starts.find((start) => start > this.atMs + 1e-9) : starts.findLast((start) => start < this.atMs - 1e-9);
    this.seek(target ?? (direction > 0 ? this.main.endMs : 0));
  }

  /** Replays the first requests of a text trace. */
  private async replay(file: File): Promise<void> {
    try {
      const begin = [...new Uint8Array(await file.slice(0, 4).arrayBuffer())].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      if (COMPRESSED.some((mark) => begin.startsWith(mark))) {
        throw new Error(`${file.name} is compressed: unpack it first, for example with gunzip or unzstd, and drop the text.`);
      }
      let text = await file.slice(0, TRACE_BYTES).text();
      // The part that is read ends with a whole line.
      if (file.size > TRACE_BYTES) text = text.slice(0, text.lastIndexOf("\n") + 1);
      const trace = { name: file.name, text, most_records: MOST_REQUESTS };
      const facts = this.core.command({ command: "trace", ...trace });
      const workload = { kind: "trace", path: `memory:${file.name}`, fit: "wrap" };
      this.curves.setTrace(trace);
      this.atMs = 0;
      this.scenario = { ...withValue(this.scenario, "run", { requests: facts.records }), workload };
      this.run();
      byId("copied").textContent = `Replaying ${facts.records.toLocaleString("en-US")} requests of ${file.name} (format ${facts.format}).`;
    } catch (error) {
      this.showFault(error);
    }
  }

  private saveLink(): void {
    this.link = `#${toLink({ scenario: this.scenario, others: this.others, atMs: Number(this.atMs.toFixed(6)), place: this.lessons.place })}`;
    try {
      if (!this.isPlaying) history.replaceState(null, "", this.link);
    } catch {
      // A page inside another one may have no address of its own.
    }
  }

  private async copy(what: string): Promise<void> {
    this.saveLink();
    const texts: Record<string, string> = {
      toml: toToml(this.scenario),
      python: toPython(this.scenario),
      command: toCommand(this.scenario),
      link: location.href.replace(/#.*$/, "") + this.link,
    };
    const text = texts[what] ?? "";
    const area = byId<HTMLTextAreaElement>("copy-text");
    area.value = text;
    try {
      await navigator.clipboard.writeText(text);
      byId("copied").textContent = `Copied ${text.length} characters.`;
      byId("copy-text-label").hidden = true;
    } catch {
      // Some browsers let no page from a file write to the clipboard.
      byId("copied").textContent = "";
      byId("copy-text-label").hidden = false;
      area.focus();
      area.select();
    }
  }

  private listen(): void {
    byId("play").onclick = () => this.play(!this.isPlaying);
    byId("step").onclick = () => this.step(1);
    byId("back").onclick = () => this.step(-1);
    byId("scrub").oninput = (event) => {
      if (this.isPlaying) this.play(false);
      this.seek(Number((event.target as HTMLInputElement).value));
    };
    byId("speed").oninput = () => this.showSpeed();
    this.showSpeed();
    byId("add-column").onclick = () => {
      const { device, disk, scheduler } = this.main.report.scenario.system;
      const used = new Set([scheduler?.name, ...this.others.map((other) => other.scheduler)]);
      const unused = this.about.schedulers.find(({ name }) => !used.has(name))?.name ?? "fcfs";
      // Beside a cache of a disk, the disk alone.
      const beside = device?.name ?? disk?.device?.name ?? "g2";
      this.others = [...this.others, { device: beside, scheduler: device ? unused : "fcfs" }];
      this.run();
    };
    const input = byId<HTMLInputElement>("trace");
    input.onchange = () => {
      if (input.files?.[0]) void this.replay(input.files[0]);
    };
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.replay(file);
    });
    byId("restart").onclick = () => {
      this.scenario = DEFAULT;
      this.others = [{ device: "g2", scheduler: "fcfs" }];
      this.atMs = 0;
      this.run();
    };
    document.querySelectorAll<HTMLButtonElement>("[data-copy]").forEach((button) => {
      button.onclick = () => void this.copy(button.dataset["copy"]!);
    });
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      if (target.closest("input, select, textarea, button") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === " ") this.play(!this.isPlaying);
      else if (event.key === "ArrowRight") this.step(1);
      else if (event.key === "ArrowLeft") this.step(-1);
      else return;
      event.preventDefault();
    });
    window.addEventListener("hashchange", () => {
      if (location.hash === this.link || location.hash.length < 2) return;
      try {
        const { scenario, others, atMs, place } = fromLink(location.hash.slice(1));
        Object.assign(this, { scenario, others, atMs });
        if (place) this.restoreLesson(place);
        this.run();
      } catch (error) {
        this.showFault(error);
      }
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    let timer = 0;
    window.addEventListener("resize", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => this.redraw(), 100);
    });
  }

  /** Draws everything for another size or colour scheme. */
  private redraw(): void {
    this.theme = readTheme();
    if (this.playbacks.length === 0) return;
    this.showColumns();
    this.drawCharts();
    this.curves.draw(this.theme);
    this.draw(true);
  }
}

/** Returns a table with the values of another table over its own. */
function merge(under: Scenario, over: Scenario): Scenario {
  const merged: Scenario = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    const areTables = [below, value].every((each) => typeof each === "object" && each !== null && !Array.isArray(each));
    // A name stands for a table.
    const isName = typeof below === "object" && typeof value === "string";
    if (areTables) merged[key] = merge(below as Scenario, value as Scenario);
    else if (!isName) merged[key] = value;
  }
  return merged;
}

function made(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function legendMark(mark: string, colour: string, text: string): HTMLElement {
  const span = made("span", text);
  span.dataset["mark"] = mark;
  span.style.setProperty("--mark", colour);
  return span;
}

/** Returns a rank in words: "shortest", "2nd shortest". */
function ranked(rank: number, word: string): string {
  return rank === 1 ? word : `${ordinal(rank)} ${word}`;
}

function ordinal(number: number): string {
  const tens = number % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][number % 10] ?? "th");
  return `${number}${ending}`;
}

async function start(): Promise<void> {
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
    throw new Error(
      "This browser can't run the simulator, which needs WebAssembly and DecompressionStream: use Firefox 113, Chrome 80, Safari 16.4 " +
        "or later, or run `sledsim run` on the command line.",
    );
  }
  const core = new Core(await compileCore(byId("core").textContent ?? ""));
  const about: About = core.command({ command: "about" });
  byId("version").textContent = about.version;
  const begin = JSON.parse(byId("start").textContent ?? "{}") as { scenario?: Scenario; lessons?: Json; lesson?: number | null };
  const given = begin.scenario;
  let state: Link = { scenario: given ?? DEFAULT, others: [{ device: "g2", scheduler: "fcfs" }], atMs: 0 };
  if (given) {
    const device = String(get(given, "system.device.name") ?? get(given, "system.disk.device.name") ?? "g2");
    state.others = get(given, "system.scheduler.name") === "fcfs" ? [{ device, scheduler: "sptf" }] : [{ device, scheduler: "fcfs" }];
  }
  let fault: unknown;
  const hasLink = location.hash.length > 1;
  if (hasLink) {
    try {
      state = fromLink(location.hash.slice(1));
    } catch (error) {
      fault = error;
    }
  }
  document.querySelector("main")!.hidden = false;
  const explorer = new Explorer(core, about, state, lessonsOf(begin));
  explorer.run();
  if (state.place) explorer.restoreLesson(state.place);
  else if (begin.lesson != null && !hasLink) explorer.startLesson(begin.lesson);
  if (fault) explorer.showFault(fault);
  Object.assign(window, { explorer });
  const isQuiet = document.querySelector("main")!.classList.contains("in-lesson");
  if (!isQuiet && !matchMedia("(prefers-reduced-motion: reduce)").matches) explorer.play(true);
}

start().catch((error: unknown) => {
  const box = byId("fault");
  box.textContent = error instanceof Error ? error.message : String(error);
  box.hidden = false;
});

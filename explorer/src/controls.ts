// Controls: keys of the scenario, with unit, range and description from the schema and the source of a device's value.
import { get, type Json, type Scenario } from "./scenario";
import { shown } from "./theme";

export interface Schedule {
  name: string;
  title: string;
  description: string;
}

/** Facts of the simulator. */
export interface About {
  version: string;
  devices: { name: string; mechanism: string; title: string }[];
  schedulers: Schedule[];
  schema: any;
}

interface Control {
  path: string;
  label: string;
  /** Range of the slider, within that of the schema; on a logarithmic scale if it spans decades. */
  slider?: [number, number];
  /** Values of a choice, with their labels; an undefined value removes the key. */
  choices?: (about: About) => { value: Json | undefined; label: string; id: string }[];
  /** The key that a choice replaces, if it is not the control's own. */
  sets?: string;
  isShown?: (complete: Scenario, mechanism: string) => boolean;
}

const names = (values: string[]) => values.map((value) => ({ value, label: value, id: value }));

/** Returns a test for a value of the completed scenario. */
const has = (path: string, value: string) => (complete: Scenario) => get(complete, path) === value;

/** True if the system is a drive alone. */
const isDrive = has("system.kind", "drive");
const isCachingDisk = has("system.kind", "mcd");

/** Systems to choose from. */
const SYSTEMS: { value: Json; label: string; id: string }[] = [
  { value: { device: { name: "g2" }, scheduler: { name: "sptf" } }, label: "a drive", id: "drive" },
  {
    value: { kind: "mcd", mems: { device: { name: "hong2006" } }, disk: { device: { name: "atlas10k-50mb" } }, mems_bytes: 134_217_728, segment_bytes: 8192 },
    label: "MEMS cache of a disk",
    id: "mcd",
  },
  {
    value: { kind: "mwb", mems: { device: { name: "hong2006" } }, disk: { device: { name: "atlas10k-50mb" } }, mems_bytes: 134_217_728 },
    label: "MEMS write buffer of a disk",
    id: "mwb",
  },
  { value: { kind: "mirror", members: [{ count: 2, device: { name: "g2" } }] }, label: "mirror of two drives", id: "mirror" },
  { value: { kind: "raid5", members: [{ count: 5, device: { name: "g2" } }] }, label: "RAID 5 of five drives", id: "raid5" },
];

const CONTROLS: Control[] = [
  { path: "workload.arrival.rate_per_s", label: "Load (requests/s)", slider: [10, 5000], isShown: (complete) => get(complete, "workload.arrival.rate_per_s") !== undefined },
  {
    path: "workload.time_scale",
    label: "Time scale",
    slider: [0.1, 10],
    isShown: has("workload.kind", "trace"),
  },
  {
    path: "workload.fit",
    label: "Addresses beyond the device",
    choices: () => names(["error", "wrap", "scale"]),
    isShown: has("workload.kind", "trace"),
  },
  {
    path: "workload.location.kind",
    label: "Locality",
    sets: "workload.location",
    choices: () => [
      { value: { kind: "uniform" }, label: "uniform", id: "uniform" },
      { value: { kind: "local-walk", scale_bytes: 10_000_000 }, label: "local walk", id: "local-walk" },
      { value: { kind: "sequential", run_requests: 8 }, label: "sequential runs", id: "sequential" },
    ],
    isShown: has("workload.kind", "synthetic"),
  },
  {
    path: "workload.location.scale_bytes",
    label: "Mean distance (B)",
    slider: [1e4, 1e9],
    isShown: has("workload.location.kind", "local-walk"),
  },
  {
    path: "workload.location.run_requests",
    label: "Length of runs (requests)",
    slider: [1, 256],
    isShown: has("workload.location.kind", "sequential"),
  },
  { path: "workload.size_bytes.value", label: "Request size (B)", slider: [512, 1_048_576], isShown: has("workload.size_bytes.kind", "fixed") },
  { path: "workload.read_fraction", label: "Share of reads", slider: [0, 1], isShown: (complete) => get(complete, "workload.read_fraction") !== undefined },
  { path: "run.requests", label: "Requests", slider: [100, 5000] },
  { path: "seed", label: "Seed", slider: [1, 100] },
  { path: "system.kind", label: "System", sets: "system", choices: () => SYSTEMS },
  { path: "system.mems_bytes", label: "Size of the cache (B)", slider: [1e6, 2e9], isShown: isCachingDisk },
  { path: "system.segment_bytes", label: "Segment (B)", slider: [4096, 131_072], isShown: isCachingDisk },
  { path: "system.policy.name", label: "Replacement", choices: () => names(["lru", "fifo", "clock", "arc", "s3-fifo"]), isShown: isCachingDisk },
  {
    path: "system.device.name",
    label: "Device",
    isShown: isDrive,
    choices: (about) => about.devices.map(({ name, title }) => ({ value: name, label: `${name}: ${title.replace(/^[^:]*: /, "")}`, id: name })),
  },
  {
    path: "system.scheduler.name",
    label: "Scheduler",
    isShown: isDrive,
    choices: (about) => about.schedulers.map(({ name, title }) => ({ value: name, label: title, id: name })),
  },
  {
    path: "system.spin_down.name",
    label: "Spin-down",
    isShown: isDrive,
    sets: "system.spin_down",
    choices: () => [
      { value: undefined, label: "as the device", id: "" },
      { value: { name: "never" }, label: "never", id: "never" },
      { value: { name: "immediate" }, label: "immediate", id: "immediate" },
      { value: { name: "timeout", after_ms: 10 }, label: "after a timeout", id: "timeout" },
    ],
  },
  {
    path: "system.spin_down.after_ms",
    label: "Spin-down timeout",
    slider: [0.1, 10_000],
    isShown: has("system.spin_down.name", "timeout"),
  },
  { path: "system.device.spring_factor", label: "Springs", slider: [0, 0.95], isShown: (_, mechanism) => mechanism === "mems" },
  { path: "system.device.settle_constants", label: "Settling", slider: [0, 4], isShown: (_, mechanism) => mechanism === "mems" },
  { path: "system.device.active_tips", label: "Active tips", slider: [64, 6400], isShown: (_, mechanism) => mechanism === "mems" },
  {
    path: "system.device.seek_model",
    label: "Seek model",
    choices: () => names(["first-order", "decomposed", "time-optimal"]),
    isShown: (_, mechanism) => mechanism === "mems",
  },
  { path: "system.device.rotation_rpm", label: "Spindle speed", slider: [3600, 20_000], isShown: (_, mechanism) => mechanism === "disk" },
];

/** Returns the schema of a key, following the choices that the complete scenario makes. */
export function keySchema(schema: any, complete: Scenario, path: string): any {
  const deref = (node: any): any => {
    const name = node?.$ref?.split("/").pop();
    return name ? { ...deref(schema.$defs[name]), ...node, $ref: undefined } : node;
  };
  let node = deref(schema);
  let value: any = complete;
  for (const key of path.split(".")) {
    value = value?.[key];
    const found: any[] = [];
    const search = (option: any, parent: any): void => {
      const at = deref(option);
      if (!at) return;
      const fits = Object.entries(at.properties ?? {}).every(([name, property]: [string, any]) => {
        const fixed = property?.const;
        return fixed === undefined || parent?.[name] === undefined || parent[name] === fixed;
      });
      if (at.properties?.[key] && fits) found.push(deref(at.properties[key]));
      for (const inner of [...(at.oneOf ?? []), ...(at.anyOf ?? []), ...(at.allOf ?? [])]) search(inner, parent);
    };
    search(node, get(complete, path.slice(0, path.indexOf(key) - 1)) ?? complete);
    node = found[0];
    if (!node) return undefined;
  }
  return node;
}

/** Where a control's parts are. */
export interface Shown {
  about: About;
  /** The scenario as the user set it, and with every key. */
  scenario: Scenario;
  complete: Scenario;
  mechanism: string;
  /** Values of the device's catalogue entry, with sources. */
  entry: any;
  change: (path: string, value: Json | undefined) => void;
}

/** Builds all controls in a box, and keeps the focus. */
export function showControls(box: HTMLElement, shown: Shown): void {
  const focused = document.activeElement?.id;
  box.replaceChildren(
    ...CONTROLS.filter((control) => control.isShown?.(shown.complete, shown.mechanism) ?? true).map((control) => build(control, shown)),
  );
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

function build(control: Control, at: Shown): HTMLElement {
  const { path, label } = control;
  const id = `control-${path.replaceAll(".", "-")}`;
  const box = document.createElement("div");
  box.className = "control";
  const heading = document.createElement("label");
  heading.htmlFor = id;
  heading.textContent = label;
  const code = document.createElement("code");
  code.textContent = ` ${path.replace(/^system\./, "")}`;
  const row = document.createElement("div");
  row.className = "row";
  const schema = keySchema(at.about.schema, at.complete, path);
  const unit: string = schema?.["x-unit"] ?? "";
  const value = get(at.complete, path);
  row.append(...(control.choices ? choice(control, id, at, value) : numbers(control, id, at, schema, unit, value)));
  if (unit) row.append(unit);
  const target = control.sets ?? path;
  if (get(at.scenario, target) !== undefined && target.startsWith("system.device.") && path !== "system.device.name") {
    const reset = document.createElement("button");
    reset.type = "button";
    reset.textContent = "↺";
    reset.setAttribute("aria-label", `Reset ${label}`);
    reset.title = "Value of the device";
    reset.onclick = () => at.change(target, undefined);
    row.append(reset);
  }
  const hint = document.createElement("span");
  hint.className = "hint";
  hint.textContent = [range(schema, unit), source(path, at)].filter(Boolean).join(" · ");
  hint.id = `${id}-hint`;
  row.querySelector(`#${id}`)?.setAttribute("aria-describedby", hint.id);
  box.title = (schema?.description ?? "").replaceAll("\n", " ");
  box.append(heading, code, row, hint);
  return box;
}

function choice(control: Control, id: string, at: Shown, value: Json | undefined): HTMLElement[] {
  const select = document.createElement("select");
  select.id = id;
  const choices = control.choices!(at.about);
  for (const { label, id: name } of choices) select.add(new Option(label, name));
  const current = typeof value === "string" ? value : "";
  if (!choices.some(({ id: name }) => name === current)) select.add(new Option(current, current));
  select.value = current;
  select.onchange = () => {
    const chosen = choices.find(({ id: name }) => name === select.value);
    if (chosen) at.change(control.sets ?? control.path, chosen.value);
  };
  return [select];
}

function numbers(control: Control, id: string, at: Shown, schema: any, unit: string, value: Json | undefined): HTMLElement[] {
  const [low, high] = control.slider!;
  const isWhole = schema?.type === "integer" || (Array.isArray(schema?.type) && schema.type.includes("integer"));
  const isLog = low > 0 && high / low >= 50;
  const current = typeof value === "number" ? value : low;
  const box = document.createElement("input");
  box.type = "number";
  box.id = id;
  box.step = "any";
  if (schema?.minimum !== undefined) box.min = String(schema.minimum);
  if (schema?.maximum !== undefined) box.max = String(schema.maximum);
  box.value = String(isWhole ? current : Number(current.toPrecision(6)));
  const slider = document.createElement("input");
  slider.type = "range";
  slider.id = `${id}-slider`;
  slider.setAttribute("aria-label", `${control.label}${unit ? `, ${unit}` : ""}`);
  const [toSlider, fromSlider] = isLog ? [Math.log, Math.exp] : [(x: number) => x, (x: number) => x];
  slider.min = String(toSlider(low));
  slider.max = String(toSlider(high));
  slider.step = "any";
  slider.value = String(toSlider(Math.max(current, isLog ? low : -Infinity)));
  const rounded = (x: number) => (isWhole || x >= 1000 ? Math.round(x) : Number(x.toPrecision(3)));
  const target = control.sets ?? control.path;
  slider.oninput = () => {
    box.value = String(rounded(fromSlider(Number(slider.value))));
  };
  slider.onchange = () => at.change(target, rounded(fromSlider(Number(slider.value))));
  box.onchange = () => {
    if (box.value.trim() !== "") at.change(target, Number(box.value));
  };
  return [slider, box];
}

function range(schema: any, unit: string): string {
  const low = schema?.minimum ?? schema?.exclusiveMinimum;
  const high = schema?.maximum;
  if (low === undefined && high === undefined) return "";
  const from = schema?.exclusiveMinimum === undefined ? `from ${shown(low)}` : `above ${shown(low)}`;
  return `${from}${high === undefined ? "" : ` to ${shown(high)}`}${unit ? ` ${unit}` : ""}`;
}

/** Returns the source of a key's value. */
function source(path: string, at: Shown): string {
  const key = path.replace(/^system\.device\./, "");
  const value = key === path ? undefined : at.entry?.values?.[key];
  const given = get(at.scenario, path);
  const isSet = given !== undefined && given !== value?.value;
  if (value?.source) {
    const where = `${value.kind ?? "published"}: ${value.source}`;
    return isSet ? `set here (${where} has ${value.value})` : where;
  }
  return isSet ? "set here" : "default";
}

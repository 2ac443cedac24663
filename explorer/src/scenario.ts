// Scenarios as documents: keys by path, texts to copy, and links that hold them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Scenario = { [key: string]: Json };

function isTable(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value at a path such as `system.device.name`. */
export function get(scenario: Scenario, path: string): Json | undefined {
  let value: Json | undefined = scenario;
  for (const key of path.split(".")) value = isTable(value) ? value[key] : undefined;
  return value;
}

/** Returns the scenario with a value at a path; without the key if the value is undefined. A name such as `"g2"` becomes a table. */
export function withValue(scenario: Scenario, path: string, value: Json | undefined): Scenario {
  const [key, ...rest] = path.split(".");
  const changed: Scenario = { ...scenario };
  if (rest.length > 0) {
    const inner = scenario[key!];
    const table = isTable(inner) ? inner : typeof inner === "string" ? { name: inner } : {};
    const next = withValue(table, rest.join("."), value);
    if (Object.keys(next).length > 0) changed[key!] = next;
    else delete changed[key!];
  } else if (value === undefined) delete changed[key!];
  else changed[key!] = value;
  return changed;
}

function tomlValue(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (isTable(value)) {
    const pairs = Object.entries(value).filter(([, inner]) => inner !== null);
    return `{ ${pairs.map(([key, inner]) => `${tomlKey(key)} = ${tomlValue(inner)}`).join(", ")} }`;
  }
  return typeof value === "string" ? JSON.stringify(value) : numberText(value);
}

function tomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

function numberText(value: Json): string {
  // TOML needs a decimal point in numbers with an exponent only; JavaScript writes `1e+21`, which TOML and Python read.
  return String(value);
}

/** Returns the scenario as TOML. Absent values (null) are left out. */
export function toToml(scenario: Scenario, prefix = ""): string {
  const entries = Object.entries(scenario).filter(([, value]) => value !== null);
  const plain = entries.filter(([, value]) => !isTable(value));
  const lines = plain.map(([key, value]) => `${tomlKey(key)} = ${tomlValue(value)}`);
  for (const [key, value] of entries) {
    if (!isTable(value)) continue;
    const path = prefix + tomlKey(key);
    const text = toToml(value, `${path}.`);
    const hasOwn = Object.values(value).some((inner) => inner !== null && !isTable(inner));
    if (lines.length > 0 && hasOwn) lines.push("");
    if (hasOwn || Object.keys(value).length === 0) lines.push(`[${path}]`);
    lines.push(text.trimEnd());
  }
  return lines.join("\n").trim() + "\n";
}

function pythonValue(value: Json, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map((inner) => pythonValue(inner, indent)).join(", ")}]`;
  if (!isTable(value)) return JSON.stringify(value);
  const inner = indent + "    ";
  const lines = Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${pythonValue(item, inner)},`);
  return lines.length > 0 ? `{\n${lines.join("\n")}\n${indent}}` : "{}";
}

/** Returns a Python program that runs the scenario. */
export function toPython(scenario: Scenario): string {
  return `import sledsim\n\nresult = sledsim.run(${pythonValue(scenario, "")})\nprint(result)\n`;
}

/** Returns a shell command that runs the scenario. */
export function toCommand(scenario: Scenario): string {
  return `sledsim run - <<'SCENARIO'\n${toToml(scenario)}SCENARIO\n`;
}

/** A device and a scheduler beside those of the scenario, under the same requests. */
export interface Column {
  device: string;
  scheduler: string;
}

/** The state of the page that a link holds. */
export interface Link {
  scenario: Scenario;
  others: Column[];
  atMs: number;
  /** The step of a lesson that is open. */
  place?: { lesson: number; step: number } | null;
}

export function toLink(link: Link): string {
  const bytes = new TextEncoder().encode(JSON.stringify(link));
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns the state that a link holds. Throws an Error that says what is wrong with it. */
export function fromLink(text: string): Link {
  let link: Partial<Link> | null;
  try {
    const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    link = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new Error("The link is incomplete or damaged: copy it again, from # to its end.");
  }
  const { scenario, others, atMs, place } = link ?? {};
  const isColumn = (column: unknown) =>
    isTable(column as Json) && typeof (column as Column).device === "string" && typeof (column as Column).scheduler === "string";
  if (!isTable(scenario) || !Array.isArray(others) || others.length > MOST_COLUMNS - 1 || !others.every(isColumn)) {
    throw new Error("The link does not hold a scenario: copy it again from the page.");
  }
  const isPlace = [place?.lesson, place?.step].every((number) => Number.isInteger(number));
  return { scenario, others, atMs: typeof atMs === "number" && atMs >= 0 ? atMs : 0, place: isPlace ? place! : null };
}

/** Most devices side by side. */
export const MOST_COLUMNS = 4;

/** Returns the scenario of a column: the same requests for another device or scheduler. */
export function columnScenario(scenario: Scenario, column: Column): Scenario {
  // A system of several components is replaced by a drive.
  if (get(scenario, "system.device") === undefined) {
    return { ...scenario, system: { device: { name: column.device }, scheduler: { name: column.scheduler } } };
  }
  const device = get(scenario, "system.device.name") === column.device ? get(scenario, "system.device") : { name: column.device };
  const isSame = get(scenario, "system.scheduler.name") === column.scheduler;
  const scheduler = isSame ? get(scenario, "system.scheduler") : { name: column.scheduler };
  return withValue(withValue(scenario, "system.device", device), "system.scheduler", scheduler);
}

// Line charts and maps, as SVG and canvas.
import { DASHES, shown, type Theme } from "./theme";

export interface Line {
  name: string;
  colour: string;
  dash: string;
  points: [number, number][];
}

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 52, right: 28, top: 8, bottom: 34 };

function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Returns round values that cover a range. */
export function ticks(low: number, high: number, count: number): number[] {
  const span = high - low || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const found: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(tick);
  return found;
}

/** A chart of lines over a common axis. `reveal` shows the lines up to a place on the axis. */
export class LineChart {
  private clip: SVGElement | null = null;
  private toX: (x: number) => number = (x) => x;

  constructor(
    private readonly box: HTMLElement,
    private readonly xLabel: string,
    private readonly yLabel: string,
    private readonly logX = false,
    /** Largest value that is shown, as a multiple of the smallest. */
    private readonly most = Infinity,
    /** Text in place of a chart without points. */
    private readonly absent = "",
  ) {}

  draw(lines: Line[], theme: Theme): void {
    const width = Math.max(this.box.clientWidth, 240);
    const points = lines.flatMap((line) => line.points).filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
    const height = points.length > 0 ? Math.round(Math.min(300, Math.max(170, width * 0.45))) : 40;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    svg.setAttribute("aria-label", this.describe(lines));
    if (points.length > 0) this.fill(svg, lines, points, width, height, theme);
    else svg.append(element("text", { x: 4, y: 24, class: "tick" }, this.absent));
    this.box.replaceChildren(svg);
  }

  /** Shows the lines up to `x`. */
  reveal(x: number): void {
    this.clip?.setAttribute("width", String(Math.max(0, this.toX(x) - MARGIN.left)));
  }

  private describe(lines: Line[]): string {
    const ends = lines.map((line) => {
      const last = line.points.at(-1);
      return last ? `${line.name} ends at ${shown(last[1])}` : `${line.name} has no points`;
    });
    return `${this.yLabel} over ${this.xLabel}: ${ends.join("; ")}.`;
  }

  private fill(svg: SVGElement, lines: Line[], points: [number, number][], width: number, height: number, theme: Theme): void {
    const scale = (x: number) => (this.logX ? Math.log(x) : x);
    const xs = points.map(([x]) => x);
    const [lowX, highX] = [Math.min(...xs), Math.max(...xs)];
    const ys = points.map(([, y]) => y);
    const highest = Math.max(...ys);
    const highY = (Number.isFinite(this.most) ? Math.min(highest, this.most * Math.min(...ys)) : highest) || 1;
    const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    const part = (x: number) => (scale(x) - scale(lowX)) / (scale(highX) - scale(lowX) || 1);
    const toX = (x: number) => MARGIN.left + part(x) * inner.width;
    const toY = (y: number) => MARGIN.top + (1 - y / (highY * 1.05)) * inner.height;
    this.toX = toX;
    for (const tick of ticks(0, highY * 1.05, 4)) {
      const y = toY(tick);
      svg.append(element("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y, stroke: theme.line }));
      svg.append(element("text", { x: MARGIN.left - 6, y: y + 4, "text-anchor": "end", class: "tick" }, shown(tick)));
    }
    const xTicks = this.logX ? logTicks(lowX, highX) : ticks(lowX, highX, Math.max(2, Math.floor(inner.width / 55)));
    for (const tick of xTicks) {
      svg.append(element("text", { x: toX(tick), y: height - 20, "text-anchor": "middle", class: "tick" }, shown(tick)));
    }
    svg.append(element("text", { x: width - MARGIN.right, y: height - 4, "text-anchor": "end", class: "tick" }, this.xLabel));
    svg.append(element("text", { x: 4, y: height - 4, class: "tick" }, this.yLabel));
    const id = `clip-${Math.random().toString(36).slice(2)}`;
    const clipPath = element("clipPath", { id });
    this.clip = element("rect", { x: MARGIN.left, y: 0, width: inner.width + 4, height: height - MARGIN.bottom + 4 });
    clipPath.append(this.clip);
    svg.append(clipPath);
    const group = element("g", { "clip-path": `url(#${id})` });
    for (const { points: line, colour, dash } of lines) {
      const seen = line.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
      const path = seen.map(([x, y], index) => `${index ? "L" : "M"}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join("");
      const width = 2;
      group.append(element("path", { d: path, fill: "none", stroke: colour, "stroke-width": width, "stroke-dasharray": dash }));
      if (seen.length <= 30) {
        for (const [x, y] of seen) group.append(element("circle", { cx: toX(x), cy: toY(y), r: 2.5, fill: colour }));
      }
    }
    svg.append(group);
  }
}

function logTicks(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const factor of high / low < 30 ? [1, 2, 5] : [1]) {
      const tick = factor * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) found.push(tick);
    }
  }
  return found;
}

/** Returns a sample of the line of a column. */
export function lineSample(theme: Theme, index: number): SVGElement {
  const sample = element("svg", { viewBox: "0 0 34 8", "aria-hidden": "true" });
  const { colour, dash } = columnLine(theme, index, "", []);
  sample.append(element("path", { d: "M0 4H34", stroke: colour, "stroke-width": 3, "stroke-dasharray": dash }));
  return sample;
}

/** Returns the line of a column. */
export function columnLine(theme: Theme, index: number, name: string, points: [number, number][]): Line {
  return { name, colour: theme.columns[index]!, dash: DASHES[index]!, points };
}

/** Draws a map of values as shades, the smallest darkest in light schemes. */
export function drawMap(canvas: HTMLCanvasElement, rows: number[][]): void {
  const [height, width] = [rows.length, rows[0]?.length ?? 0];
  const values = rows.flat();
  const [low, high] = [Math.min(...values), Math.max(...values)];
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context || width === 0) return;
  const image = context.createImageData(width, height);
  rows.forEach((row, y) =>
    row.forEach((value, x) => {
      const shade = viridis((value - low) / (high - low || 1));
      // Rows are counted upwards.
      image.data.set([...shade, 255], 4 * ((height - 1 - y) * width + x));
    }),
  );
  context.putImageData(image, 0, 0);
}

/** Colours of the scale viridis, which is readable with colour-blindness and without colour. */
const VIRIDIS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

function viridis(part: number): number[] {
  const place = Math.min(Math.max(part, 0), 1) * (VIRIDIS.length - 1);
  const index = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return VIRIDIS[index]!.map((low, channel) => low + (place - index) * (VIRIDIS[index + 1]![channel]! - low));
}

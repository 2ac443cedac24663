// A system of several components as boxes, from the top to its drives. Its numbers are those of the whole run.
import type { Instant, Playback } from "./playback";
import { shown, type Theme } from "./theme";

interface Component {
  path: string;
  parent: string | null;
  kind: string;
  name: string | null;
  requests: number;
  counts: { name: string; value: number }[];
  mechanisms: { utilisation: number } | null;
}

/** Kinds of components in words. */
const KINDS: Record<string, string> = {
  drive: "drive",
  mcd: "MEMS cache of a disk",
  mwb: "MEMS write buffer of a disk",
  "ram-cache": "RAM cache",
  mirror: "mirror",
  stripe: "stripe",
  raid5: "RAID 5",
  raid6: "RAID 6",
  volumes: "volumes",
  tiers: "tiers",
};

/** Most components that are drawn below another. */
const MOST_BESIDE = 6;

function percent(part: number): string {
  return `${shown(Number((part * 100).toFixed(1)))} %`;
}

/** Returns the components of a report; a drive alone is one. */
export function componentsOf(playback: Playback): Component[] {
  const { report } = playback;
  if (report.components?.length > 0) return report.components;
  const { utilisation, device, requests } = report;
  return [{ path: "system", parent: null, kind: "drive", name: device.name, requests: requests.completed, counts: [], mechanisms: { utilisation: utilisation?.fraction ?? 0 } }];
}

/** Returns the name of the system at the top. */
export function systemName(playback: Playback): string {
  const { kind, name } = componentsOf(playback)[0]!;
  return name ?? KINDS[kind] ?? kind;
}

/** Returns the lines of a component: its name, and what it did. */
function linesOf({ kind, name, requests, counts, mechanisms }: Component): string[] {
  const hits = counts.find((count) => count.name === "hit_ratio");
  return [
    name ?? KINDS[kind] ?? kind,
    `${shown(requests)} requests`,
    ...(hits ? [`hits ${percent(hits.value)}`] : []),
    ...(kind === "drive" && mechanisms ? [`busy ${percent(mechanisms.utilisation)}`] : []),
  ];
}

/** Describes the system in words. */
export function describeSystem(playback: Playback): string {
  return componentsOf(playback)
    .slice(0, 8)
    .map((component) => linesOf(component).join(", "))
    .join("; ");
}

/** Draws the system, and beside it the requests that are in it at an instant. */
export function drawSystem(context: CanvasRenderingContext2D, width: number, height: number, playback: Playback, at: Instant, theme: Theme): void {
  const components = componentsOf(playback);
  const below = (path: string | null) => components.filter(({ parent }) => parent === path);
  const levels: { component: Component; from: number; to: number }[][] = [];
  // Each component shares the width of its parent with those beside it.
  const lay = (component: Component, level: number, from: number, to: number): void => {
    (levels[level] ??= []).push({ component, from, to });
    const children = below(component.path).slice(0, MOST_BESIDE);
    children.forEach((child, index) => {
      const share = (to - from) / children.length;
      lay(child, level + 1, from + index * share, from + (index + 1) * share);
    });
  };
  const root = below(null)[0] ?? components[0]!;
  const queueHeight = Math.min(54, height * 0.2);
  lay(root, 0, 0, width);
  const step = (height - queueHeight) / levels.length;
  const size = height < 260 ? 11 : 13;
  const line = size * 1.35;
  const centre = new Map<string, { x: number; top: number; bottom: number }>();
  levels.forEach((row, level) => {
    for (const { component, from, to } of row) {
      const lines = linesOf(component);
      const boxHeight = Math.min(step - 10, lines.length * line + 10);
      const boxWidth = Math.min(to - from - 8, 230);
      const [x, top] = [(from + to) / 2, queueHeight + level * step + (step - boxHeight) / 2];
      centre.set(component.path, { x, top, bottom: top + boxHeight });
      const parent = component.parent === null ? { x, bottom: queueHeight } : centre.get(component.parent);
      if (parent) {
        // As wide as the part of the requests that goes this way.
        const most = Math.max(root.requests, component.requests, 1);
        context.strokeStyle = theme.read;
        context.globalAlpha = 0.55;
        context.lineWidth = 1 + (13 * component.requests) / most;
        context.beginPath();
        context.moveTo(parent.x, parent.bottom);
        context.lineTo(x, top);
        context.stroke();
        context.globalAlpha = 1;
      }
      context.fillStyle = theme.plate;
      context.strokeStyle = theme.muted;
      context.lineWidth = 1.5;
      context.fillRect(x - boxWidth / 2, top, boxWidth, boxHeight);
      context.strokeRect(x - boxWidth / 2, top, boxWidth, boxHeight);
      context.save();
      context.beginPath();
      context.rect(x - boxWidth / 2, top, boxWidth, boxHeight);
      context.clip();
      lines.forEach((text, index) => {
        context.font = `${index === 0 ? "600 " : ""}${size}px system-ui, sans-serif`;
        context.fillStyle = index === 0 ? theme.text : theme.muted;
        context.textAlign = "center";
        context.fillText(text, x, top + line * (index + 1) + 1, boxWidth - 8);
      });
      context.restore();
    }
  });
  const hidden = components.length - levels.flat().length;
  context.font = `${size}px system-ui, sans-serif`;
  context.fillStyle = theme.muted;
  if (hidden > 0) {
    context.textAlign = "right";
    context.fillText(`and ${hidden} more`, width - 6, height - 4);
  }
  drawQueueOfSystem(context, width, queueHeight, playback, at, theme, size);
}

/** Draws the requests in the system at an instant: circles for reads, squares for writes. */
function drawQueueOfSystem(
  context: CanvasRenderingContext2D, width: number, height: number, playback: Playback, at: Instant, theme: Theme, size: number,
): void {
  const within = playback.within(at.atMs, 60);
  context.textAlign = "left";
  context.fillStyle = theme.text;
  context.fillText(`${at.pending} in the system, ${at.completed} completed`, 6, size + 3);
  const radius = Math.min(5, (height - size - 6) / 3);
  within.forEach(({ isWrite }, index) => {
    const x = 10 + index * radius * 2.6;
    const y = size + 8 + radius;
    if (x > width - 8) return;
    context.fillStyle = isWrite ? theme.write : theme.read;
    context.beginPath();
    if (isWrite) context.rect(x - radius * 0.85, y - radius * 0.85, radius * 1.7, radius * 1.7);
    else context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  });
}

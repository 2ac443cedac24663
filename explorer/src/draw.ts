// Drawings of devices at an instant. Positions come from the simulator; here they are only scaled.
import type { DiskShape, Instant, MemsShape, Pending, Playback } from "./playback";
import { nextOf } from "./playback";
import { drawSystem } from "./system";
import type { Theme } from "./theme";

/** A canvas that follows the size of its box and the resolution of the screen. */
export function prepare(canvas: HTMLCanvasElement): { context: CanvasRenderingContext2D; width: number; height: number } | null {
  const context = canvas.getContext("2d");
  if (!context) return null;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    canvas.width = pixelWidth;
    canvas.height = pixelHeight;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** Draws the device of a playback; `pending` are the marks on its medium. */
export function drawDevice(canvas: HTMLCanvasElement, playback: Playback, instant: Instant, pending: Pending[], theme: Theme): void {
  const prepared = prepare(canvas);
  if (!prepared) return;
  const { context, width, height } = prepared;
  if (playback.shape.mechanism === "system") drawSystem(context, width, height, playback, instant, theme);
  else if (playback.shape.mechanism === "mems") drawSled(context, width, height, playback.shape, playback, instant, pending, theme);
  else drawDisk(context, width, height, playback.shape, playback, instant, pending, theme);
}

type Context = CanvasRenderingContext2D;

function label(context: Context, x: number, y: number, text: string, colour: string, align: CanvasTextAlign = "left"): void {
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = colour;
  context.textAlign = align;
  context.fillText(text, x, y);
}

/** Draws requests: circles for reads, squares for writes. `place` gives the point of each. */
function marks(context: Context, pending: Pending[], place: (each: Pending) => readonly [number, number], size: number, theme: Theme): void {
  for (const isWrite of [false, true]) {
    context.fillStyle = isWrite ? theme.write : theme.read;
    context.beginPath();
    for (const each of pending) {
      if (each.isWrite !== isWrite) continue;
      const [x, y] = place(each);
      if (isWrite) context.rect(x - size * 0.85, y - size * 0.85, size * 1.7, size * 1.7);
      else {
        context.moveTo(x + size, y);
        context.arc(x, y, size, 0, 2 * Math.PI);
      }
    }
    context.fill();
  }
}

function ring(context: Context, x: number, y: number, size: number, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 2.5;
  context.beginPath();
  context.arc(x, y, size, 0, 2 * Math.PI);
  context.stroke();
}

function arrow(context: Context, x: number, y: number, dx: number, dy: number, colour: string, width: number): void {
  const length = Math.hypot(dx, dy);
  if (length < 2) return;
  const head = Math.min(10, length * 0.6);
  const angle = Math.atan2(dy, dx);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx - Math.cos(angle) * head * 0.7, y + dy - Math.sin(angle) * head * 0.7);
  context.stroke();
  context.beginPath();
  context.moveTo(x + dx, y + dy);
  for (const side of [-0.45, 0.45]) context.lineTo(x + dx - head * Math.cos(angle + side), y + dy - head * Math.sin(angle + side));
  context.fill();
}

/** Draws a spring between two points. */
function spring(context: Context, x0: number, y0: number, x1: number, y1: number, colour: string): void {
  const turns = 6;
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [alongX, alongY] = [(x1 - x0) / length, (y1 - y0) / length];
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x0, y0);
  for (let turn = 0; turn < 2 * turns; turn++) {
    const part = 0.08 + (0.84 * (turn + 0.5)) / (2 * turns);
    const side = turn % 2 === 0 ? 6 : -6;
    context.lineTo(x0 + part * (x1 - x0) - alongY * side, y0 + part * (y1 - y0) + alongX * side);
  }
  context.lineTo(x1, y1);
  context.stroke();
}

/** Draws the place of the request in service. */
function cross(context: Context, x: number, y: number, size: number, theme: Theme): void {
  context.strokeStyle = theme.text;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
}

/** Tip regions on each side of the drawing. */
const REGIONS = 3;

/**
 * Draws part of a sled to scale: the medium of nine tips moves over the tips, which are fixed. A point of the medium with the
 * coordinates of the simulator is under a tip when the sled has these coordinates.
 */
function drawSled(
  context: Context, width: number, height: number, shape: MemsShape, playback: Playback, at: Instant, pending: Pending[], theme: Theme,
): void {
  const region = Math.min(width, height) / (REGIONS + 1.75);
  const [scaleX, scaleY] = [region / shape.x_range_m, region / shape.y_range_m];
  const [cx, cy] = [width / 2, height / 2];
  const [px, py] = [cx - at.x * scaleX, cy + at.y * scaleY];
  const half = (REGIONS * region) / 2;
  const frame = half + region * 0.83;
  context.fillStyle = theme.surface;
  context.fillRect(cx - frame, cy - frame, 2 * frame, 2 * frame);
  context.strokeStyle = theme.muted;
  context.lineWidth = 2;
  context.strokeRect(cx - frame, cy - frame, 2 * frame, 2 * frame);
  const pulls: [number, number, number, number][] = [
    [cx - frame, cy, px - half, py],
    [cx + frame, cy, px + half, py],
    [cx, cy - frame, px, py - half],
    [cx, cy + frame, px, py + half],
  ];
  for (const [x0, y0, x1, y1] of pulls) spring(context, x0, y0, x1, y1, theme.muted);
  context.fillStyle = theme.plate;
  context.fillRect(px - half, py - half, 2 * half, 2 * half);
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  if (region > 60 && shape.rows.length <= 64) {
    context.globalAlpha = 0.6;
    context.beginPath();
    for (let row = -1; row <= 1; row++) {
      for (const [low] of shape.rows) {
        const y = py + row * region - low * scaleY;
        context.moveTo(px - half, y);
        context.lineTo(px + half, y);
      }
    }
    context.stroke();
    context.globalAlpha = 1;
  }
  context.strokeStyle = theme.muted;
  context.beginPath();
  for (let line = 0; line <= REGIONS; line++) {
    const offset = -half + line * region;
    context.moveTo(px + offset, py - half);
    context.lineTo(px + offset, py + half);
    context.moveTo(px - half, py + offset);
    context.lineTo(px + half, py + offset);
  }
  context.stroke();
  const size = Math.max(1.6, region / 40);
  const next = nextOf(pending);
  // Each request is at the same place of all regions. Long queues are drawn in the middle one only.
  const reach = pending.length > 100 ? 0 : 1;
  for (let row = -reach; row <= reach; row++) {
    for (let column = -reach; column <= reach; column++) {
      context.globalAlpha = row === 0 && column === 0 ? 1 : 0.3;
      const place = (each: Pending) => [px + column * region + each.x * scaleX, py + row * region - each.y * scaleY] as const;
      marks(context, pending, place, size, theme);
      if (next) ring(context, ...place(next), size * 2.2, theme.next);
      if (at.request >= 0) cross(context, px + column * region + at.target.x * scaleX, py + row * region - at.target.y * scaleY, size * 1.6, theme);
    }
  }
  context.globalAlpha = 1;
  const isActive = playback.activities[at.activity] === "transferring";
  for (let row = -1; row <= 1; row++) {
    for (let column = -1; column <= 1; column++) tip(context, cx + column * region, cy + row * region, region / 14, isActive, theme);
  }
  // The largest speed of a move over the whole travel.
  const most = Math.sqrt(shape.acceleration_x_m_s2 * shape.x_range_m);
  const length = region * 0.9;
  arrow(context, px, py, (-at.speedX / most) * length, (at.speedY / most) * length, theme.speed, 3);
  arrow(context, px, py, -at.forceX * length * 0.7, at.forceY * length * 0.7, theme.force, 3);
}

function tip(context: Context, x: number, y: number, size: number, isActive: boolean, theme: Theme): void {
  context.strokeStyle = theme.text;
  context.fillStyle = isActive ? theme.next : theme.surface;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
  context.closePath();
  context.fill();
  context.stroke();
}

/** The innermost track, as a part of the radius. */
const INNER = 0.4;

/** Draws a disk from above: platter, arms, and the pending requests at their tracks and angles. */
function drawDisk(
  context: Context, width: number, height: number, shape: DiskShape, playback: Playback, at: Instant, pending: Pending[], theme: Theme,
): void {
  const radius = Math.min(width / 2.75, height / 2.15);
  const [cx, cy] = [width / 2 - radius * 0.28, height / 2];
  const pivot = { x: cx + radius * 1.35, y: cy + radius * 0.55 };
  const reach = Math.hypot(pivot.x - (cx + radius * 0.7), pivot.y - cy);
  const metres = 1e-6 * Math.max(shape.cylinders - 1, 1);
  const radiusOf = (x: number) => radius * (0.97 - (0.97 - INNER) * (x / metres));
  /** Returns the head of an arm at a radius: where its circle meets the track. */
  const headAt = (r: number) => {
    const distance = Math.hypot(pivot.x - cx, pivot.y - cy);
    const toPivot = Math.atan2(pivot.y - cy, pivot.x - cx);
    const cosine = (r * r + distance * distance - reach * reach) / (2 * r * distance);
    return toPivot - Math.acos(Math.min(Math.max(cosine, -1), 1));
  };
  const circle = (r: number) => {
    context.beginPath();
    context.arc(cx, cy, r, 0, 2 * Math.PI);
  };
  context.fillStyle = theme.plate;
  circle(radius);
  context.fill();
  context.strokeStyle = theme.muted;
  context.lineWidth = 1.5;
  context.stroke();
  context.strokeStyle = theme.line;
  context.lineWidth = 1;
  for (const { first_cylinder } of shape.zones) {
    circle(radiusOf(first_cylinder * 1e-6));
    context.stroke();
  }
  const headRadius = radiusOf(at.x);
  const zone = shape.zones.findLast(({ first_cylinder }) => first_cylinder * 1e-6 <= at.x + 1e-9) ?? shape.zones[0];
  const headAngle = headAt(headRadius);
  // Sectors of the track under the head, which pass in the order of their angles.
  if (zone && radius > 90) {
    context.strokeStyle = theme.muted;
    context.globalAlpha = 0.7;
    context.beginPath();
    for (let sector = 0; sector < zone.sectors; sector++) {
      const angle = headAngle + 2 * Math.PI * (sector / zone.sectors - at.turn);
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
      context.moveTo(cx + (headRadius - 3) * cosine, cy + (headRadius - 3) * sine);
      context.lineTo(cx + (headRadius + 3) * cosine, cy + (headRadius + 3) * sine);
    }
    context.stroke();
    context.globalAlpha = 1;
  }
  // The mark of angle 0.
  const index = headAt(radius * 0.97) - 2 * Math.PI * at.turn;
  context.strokeStyle = theme.text;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(cx + radius * 0.99 * Math.cos(index), cy + radius * 0.99 * Math.sin(index));
  context.lineTo(cx + radius * 1.04 * Math.cos(index), cy + radius * 1.04 * Math.sin(index));
  context.stroke();
  context.fillStyle = theme.surface;
  circle(radius * INNER * 0.55);
  context.fill();
  context.strokeStyle = theme.muted;
  context.stroke();
  const next = nextOf(pending);
  const size = Math.max(1.8, radius / 60);
  const place = (each: { x: number; turn: number }) => {
    const r = radiusOf(each.x);
    // With two arms, half a revolution brings a sector from one arm to the next.
    const angle = headAt(r) + (2 * Math.PI * (each.turn - at.turn * shape.actuators)) / shape.actuators;
    return [cx + r * Math.cos(angle), cy + r * Math.sin(angle)] as const;
  };
  marks(context, pending, place, size, theme);
  if (next) ring(context, ...place(next), size * 2.4, theme.next);
  if (at.request >= 0) cross(context, ...place(at.target), size * 1.8, theme);
  const isActive = playback.activities[at.activity] === "transferring";
  const arm = (x: number, mirrored: boolean) => {
    const sign = mirrored ? -1 : 1;
    const r = radiusOf(x);
    const angle = headAt(r);
    const head = { x: cx + sign * r * Math.cos(angle), y: cy + sign * r * Math.sin(angle) };
    const from = { x: cx + sign * (pivot.x - cx), y: cy + sign * (pivot.y - cy) };
    context.strokeStyle = theme.text;
    context.lineCap = "round";
    context.lineWidth = Math.max(3, radius / 28);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(head.x, head.y);
    context.stroke();
    context.lineCap = "butt";
    context.fillStyle = theme.text;
    context.beginPath();
    context.arc(from.x, from.y, radius / 14, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = isActive ? theme.next : theme.surface;
    context.strokeStyle = theme.text;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(head.x, head.y, Math.max(3.5, radius / 34), 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  };
  arm(at.x, false);
  if (shape.actuators > 1) arm(at.y, true);
}

/**
 * Draws the pending requests as the scheduler sees them. For a sled: the region of a tip. For a disk: cylinders across, and upwards the
 * turn of the platter until a sector passes under the head.
 */
export function drawQueue(canvas: HTMLCanvasElement, playback: Playback, at: Instant, pending: Pending[], theme: Theme): void {
  const prepared = prepare(canvas);
  if (!prepared) return;
  const { context, width, height } = prepared;
  const shape = playback.shape;
  if (shape.mechanism === "system") return;
  const box = { left: 34, top: 8, width: width - 44, height: height - 34 };
  context.fillStyle = theme.plate;
  context.fillRect(box.left, box.top, box.width, box.height);
  context.strokeStyle = theme.line;
  context.strokeRect(box.left, box.top, box.width, box.height);
  const place =
    shape.mechanism === "mems"
      ? (x: number, y: number) => [0.5 + x / shape.x_range_m, 0.5 + y / shape.y_range_m] as const
      : (x: number, _: number, turn: number) => [x / (1e-6 * shape.cylinders), (((turn - at.turn * shape.actuators) % 1) + 1) % 1] as const;
  const toScreen = ([across, up]: readonly [number, number]) =>
    [box.left + across * box.width, box.top + (1 - up) * box.height] as const;
  const here = toScreen(shape.mechanism === "mems" ? place(at.x, at.y, 0) : place(at.x, 0, at.turn * shape.actuators));
  const next = nextOf(pending);
  const size = pending.length > 150 ? 2.5 : 4;
  marks(context, pending, (each) => toScreen(place(each.x, each.y, each.turn)), size, theme);
  if (next) {
    const [x, y] = toScreen(place(next.x, next.y, next.turn));
    context.strokeStyle = theme.next;
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(here[0], here[1]);
    context.lineTo(x, y);
    context.stroke();
    context.setLineDash([]);
    ring(context, x, y, size * 2.2, theme.next);
  }
  if (at.request >= 0) cross(context, ...toScreen(place(at.target.x, at.target.y, at.target.turn)), size * 1.5, theme);
  tip(context, here[0], here[1], 7, playback.activities[at.activity] === "transferring", theme);
  const [acrossLabel, upLabel] = shape.mechanism === "mems" ? ["x (cylinder) →", "y (row)"] : ["cylinder →", "turn"];
  label(context, box.left + box.width, height - 8, acrossLabel, theme.muted, "right");
  context.save();
  context.translate(20, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  label(context, 0, 0, shape.mechanism === "mems" ? `${upLabel} →` : `${upLabel} until it passes the head →`, theme.muted, "center");
  context.restore();
}

/** Draws position, speed and force of a device around an instant, from the simulator's states. */
export function drawTraces(canvas: HTMLCanvasElement, playback: Playback, at: Instant, spanMs: number, theme: Theme): void {
  const prepared = prepare(canvas);
  if (!prepared) return;
  const { context, width, height } = prepared;
  const isSled = playback.shape.mechanism === "mems";
  const points = Math.min(160, Math.max(60, Math.floor(width / 4)));
  const states = Array.from({ length: points + 1 }, (_, index) => playback.at(at.atMs + (index / points - 0.5) * spanMs));
  const rows: { name: string; unit: string; factor: number; of: (state: Instant) => number; colour: string; digits?: number }[] = isSled
    ? [
        { name: "x", unit: "µm", factor: 1e6, of: (state) => state.x, colour: theme.text },
        { name: "y", unit: "µm", factor: 1e6, of: (state) => state.y, colour: theme.text },
        { name: "speed y", unit: "mm/s", factor: 1e3, of: (state) => state.speedY, colour: theme.speed },
        { name: "force y", unit: "%", factor: 100, of: (state) => state.forceY, colour: theme.force },
      ]
    : [
        { name: "cylinder", unit: "", factor: 1e6, of: (state) => state.x, colour: theme.text, digits: 0 },
        { name: "turn", unit: "°", factor: 360, of: (state) => state.turn, colour: theme.speed },
      ];
  const each = height / rows.length;
  rows.forEach(({ name, unit, factor, of, colour, digits = 1 }, row) => {
    const values = states.map((state) => of(state) * factor);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const [top, bottom] = [row * each + 21, (row + 1) * each - 5];
    const toY = (value: number) => bottom - ((value - low) / (high - low || 1)) * (bottom - top);
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    context.strokeRect(0.5, row * each + 2.5, width - 1, each - 4);
    context.strokeStyle = colour;
    context.lineWidth = 1.8;
    context.beginPath();
    values.forEach((value, index) => context.lineTo((index / points) * width, toY(value)));
    context.stroke();
    context.strokeStyle = theme.next;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(width / 2, row * each + 2);
    context.lineTo(width / 2, (row + 1) * each - 2);
    context.stroke();
    const shown = `${name} ${(of(at) * factor).toFixed(digits)} ${unit}`;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = theme.surface;
    context.fillRect(2, row * each + 4, context.measureText(shown).width + 6, 14);
    label(context, 5, row * each + 15, shown, theme.text);
  });
}

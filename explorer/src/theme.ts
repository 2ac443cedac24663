// Colours of canvases and charts, from the style sheet.

export interface Theme {
  text: string;
  muted: string;
  line: string;
  surface: string;
  plate: string;
  read: string;
  write: string;
  next: string;
  speed: string;
  force: string;
  columns: string[];
}

/** Returns the colours of the current colour scheme. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"),
    muted: colour("muted"),
    line: colour("line"),
    surface: colour("surface"),
    plate: colour("plate"),
    read: colour("read"),
    write: colour("write"),
    next: colour("next"),
    speed: colour("speed"),
    force: colour("force"),
    columns: [1, 2, 3, 4].map((number) => colour(`column-${number}`)),
  };
}

/** Dashes that distinguish the lines of columns without colour. */
export const DASHES = ["", "7 4", "2 3", "9 3 2 3"];

/** Returns a whole number as it is, and others with about three significant digits. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en-US");
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1) return value.toFixed(2);
  return String(Number(value.toPrecision(2)));
}

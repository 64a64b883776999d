import type { AdminEvent, AdminToolCall } from '../../core/contracts/admin.ts';

/** A bar of a trace: where it begins and how long it is, in percent of the whole. */
export interface Bar {
  event: AdminEvent;
  depth: number;
  left: number;
  width: number;
}

/** The least visible width, in percent. */
const LEAST = 0.8;

/** The phases of a tool call as bars, parents before their children, by when they began. */
export function toBars({ root, spans }: Pick<AdminToolCall, 'root' | 'spans'>): Bar[] {
  const begin = Date.parse(root.startedAt);
  // Starts are rounded to milliseconds, durations are not, so a phase can end after its root.
  const end = Math.max(
    ...[root, ...spans].map((event) => Date.parse(event.startedAt) - begin + event.durationMs),
    0.001,
  );
  const children = new Map<string, AdminEvent[]>();
  for (const span of spans) {
    const parent = span.parentSpanId ?? root.spanId;
    children.set(parent, [...(children.get(parent) ?? []), span]);
  }
  const bars: Bar[] = [];
  const seen = new Set<string>();
  const add = (event: AdminEvent, depth: number): void => {
    if (seen.has(event.spanId)) return;
    seen.add(event.spanId);
    const width = Math.min(100, Math.max(LEAST, (event.durationMs / end) * 100));
    const left = ((Date.parse(event.startedAt) - begin) / end) * 100;
    bars.push({ event, depth, width, left: Math.max(0, Math.min(left, 100 - width)) });
    const below = children.get(event.spanId) ?? [];
    below.sort((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
    for (const child of below) add(child, depth + 1);
  };
  add(root, 0);
  // Also shows spans whose parent is missing.
  for (const span of spans) add(span, 1);
  return bars;
}

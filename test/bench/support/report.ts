import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import type { Turn } from './contestant.ts';
import { FIGURES, type Figure, type FigureId } from './figures.ts';
import { type Spread, toSpread } from './statistics.ts';

/** Who takes part in a row. */
export type Role = 'limit' | 'service' | 'peer';

export interface EntrantResult {
  name: string;
  role: Role;
  /** Why it was not measured; `null` when it was. */
  leftOut: string | null;
  turns: readonly Turn[];
}

/** A figure of the service, as this run saw it. */
export interface FigureResult {
  id: FigureId;
  /** The row that it comes from. */
  row: string;
  spread: Spread;
  /** `null` where the run is too small to say. */
  isReached: boolean | null;
  /** What failed while it was measured: then it is not reached. */
  failed: number;
}

export interface Report {
  /** Prints a line before the first section. */
  warn(text: string): void;
  section(title: string): void;
  note(text: string): void;
  /** Prints one comparison. */
  row(title: string, entrants: readonly EntrantResult[]): void;
  ratio(text: string, spread: Spread, figure: FigureId | null, failed?: number): void;
  /** Prints a value of the service against its figure. */
  figure(id: FigureId, spread: Spread, failed?: number): void;
  /** Says what could not be measured; the exit code tells it too. */
  problem(text: string): void;
  /** Prints every figure of the run. */
  summary(): void;
  readonly problems: readonly string[];
  /** What the run is on. */
  readonly machine: Machine;
  toJson(): object;
}

/**
 * Prints to standard output, and keeps all of it for `--json`. A quick run is too small and too short
 * to hold against a figure.
 */
export function createReport({ isQuick }: { isQuick: boolean }): Report {
  const figures: FigureResult[] = [];
  const problems: string[] = [];
  let lastRow = '';
  const sections: { title: string; notes: string[]; rows: object[]; ratios: object[] }[] = [];
  const machine = describeMachine();
  const startedAt = new Date().toISOString();

  print(`${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}`);
  print(`Node ${machine.node}, commit ${machine.commit}, ${startedAt}`);
  if (machine.load > 0.5) {
    print(`The machine is busy (load ${machine.load.toFixed(2)}): the figures will be too.`);
  }

  function current(): (typeof sections)[number] {
    const last = sections.at(-1);
    if (last === undefined) throw new Error('A report begins with a section.');
    return last;
  }

  function addFigure(id: FigureId, spread: Spread, failed: number): void {
    const { is, value } = FIGURES[id] as Figure;
    const isWithin = is === 'at least' ? spread.median >= value : spread.median <= value;
    figures.push({
      id,
      row: lastRow,
      spread,
      isReached: isQuick ? null : isWithin && failed === 0,
      failed,
    });
  }

  return {
    problems,
    machine,
    warn: print,
    section(title) {
      sections.push({ title, notes: [], rows: [], ratios: [] });
      print(`\n\n== ${title} ==`);
    },
    note(text) {
      current().notes.push(text);
      print(`  ${text}`);
    },
    row(title, entrants) {
      const rows = entrants.map((entrant) => ({ ...entrant, ...sumUp(entrant.turns) }));
      current().rows.push({
        title,
        entrants: rows.map(({ turns: _, ...row }) => row),
      });
      lastRow = title;
      print(`\n  ${title}`);
      if (rows.length === 0) return;
      const header = ['', 'operations/s', 'min–max', 'p50 ms', 'p99 ms', 'loop p99 ms'];
      printTable([header, ...rows.map(toCells)]);
      for (const { name, failed, failure } of rows) {
        if (failed > 0) this.problem(`${name}: ${failed} operations failed: ${failure ?? ''}`);
      }
    },
    ratio(text, spread, id, failed = 0) {
      current().ratios.push({ text, ...spread, figure: id });
      if (id !== null) addFigure(id, spread, failed);
      const values = `${formatRatio(spread.median)} (${formatRatio(spread.min)}–${formatRatio(spread.max)})`;
      const verdict = id === null ? '' : `   ${toVerdict(figures.at(-1))}`;
      print(`    ${text}: ${values}${verdict}`);
    },
    figure(id, spread, failed = 0) {
      addFigure(id, spread, failed);
      print(`    ${toFigureLine(figures.at(-1))}`);
    },
    problem(text) {
      problems.push(text);
      print(`    ! ${text.split('\n').slice(0, 6).join('\n      ')}`);
    },
    summary() {
      if (figures.length > 0) {
        print('\n\n== Figures to reach ==');
        for (const figure of figures) {
          print(`  ${figure.row}: ${toFigureLine(figure)}`);
        }
        const reached = figures.filter(({ isReached }) => isReached === true).length;
        if (!isQuick) print(`  ${reached} of ${figures.length} reached in this run.`);
      }
      for (const problem of problems) print(`  not measured: ${problem.split('\n')[0]}`);
    },
    toJson: () => ({
      startedAt,
      endedAt: new Date().toISOString(),
      machine,
      sections,
      figures: figures.map((result) => ({ ...FIGURES[result.id], ...result })),
      problems,
    }),
  };
}

/** Operations a second of one turn. */
export function toRate(turn: Turn): number {
  return turn.operations / turn.seconds;
}

interface Summary {
  rate: Spread | null;
  latency: { p50: number; p99: number } | null;
  loopDelayP99: number | null;
  failed: number;
  failure: string | null;
}

function sumUp(turns: readonly Turn[]): Summary {
  const median = (values: (number | undefined)[]): number | null => {
    const known = values.filter((value) => value !== undefined);
    return known.length === 0 ? null : toSpread(known).median;
  };
  const p50 = median(turns.map(({ latency }) => latency?.p50));
  const p99 = median(turns.map(({ latency }) => latency?.p99));
  return {
    rate: turns.length === 0 ? null : toSpread(turns.map(toRate)),
    latency: p50 === null || p99 === null ? null : { p50, p99 },
    loopDelayP99: median(turns.map(({ loopDelay }) => loopDelay?.p99)),
    failed: turns.reduce((sum, turn) => sum + turn.failed, 0),
    failure: turns.find((turn) => turn.failure !== null)?.failure ?? null,
  };
}

function toCells(row: EntrantResult & Summary): string[] {
  const name = `${row.role.padEnd(8)}${row.name}`;
  if (row.rate === null) return [name, `left out: ${row.leftOut ?? 'nothing was counted'}`];
  const { rate, latency, loopDelayP99 } = row;
  return [
    name,
    formatCount(rate.median),
    `${formatCount(rate.min)}–${formatCount(rate.max)}`,
    latency === null ? '' : formatMs(latency.p50),
    latency === null ? '' : formatMs(latency.p99),
    loopDelayP99 === null ? '' : formatMs(loopDelayP99),
  ];
}

function printTable(rows: readonly string[][]): void {
  // A row of two cells says why there are no others: it sets no width.
  const width = (column: number): number =>
    Math.max(
      ...rows
        .filter((cells) => column === 0 || cells.length > 2)
        .map((cells) => cells[column]?.length ?? 0),
    );
  for (const cells of rows) {
    const line = cells.map((cell, column) => {
      if (cells.length === 2 && column === 1) return cell;
      return column === 0 ? cell.padEnd(width(0)) : cell.padStart(width(column));
    });
    print(`    ${line.join('  ').trimEnd()}`);
  }
}

function toFigureLine(result: FigureResult | undefined): string {
  if (result === undefined) return '';
  const { operation, claim, unit } = FIGURES[result.id] as Figure;
  const format = (value: number): string => formatValue(value, unit);
  const { median, min, max } = result.spread;
  const range = min === max ? '' : ` (${format(min)}–${format(max)})`;
  return `${operation}, ${claim}: ${format(median)}${range}   ${toVerdict(result)}`;
}

function toVerdict(result: FigureResult | undefined): string {
  if (result === undefined) return '';
  const { is, value, unit } = FIGURES[result.id] as Figure;
  const wanted = `${is === 'at least' ? '≥' : '≤'} ${formatValue(value, unit)}`;
  if (result.isReached === null) return `${wanted}: not judged`;
  if (result.failed > 0) return `${wanted}: not reached, ${result.failed} operations failed`;
  return `${wanted}: ${result.isReached ? 'reached' : 'NOT REACHED'}`;
}

function formatValue(value: number, unit: Figure['unit']): string {
  if (unit === '×') return formatRatio(value);
  if (unit === '/s') return `${formatCount(value)}/s`;
  if (unit === 'ms') return `${formatMs(value)} ms`;
  if (unit === '%') return `${value.toFixed(1)}%`;
  if (unit === 'shift') return value.toFixed(3);
  return `${unit === 's' ? value.toFixed(2) : Math.round(value)} ${unit}`;
}

function formatRatio(value: number): string {
  return `${value >= 20 ? Math.round(value) : value.toFixed(2)}×`;
}

function formatCount(value: number): string {
  return value >= 100
    ? Math.round(value).toLocaleString('en-US')
    : value.toFixed(value >= 10 ? 1 : 2);
}

function formatMs(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The machine and the software of a run. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  node: string;
  commit: string;
  load: number;
}

function describeMachine(): Machine {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown processor',
    cores: all.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    commit: readCommit(),
    load: loadavg()[0] ?? 0,
  };
}

function readCommit(): string {
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
    const changes = git('status', '--porcelain', '--untracked-files=no');
    return git('rev-parse', '--short', 'HEAD') + (changes === '' ? '' : ' with changes');
  } catch {
    return 'unknown';
  }
}

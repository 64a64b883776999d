import type { AdminStatus } from '../../core/contracts/admin.ts';

/** How sure the console is that a part works. */
export type PartTone = 'good' | 'bad' | 'neutral';

/** What is known of a part: what its last call said, not that it is configured. */
export interface PartState {
  tone: PartTone;
  text: string;
  /** When that was; `null` where it is not about one moment. */
  at: string | null;
}

/** The state of a model, a verifier or an embedder. */
export function tellCalled({
  configured,
  answers,
  problem,
  at,
}: Pick<AdminStatus['model'], 'configured' | 'answers' | 'problem' | 'at'>): PartState {
  if (!configured) return { tone: 'neutral', text: 'not configured', at: null };
  if (answers === null) return { tone: 'neutral', text: 'not tried yet', at: null };
  if (answers) return { tone: 'good', text: 'answered its last call', at };
  return { tone: 'bad', text: `its last call failed: ${problem ?? 'no reason was given'}`, at };
}

/** The state of the exporters of spans. */
export function tellExporters({ items }: AdminStatus['exporters']): PartState {
  const problems = items.flatMap(({ name, problem }) =>
    problem === null ? [] : [`${name}: ${problem}`],
  );
  if (problems.length > 0) return { tone: 'bad', text: problems.join(' '), at: null };
  if (items.length === 0) return { tone: 'neutral', text: 'not configured', at: null };
  const sum = (of: 'exported' | 'failed' | 'dropped') =>
    items.reduce((total, { spans }) => total + (spans?.[of] ?? 0), 0);
  const [sent, failed, dropped] = [sum('exported'), sum('failed'), sum('dropped')];
  const lost = [
    ...(failed > 0 ? [`${failed.toLocaleString('en')} failed`] : []),
    ...(dropped > 0 ? [`${dropped.toLocaleString('en')} dropped`] : []),
  ];
  if (sent === 0 && lost.length === 0) return { tone: 'neutral', text: 'not tried yet', at: null };
  const text = [`${sent.toLocaleString('en')} spans sent`, ...lost].join(', ');
  return { tone: lost.length > 0 ? 'bad' : 'good', text, at: null };
}

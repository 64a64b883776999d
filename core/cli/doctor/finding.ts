import { explainFailure } from '../failure.ts';

/** The result of one check of `memory-service doctor`. */
export interface Finding {
  /** `off`: it is not configured, which is no failure. */
  state: 'ok' | 'warning' | 'problem' | 'off';
  text: string;
  /** What more there is to say, and what to do: a line each. */
  details?: readonly string[];
}

/** A check that works. */
export function ok(text: string, details: readonly string[] = []): Finding {
  return { state: 'ok', text, details };
}

/** What should be changed, though everything works as configured. */
export function warning(text: string, ...details: string[]): Finding {
  return { state: 'warning', text, details };
}

/** What is configured and does not work. */
export function problem(text: string, ...details: string[]): Finding {
  return { state: 'problem', text, details };
}

/** What is not configured, and how it is. */
export function off(hint: string): Finding {
  return { state: 'off', text: `not configured: ${hint}` };
}

/** A failure in one line. */
export function toProblem(error: unknown): Finding {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code !== undefined && path !== undefined) return problem(`${path} cannot be read (${code})`);
  const [first = ''] = explainFailure(error).split('\n', 1);
  return problem(first);
}

import { findEmbeddingModel } from '../../providers/embedding-models.ts';
import { parseForeignJson } from '../../encoding/foreign-json.ts';

/** An Ollama that answers. */
export interface Ollama {
  /** Without a slash at its end: `http://127.0.0.1:11434`. */
  origin: string;
  /** Its embedding models, as it names them. */
  models: readonly string[];
}

const PORT = 11_434;
const LIMIT_MS = 2_000;
/** More models than these are not asked for what they can do. */
const MODELS = 50;

/**
 * Where Ollama listens: `OLLAMA_HOST` in any of the forms that Ollama takes, else loopback. `null` for
 * a text that names no host.
 */
export function findOllama(host = ''): string | null {
  const given = host.trim();
  if (given === '') return `http://127.0.0.1:${PORT}`;
  const hasScheme = /^https?:\/\//i.test(given);
  const withHost = given.startsWith(':') ? `127.0.0.1${given}` : given;
  const text = hasScheme ? given : `http://${withHost}`;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  // Without a scheme Ollama adds its own port.
  if (url.port === '' && !hasScheme) url.port = String(PORT);
  // Where a server listens for all is no address to ask.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.origin;
}

/** Asks an Ollama for its embedding models; `null` if none answers within two seconds. */
export async function askOllama(origin: string): Promise<Ollama | null> {
  const tags = await ask(`${origin}/api/tags`);
  const { models } = (tags ?? {}) as { models?: unknown };
  if (!Array.isArray(models)) return null;
  const named = (models as unknown[]).flatMap((each) => {
    const { name, details } = (each ?? {}) as { name?: unknown; details?: { family?: unknown } };
    return typeof name === 'string' ? [{ name, family: String(details?.family ?? '') }] : [];
  });
  const found = await Promise.all(
    named.slice(0, MODELS).map(async ({ name, family }) => {
      const shown = await ask(`${origin}/api/show`, { model: name });
      const { capabilities } = (shown ?? {}) as { capabilities?: unknown };
      const isEmbedding = Array.isArray(capabilities)
        ? capabilities.includes('embedding')
        : looksLikeEmbedding(name, family);
      return isEmbedding ? [name] : [];
    }),
  );
  return { origin, models: found.flat() };
}

/** For an Ollama that does not tell what a model can do. */
function looksLikeEmbedding(name: string, family: string): boolean {
  return findEmbeddingModel(name) !== null || /embed/i.test(name) || /bert/i.test(family);
}

async function ask(url: string, body?: object): Promise<unknown> {
  try {
    const answer = await fetch(url, {
      signal: AbortSignal.timeout(LIMIT_MS),
      redirect: 'error',
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return answer.ok ? parseForeignJson(await answer.text()) : null;
  } catch {
    return null;
  }
}

/** What tabs of the console say to each other. */
type Message =
  { kind: 'ask'; id: string } | { kind: 'secret'; id: string; secret: string } | { kind: 'lock' };

/** How long another tab may take to answer, in milliseconds. */
const ANSWER_MS = 300;

/** The tabs of this browser that have the console of the same service open. */
export interface OtherTabs {
  /** The secret of an unlocked one; `null` if none answers. */
  askSecret(): Promise<string | null>;
  /** Locks the others, too. */
  lock(): void;
}

const ALONE: OtherTabs = { askSecret: async () => null, lock: () => undefined };

/**
 * Hands the secret of an unlocked tab to a new one, and stores it nowhere. Only where the service owns its
 * origin: mounted in an app, the app's scripts could ask as well.
 */
export function joinTabs(options: {
  ownsOrigin: boolean;
  secret(): string | null;
  onLock(): void;
}): OtherTabs {
  if (!options.ownsOrigin || typeof BroadcastChannel === 'undefined') return ALONE;
  const channel = new BroadcastChannel('memory-service.session');
  const send = (message: Message) => channel.postMessage(message);
  const waiting = new Map<string, (secret: string) => void>();
  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'lock') return options.onLock();
    if (data.kind === 'secret') return waiting.get(data.id)?.(data.secret);
    const secret = options.secret();
    if (secret !== null) send({ kind: 'secret', id: data.id, secret });
  });
  return {
    async askSecret() {
      const id = [...window.crypto.getRandomValues(new Uint32Array(4))].join('-');
      const answer = new Promise<string | null>((resolve) => {
        waiting.set(id, resolve);
        window.setTimeout(() => resolve(null), ANSWER_MS);
      });
      send({ kind: 'ask', id });
      const secret = await answer;
      waiting.delete(id);
      return secret;
    },
    lock: () => send({ kind: 'lock' }),
  };
}

/** How an actor is drawn: who wrote or read is to be seen at a glance. */
export interface ActorLook {
  icon: string;
  tone: 'neutral' | 'violet' | 'teal' | 'amber';
  /** What it is, for who points at it. */
  meaning: string;
}

const KNOWN: Readonly<Record<string, ActorLook>> = {
  agent: { icon: 'i-lucide-bot', tone: 'neutral', meaning: 'A user-facing agent' },
  'dream-agent': {
    icon: 'i-lucide-moon-star',
    tone: 'violet',
    meaning: 'Dreaming: background consolidation',
  },
  admin: { icon: 'i-lucide-shield', tone: 'teal', meaning: 'An operator, by the admin API' },
  import: { icon: 'i-lucide-package-open', tone: 'amber', meaning: 'An import' },
  playground: { icon: 'i-lucide-flask-conical', tone: 'amber', meaning: 'The Tool Playground' },
};

/** Actors that the service itself names, for those who look for one. */
export const KNOWN_ACTORS: readonly string[] = Object.keys(KNOWN);

/** The look of an actor; a name of the caller's own is an agent's. */
export function lookOf(actor: string): ActorLook {
  return Object.hasOwn(KNOWN, actor)
    ? (KNOWN[actor] as ActorLook)
    : { icon: 'i-lucide-bot', tone: 'neutral', meaning: `An agent that calls itself ${actor}` };
}

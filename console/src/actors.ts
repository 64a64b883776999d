/** The icon and colour of an actor. */
export interface ActorLook {
  icon: string;
  tone: 'neutral' | 'violet' | 'teal' | 'amber';
  /** The tooltip. */
  meaning: string;
}

const KNOWN: Readonly<Record<string, ActorLook>> = {
  agent: { icon: 'i-lucide-bot', tone: 'neutral', meaning: 'A user-facing agent' },
  'dream-agent': {
    icon: 'i-lucide-moon-star',
    tone: 'violet',
    meaning: 'Dreaming: background consolidation',
  },
  admin: { icon: 'i-lucide-shield', tone: 'teal', meaning: 'An operator, through the admin API' },
  import: { icon: 'i-lucide-package-open', tone: 'amber', meaning: 'An import' },
  playground: { icon: 'i-lucide-flask-conical', tone: 'amber', meaning: 'The Tool Playground' },
};

/** Actors that the service itself uses, as filter suggestions. */
export const KNOWN_ACTORS: readonly string[] = Object.keys(KNOWN);

/** Every name that the service does not use itself is an agent. */
export function lookOf(actor: string): ActorLook {
  return Object.hasOwn(KNOWN, actor)
    ? (KNOWN[actor] as ActorLook)
    : { icon: 'i-lucide-bot', tone: 'neutral', meaning: `The agent ${actor}` };
}

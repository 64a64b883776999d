import { computed, type InjectionKey, readonly, ref, type Ref } from 'vue';
import { type Api, ApiError, createApi } from '../api.ts';
import { createRights, type Rights } from '../rights.ts';
import { joinTabs } from '../tab-secret.ts';
import { need } from './inject.ts';

/**
 * Whether this page can use the admin API. `limited`: there is a secret, but this address has sent too
 * many wrong ones and has to wait. `refused`: a proxy signs somebody in who has no role.
 */
export type SessionState = 'checking' | 'locked' | 'limited' | 'open' | 'refused' | 'unreachable';

/** Holds the admin secret while the page is open, and makes calls with it. */
export interface Session {
  /** The service's URL without a trailing slash. */
  readonly baseUrl: string;
  readonly api: Api;
  /** Who the operator is, and what they may do. */
  readonly rights: Rights;
  readonly state: Readonly<Ref<SessionState>>;
  /** Whether the views show: it is open, or the secret that this tab kept is being checked. */
  readonly isShown: Readonly<Ref<boolean>>;
  /** Why the console is locked. */
  readonly reason: Readonly<Ref<string | null>>;
  /** How long a `limited` session has to wait before `check`. */
  readonly retryAfterSeconds: Readonly<Ref<number>>;
  /** A proxy adds the secret, so the console does not ask for it. */
  readonly isByProxy: Readonly<Ref<boolean>>;
  /** Checks whether a secret is needed. */
  check(): Promise<void>;
  /** Tries a secret. Throws the `ApiError` if it is refused. */
  unlock(secret: string, options: { keepInTab: boolean }): Promise<void>;
  lock(reason: string | null): void;
  /** Counts watching what happens live as use, until the answer is called. */
  watch(): () => void;
}

/** The key in `sessionStorage`, if the operator chose to keep the secret in this tab. */
const STORAGE_KEY = 'memory-service.admin-secret';
const IDLE_MS = 15 * 60_000;
/** How long watching without any input counts as use. */
const WATCH_MS = 8 * 3_600_000;

const sessionKey: InjectionKey<Session> = Symbol('session');
export { sessionKey };

/** The session of this page. */
export const useSession = (): Session => need(sessionKey);
/** The admin API, with the session's secret. */
export const useApi = (): Api => need(sessionKey).api;
/** What the operator may do. */
export const useRights = (): Rights => need(sessionKey).rights;

/**
 * Creates the session. The secret is in this closure, or in `sessionStorage` if the operator chose
 * that; never in a URL, a cookie or `localStorage`. It is forgotten after 15 minutes without use. Where
 * the service owns its origin, a new tab gets it from one that is unlocked.
 */
export function createSession(
  baseUrl: string,
  { tell, ownsOrigin }: { tell: (message: string) => string; ownsOrigin: boolean },
): Session {
  let secret: string | null = null;
  let idleTimer = 0;
  const state = ref<SessionState>('checking');
  const reason = ref<string | null>(null);
  const isByProxy = ref(false);
  const retryAfterSeconds = ref(0);

  const rights = createRights();
  const hasKept = ref(false);
  let watchers = 0;
  let usedAt = Date.now();
  const tabs = joinTabs({
    ownsOrigin,
    secret: () => (state.value === 'open' ? secret : null),
    onLock: () => state.value === 'open' && !isByProxy.value && forget('Locked in another tab.'),
  });
  let checked: Promise<void> = Promise.resolve();
  const tryApi = createApi({
    baseUrl,
    secret: () => Promise.resolve(secret),
    onUnauthorized: () => undefined,
    reasonAgainst: () => null,
    onRoleRefused: () => undefined,
    tell,
  });
  const api = createApi({
    baseUrl,
    // Views draw themselves during the check, but only the check may send a secret that can be wrong:
    // an address has few attempts.
    secret: async () => {
      await checked;
      return secret;
    },
    onUnauthorized: () => {
      if (state.value === 'open') forget('The admin secret is no longer accepted.');
    },
    reasonAgainst: rights.reasonAgainst,
    onRoleRefused: () => void readRights().catch(() => undefined),
    tell,
  });

  async function readRights(): Promise<void> {
    rights.set(await tryApi.rights());
  }

  function open(): void {
    state.value = 'open';
    reason.value = null;
    watchIdle();
  }

  function forget(why: string | null): void {
    secret = null;
    rights.set(null);
    window.clearTimeout(idleTimer);
    window.sessionStorage.removeItem(STORAGE_KEY);
    reason.value = why;
    state.value = 'locked';
  }

  function watchIdle(): void {
    const wait = (): void => {
      window.clearTimeout(idleTimer);
      if (state.value !== 'open') return;
      idleTimer = window.setTimeout(() => {
        const isWatched = watchers > 0 && !document.hidden;
        if (isWatched && Date.now() - usedAt < WATCH_MS) wait();
        else forget(`Locked after ${isWatched ? '8 hours' : '15 minutes'} of inactivity.`);
      }, IDLE_MS);
    };
    const use = (): void => {
      usedAt = Date.now();
      wait();
    };
    for (const name of ['keydown', 'pointerdown', 'pointermove', 'wheel']) {
      window.addEventListener(name, use, { passive: true });
    }
    use();
  }

  /** Tries the secret of another tab; whether it is accepted. */
  async function takeOver(): Promise<boolean> {
    const given = await tabs.askSecret();
    if (given === null) return false;
    secret = given;
    try {
      await readRights();
      return true;
    } catch {
      secret = null;
      return false;
    }
  }

  async function checkNow(): Promise<void> {
    try {
      await readRights();
      isByProxy.value = secret === null;
      open();
    } catch (error) {
      const wasKept = secret !== null;
      secret = null;
      if (error instanceof ApiError && error.status === 401) {
        window.sessionStorage.removeItem(STORAGE_KEY);
        if (await takeOver()) return open();
        reason.value = wasKept ? 'The admin secret is no longer accepted.' : null;
        state.value = 'locked';
      } else if (error instanceof ApiError && error.status === 403) {
        reason.value = error.message;
        state.value = 'refused';
      } else if (error instanceof ApiError && error.retryAfterSeconds !== null) {
        retryAfterSeconds.value = error.retryAfterSeconds;
        state.value = 'limited';
      } else {
        reason.value = error instanceof Error ? error.message : null;
        state.value = 'unreachable';
      }
    }
  }

  const session: Session = {
    baseUrl,
    api,
    rights,
    state: readonly(state),
    isShown: computed(
      () => state.value === 'open' || (state.value === 'checking' && hasKept.value),
    ),
    reason: readonly(reason),
    isByProxy: readonly(isByProxy),
    retryAfterSeconds: readonly(retryAfterSeconds),

    check() {
      state.value = 'checking';
      secret = window.sessionStorage.getItem(STORAGE_KEY);
      hasKept.value = secret !== null;
      checked = checkNow();
      return checked;
    },

    async unlock(candidate, { keepInTab }) {
      secret = candidate;
      try {
        await readRights();
      } catch (error) {
        secret = null;
        throw error;
      }
      if (keepInTab) window.sessionStorage.setItem(STORAGE_KEY, candidate);
      open();
    },

    lock(why) {
      forget(why);
      tabs.lock();
    },

    watch() {
      watchers += 1;
      let isOver = false;
      return () => {
        if (!isOver) watchers -= 1;
        isOver = true;
      };
    },
  };
  return session;
}

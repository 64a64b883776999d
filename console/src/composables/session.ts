import { type InjectionKey, readonly, ref, type Ref } from 'vue';
import { type Api, ApiError, createApi } from '../api.ts';
import { need } from './inject.ts';

/**
 * Whether the admin API opens to this page. `limited`: a secret is there, but its address has to wait,
 * because too many wrong ones came from it.
 */
export type SessionState = 'checking' | 'locked' | 'limited' | 'open' | 'unreachable';

/** The admin secret's stay in this page, and the calls made with it. */
export interface Session {
  /** Of the service, without a slash at its end. */
  readonly baseUrl: string;
  readonly api: Api;
  readonly state: Readonly<Ref<SessionState>>;
  /** Why it is locked, for the person who sees the lock. */
  readonly reason: Readonly<Ref<string | null>>;
  /** How long a `limited` session has to wait before `check`, counted from its begin. */
  readonly retryAfterSeconds: Readonly<Ref<number>>;
  /** A proxy in front adds the secret: there is none to ask for. */
  readonly isByProxy: Readonly<Ref<boolean>>;
  /** Finds out whether a secret is needed at all. */
  check(): Promise<void>;
  /** Tries a secret. Throws the `ApiError` that refused it. */
  unlock(secret: string, options: { keepInTab: boolean }): Promise<void>;
  lock(reason: string | null): void;
}

/** Where the secret is kept when its owner asks for it: until the tab is closed. */
const STORAGE_KEY = 'memory-service.admin-secret';
const IDLE_MS = 15 * 60_000;

const sessionKey: InjectionKey<Session> = Symbol('session');
export { sessionKey };

/** The session of this page. */
export const useSession = (): Session => need(sessionKey);
/** The admin API, with the session's secret. */
export const useApi = (): Api => need(sessionKey).api;

/**
 * Makes the session. The secret lives in this closure, or in `sessionStorage` when asked for; never
 * in a URL, a cookie or `localStorage`. After 15 minutes without a key or pointer it is forgotten.
 */
export function createSession(baseUrl: string): Session {
  let secret: string | null = null;
  let idleTimer = 0;
  const state = ref<SessionState>('checking');
  const reason = ref<string | null>(null);
  const isByProxy = ref(false);
  const retryAfterSeconds = ref(0);

  const api = createApi({
    baseUrl,
    secret: () => secret,
    onUnauthorized: () => {
      if (state.value === 'open') session.lock('The admin secret is no longer accepted.');
    },
  });

  function open(): void {
    state.value = 'open';
    reason.value = null;
    watchIdle();
  }

  function watchIdle(): void {
    const restart = (): void => {
      window.clearTimeout(idleTimer);
      if (state.value !== 'open') return;
      idleTimer = window.setTimeout(
        () => session.lock('Locked after 15 minutes without use.'),
        IDLE_MS,
      );
    };
    for (const name of ['keydown', 'pointerdown', 'pointermove', 'wheel']) {
      window.addEventListener(name, restart, { passive: true });
    }
    restart();
  }

  const session: Session = {
    baseUrl,
    api,
    state: readonly(state),
    reason: readonly(reason),
    isByProxy: readonly(isByProxy),
    retryAfterSeconds: readonly(retryAfterSeconds),

    async check() {
      state.value = 'checking';
      secret = window.sessionStorage.getItem(STORAGE_KEY);
      try {
        await api.status();
        isByProxy.value = secret === null;
        open();
      } catch (error) {
        const wasKept = secret !== null;
        secret = null;
        if (error instanceof ApiError && error.status === 401) {
          window.sessionStorage.removeItem(STORAGE_KEY);
          reason.value = wasKept ? 'The admin secret is no longer accepted.' : null;
          state.value = 'locked';
        } else if (error instanceof ApiError && error.retryAfterSeconds !== null) {
          retryAfterSeconds.value = error.retryAfterSeconds;
          state.value = 'limited';
        } else {
          reason.value = error instanceof Error ? error.message : null;
          state.value = 'unreachable';
        }
      }
    },

    async unlock(candidate, { keepInTab }) {
      secret = candidate;
      try {
        await api.status();
      } catch (error) {
        secret = null;
        throw error;
      }
      if (keepInTab) window.sessionStorage.setItem(STORAGE_KEY, candidate);
      open();
    },

    lock(why) {
      secret = null;
      window.clearTimeout(idleTimer);
      window.sessionStorage.removeItem(STORAGE_KEY);
      reason.value = why;
      state.value = 'locked';
    },
  };
  return session;
}

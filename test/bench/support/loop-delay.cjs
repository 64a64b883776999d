'use strict';
// How long the event loop of a process is held up. Also preloaded into the service's own command,
// with --require: CommonJS, because the command sets the size of libuv's thread pool, and an ES
// module that is loaded before it would start that pool.

const { openSync, readSync } = require('node:fs');
const { monitorEventLoopDelay, PerformanceObserver } = require('node:perf_hooks');

/** A timer of this period is what is watched: what it is late by is the delay. */
const RESOLUTION_MS = 1;

/** @typedef {{ p50: number, p99: number, max: number }} LoopDelay Milliseconds. */

/**
 * Watches the loop from now on.
 *
 * @returns {{ stop(): LoopDelay }}
 */
function watchLoopDelay() {
  // A new one each time: one that was stopped would count the time in between as a delay.
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return {
    stop() {
      histogram.disable();
      const toMs = (/** @type {number} */ ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
      return {
        p50: toMs(histogram.percentile(50)),
        p99: toMs(histogram.percentile(99)),
        max: toMs(histogram.max),
      };
    },
  };
}

/**
 * The longest stall: what the loop did at one go. `cpuMs` is the time of this thread on a processor,
 * which other programs of a busy machine don't lengthen; `gcMs` is what collecting garbage took of
 * `wallMs`.
 *
 * @typedef {{ cpuMs: number, wallMs: number, gcMs: number }} Stall
 */

/**
 * Looks for the longest stall from now on.
 *
 * @returns {{ stop(): Stall }}
 */
function watchStalls() {
  /** @type {{ start: number, end: number }[]} */
  const collections = [];
  const note = (/** @type {import('node:perf_hooks').PerformanceEntry[]} */ entries) => {
    for (const { startTime, duration } of entries) {
      collections.push({ start: startTime, end: startTime + duration });
    }
  };
  const observer = new PerformanceObserver((list) => note(list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  let at = performance.now();
  let cpu = readThreadCpuMs();
  let longest = { cpuMs: 0, from: at, to: at };
  const look = () => {
    const [before, cpuBefore] = [at, cpu];
    at = performance.now();
    cpu = readThreadCpuMs();
    if (cpu - cpuBefore > longest.cpuMs) {
      longest = { cpuMs: cpu - cpuBefore, from: before, to: at };
    }
  };
  const timer = setInterval(look, RESOLUTION_MS);
  return {
    stop() {
      clearInterval(timer);
      // What asks for the end may have waited for the longest one.
      look();
      note(observer.takeRecords());
      observer.disconnect();
      const { cpuMs, from, to } = longest;
      const overlap = (/** @type {{ start: number, end: number }} */ { start, end }) =>
        Math.max(0, Math.min(end, to) - Math.max(start, from));
      const gcMs = collections.reduce((sum, collection) => sum + overlap(collection), 0);
      return { cpuMs, wallMs: to - from, gcMs };
    },
  };
}

/** @type {number | null | undefined} */
let schedstat;

/** Linux counts it by thread; elsewhere it is the time of all threads of the process. */
function readThreadCpuMs() {
  if (schedstat === undefined) {
    try {
      schedstat = openSync('/proc/thread-self/schedstat', 'r');
    } catch {
      schedstat = null;
    }
  }
  if (schedstat === null) {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e3;
  }
  const bytes = Buffer.allocUnsafe(64);
  const length = readSync(schedstat, bytes, 0, bytes.length, 0);
  return Number.parseInt(bytes.toString('latin1', 0, length), 10) / 1e6;
}

module.exports = { watchLoopDelay };

// Preloaded: answers the bench, which is the parent process.
if (process.send && process.env.BENCH_WATCH === '1') {
  /** @type {ReturnType<typeof watchLoopDelay> | null} */
  let watch = null;
  /** @type {ReturnType<typeof watchStalls> | null} */
  let stalls = null;
  process.on('message', (/** @type {{ id: number, request: { kind: string } }} */ message) => {
    const { id, request } = message;
    let answer = null;
    if (request.kind === 'watch') {
      watch?.stop();
      watch = watchLoopDelay();
    } else if (request.kind === 'watched') {
      answer = watch?.stop() ?? null;
      watch = null;
    } else if (request.kind === 'watch-stalls') {
      stalls?.stop();
      stalls = watchStalls();
    } else if (request.kind === 'stalled') {
      answer = stalls?.stop() ?? null;
      stalls = null;
    } else if (request.kind === 'resident') {
      answer = process.memoryUsage.rss();
    }
    process.send?.({ id, answer });
  });
  // The channel alone keeps nothing running.
  process.channel?.unref();
}

'use strict';
// How long the event loop of a process is held up. Also preloaded into the service's own command,
// with --require: CommonJS, because the command sets the size of libuv's thread pool, and an ES
// module that is loaded before it would start that pool.

const { monitorEventLoopDelay } = require('node:perf_hooks');

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

module.exports = { watchLoopDelay };

// Preloaded: answers the bench, which is the parent process.
if (process.send && process.env.BENCH_WATCH === '1') {
  /** @type {ReturnType<typeof watchLoopDelay> | null} */
  let watch = null;
  process.on('message', (/** @type {{ id: number, request: { kind: string } }} */ message) => {
    const { id, request } = message;
    let answer = null;
    if (request.kind === 'watch') {
      watch?.stop();
      watch = watchLoopDelay();
    } else if (request.kind === 'watched') {
      answer = watch?.stop() ?? null;
      watch = null;
    } else if (request.kind === 'resident') {
      answer = process.memoryUsage.rss();
    }
    process.send?.({ id, answer });
  });
  // The channel alone keeps nothing running.
  process.channel?.unref();
}

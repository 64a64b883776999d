import fc from 'fast-check';

// A test that fails and is run again meets the same random values: run-suite.mjs.
const seed = process.env['MEMORY_TEST_SEED'];
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });

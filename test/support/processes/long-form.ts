/** Whether tests run at full size: `npm run test:long`. */
export const isLong = process.env['PLAYWRIGHT_POOL_TEST_LONG'] !== undefined;

/** The reason to skip a test without a small form. */
export const longOnly = 'tried by npm run test:long';
